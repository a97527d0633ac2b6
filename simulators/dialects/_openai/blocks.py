"""The units of the prompt: tools, instructions, pieces of messages, each with its identity for the prompt cache."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from simulators.core.turn import Block, CacheAsk, Level, ToolDecl
from simulators.dialects._openai.gates import Gates
from simulators.dialects._openai.images import file_tokens, image_tokens
from simulators.dialects._openai.profile import Profile

encode = msgspec.json.Encoder(order="deterministic").encode
_DIGEST = 16
_AUDIO_TOKENS = 100
# Recorded: what the provider says to the model about tools of its own, beside their declaration.
_HIDDEN = {"code_interpreter": 1430}
_NAMESPACE = 90
_DAY, _HOUR = 86_400.0, 3_600.0


def digest(*parts: bytes) -> bytes:
    return blake2b(b"\0".join(parts), digest_size=_DIGEST).digest()


def tool_block(tool: Mapping[str, Any], path: str) -> Block:
    """One tool: its description is prose, everything else structure, rendered as the model is shown it."""
    function = tool.get("function") if isinstance(tool.get("function"), Mapping) else tool
    assert isinstance(function, Mapping)
    text = function.get("description") or ""
    name = str(function.get("name") or tool.get("type"))
    hidden = _HIDDEN.get(str(tool.get("type")), 0)
    if tool.get("type") == "namespace":
        structure = "\n".join(_namespace(tool))
        hidden += _NAMESPACE
    elif "parameters" in function or tool.get("type") == "function":
        structure = declaration(name, function.get("parameters"), described=bool(text))
    else:
        structure = encode({k: v for k, v in tool.items() if k != "description"}).decode()
    return Block(
        level="tools",
        path=path,
        kind="tool",
        digest=digest(b"tool", text.encode(), encode(tool)),
        text=text,
        structure=structure,
        hidden=hidden,
    )


def _namespace(tool: Mapping[str, Any]) -> Iterator[str]:
    """A namespace as its functions, one after the other."""
    yield f"namespace {tool.get('name')} {{"
    for inner in tool.get("tools") or ():
        text = inner.get("description") or ""
        yield f"{text}{declaration(str(inner.get('name')), inner.get('parameters'), described=bool(text))}"
    yield "}"


def declaration(name: str, schema: Any, *, described: bool) -> str:
    """A function as the model reads it: a line `//` (its text comes apart), `type read = (_: {path: string}) => any`"""
    lead = "// \n" if described else ""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not properties:
        return f"{lead}type {name} = () => any;\n\n"
    return f"{lead}type {name} = (_: {signature(schema)}) => any;\n\n"


def signature(schema: Any, indent: str = "") -> str:
    """A JSON Schema as the type that the model reads."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join([encode(value).decode() for value in schema["enum"]])
    for name in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(name), list):
            return " | ".join([signature(part, indent) for part in schema[name]])
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kind = schema.get("type")
    if kind == "array":
        return f"{signature(schema.get('items'), indent)}[]"
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        if isinstance(kind, list):
            return " | ".join(map(str, kind))
        return "number" if kind == "integer" else str(kind or "any")
    required = set(schema.get("required") or ())
    lines = [f"{indent}{{"]
    for name, part in properties.items():
        if isinstance(part, Mapping) and part.get("description"):
            lines.append(f"{indent}// {part['description']}")
        lines.append(f"{indent}{name}{'' if name in required else '?'}: {signature(part, indent + '  ').lstrip()},")
    return "\n".join([*lines, f"{indent}}}"])


def hidden_block(purpose: str, tokens: int, *, text: str = "", level: Level = "tools") -> Block:
    """What the provider adds to a prompt unasked: so many tokens, and a text that it renders (an answer's schema)."""
    return Block(
        level=level, path=purpose, kind="other", digest=digest(b"hidden", purpose.encode(), text.encode()),
        structure=text, hidden=tokens,
    )  # fmt: skip


def declared(tools: Iterable[Mapping[str, Any]]) -> tuple[ToolDecl, ...]:
    """The functions on offer, with their schemas; those inside a namespace under their own name."""
    found: list[ToolDecl] = []
    for tool in tools:
        if tool.get("type") == "namespace":
            found += declared(tool.get("tools") or ())
            continue
        function = tool.get("function") if isinstance(tool.get("function"), Mapping) else tool
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            schema = function.get("parameters")
            if tool.get("type") in ("function", "custom"):
                found.append(ToolDecl(function["name"], schema if isinstance(schema, dict) else {"type": "object"}))
    return tuple(found)


def marked(part: Mapping[str, Any]) -> bool:
    """Whether an explicit cache breakpoint stands on a content part."""
    mark = part.get("prompt_cache_breakpoint")
    return isinstance(mark, Mapping) and mark.get("mode", "explicit") == "explicit"


class Piece(msgspec.Struct, frozen=True):
    """What a content part brings to the prompt."""

    kind: str
    identity: bytes
    text: str = ""
    images: int = 0
    tokens: int = 0


def piece(part: Mapping[str, Any], model: str) -> Piece:
    """A content part of either API."""
    kind = str(part.get("type"))
    if kind in ("text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text"):
        text = part.get("text") or part.get("refusal") or ""
        return Piece("text", b"text\0" + text.encode(), text)
    if kind in ("image_url", "input_image"):
        given = part.get("image_url")
        image = given if isinstance(given, Mapping) else {"url": given, "detail": part.get("detail")}
        source = image.get("url") or part.get("file_id") or ""
        tokens = image_tokens(str(source), str(image.get("detail") or "auto"), model)
        return Piece("image", b"image\0" + str(source).encode(), images=1, tokens=tokens)
    if kind in ("file", "input_file"):
        given = part.get("file") if kind == "file" else part
        source = encode(given)
        return Piece(
            "document",
            b"file\0" + source,
            tokens=file_tokens(given if isinstance(given, Mapping) else {}, chat=kind == "file"),
        )
    if kind == "input_audio":
        return Piece("document", b"audio\0" + encode(part.get("input_audio")), tokens=_AUDIO_TOKENS)
    encoded = encode({k: v for k, v in part.items() if k != "prompt_cache_breakpoint"})
    return Piece("other", b"other\0" + encoded, encoded.decode())


def cache_ask(body: Mapping[str, Any], gates: Gates, profile: Profile, *, text_format: Any) -> CacheAsk:
    """What a request asks of the cache. A default said aloud equals the default."""
    key = body.get("prompt_cache_key") or None
    depends = []
    reasoning = body.get("reasoning")
    effort = body.get("reasoning_effort") or (reasoning.get("effort") if isinstance(reasoning, Mapping) else None)
    if effort is not None and effort != gates.default_effort:
        depends.append(("reasoning_effort", str(effort)))
    if text_format is not None:
        depends.append(("text_format", digest(encode(text_format)).hex()))
    shape = body.get("text")
    verbosity = body.get("verbosity") or (shape.get("verbosity") if isinstance(shape, Mapping) else None)
    if verbosity not in (None, "medium"):
        depends.append(("verbosity", str(verbosity)))
    if body.get("service_tier") not in (None, "auto", "default"):
        depends.append(("service_tier", str(body["service_tier"])))
    if not profile.own_models and profile.name != "azure":
        form = profile.cache
        if form is None:
            return CacheAsk(regime="none")
        return CacheAsk(regime="automatic", minimum=form.minimum, step=form.step, lifetime=form.lifetime)
    if gates.breakpoints:
        options = body.get("prompt_cache_options") or {}
        return CacheAsk(
            regime="breakpoints",
            key=key,
            implicit=options.get("mode", "implicit") != "explicit",
            ttl=options.get("ttl") or "30m",
            depends=tuple(depends),
        )
    retention = body.get("prompt_cache_retention") or ("24h" if gates.day_long else "in_memory")
    lifetime, longest = (_DAY, float("inf")) if retention == "24h" else (300.0, _HOUR)
    return CacheAsk(regime="automatic", key=key, step=128, lifetime=lifetime, longest=longest, depends=tuple(depends))
