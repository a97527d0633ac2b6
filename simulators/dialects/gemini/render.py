"""The prompt as blocks, in the order tools, system instruction, contents, each with its identity for the prompt cache.

Identity takes a part as the JSON mapping has it (however its names were written), without its thought signature. What
every tokenizer counts is text: of a declaration its description, of a call its arguments, of a response its strings.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from simulators.core.turn import Block, Level, ToolDecl
from simulators.dialects.gemini.gates import Gates
from simulators.dialects.gemini.media import file_tokens, inline_tokens, modality
from simulators.dialects.gemini.signature import sealed_tokens

_encode = msgspec.json.Encoder().encode
_sorted = msgspec.json.Encoder(order="deterministic").encode
_Made = dict[str, Any]
_NO_PARAMETERS = {"type": "OBJECT"}
_NESTED = frozenset({"items", "anyOf", "oneOf", "allOf", "additionalProperties", "prefixItems", "not"})


class Prompt(msgspec.Struct, frozen=True):
    """The blocks of a request, and the tokens of what is no text, by modality."""

    blocks: tuple[Block, ...]
    media: Mapping[str, int] = {}


def render(body: Mapping[str, Any], gates: Gates) -> Prompt:
    """Tools, system instruction and contents of a normalised body."""
    blocks = [*_tools(body.get("tools") or ()), *_system(body.get("systemInstruction"), gates)]
    media: dict[str, int] = {}
    for index, content in enumerate(body.get("contents") or ()):
        role = "assistant" if content.get("role") == "model" else "user"
        for position, part in enumerate(content.get("parts") or ()):
            kind, made, sort = _part(part, gates)
            if sort != "TEXT":
                media[sort] = media.get(sort, 0) + made.get("image_tokens", 0)
            blocks.append(
                _block("messages", f"contents[{index}].parts[{position}]", kind, role, part, made, position == 0)
            )
    return Prompt(tuple(blocks), media)


def _tools(tools: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    for index, tool in enumerate(tools):
        for position, function in enumerate(tool.get("functionDeclarations") or ()):
            made = {"text": function.get("description") or "", "structure": _signature(function)}
            path = f"tools[{index}].functionDeclarations[{position}]"
            yield _block("tools", path, "tool", "", function, made, False)
        for name, built_in in tool.items():
            if name != "functionDeclarations":
                yield _block("tools", f"tools[{index}].{name}", "other", "", {name: built_in}, {}, False)


def _signature(function: Mapping[str, Any]) -> str:
    """What a model reads of a declaration beside its description: name, parameters, what they look like."""
    name, schema = function.get("name") or "", _json_schema(function)
    told = {key: schema[key] for key in ("properties", "required", "$defs", "anyOf") if schema.get(key)}
    return f"{name} {_encode(told).decode()}" if told else name


def _system(system: Mapping[str, Any] | None, gates: Gates) -> Iterator[Block]:
    for position, part in enumerate((system or {}).get("parts") or ()):
        kind, made, _ = _part(part, gates)
        path = f"systemInstruction.parts[{position}]"
        yield _block("system", path, kind, "system", part, made, position == 0)


def _block(level: Level, path: str, kind: str, role: str, part: Mapping[str, Any], made: _Made, opens: bool) -> Block:
    bare = {name: value for name, value in part.items() if name != "thoughtSignature"}
    encoded = _sorted(bare) if level == "tools" and kind == "other" else _encode(_in_order(bare))
    place = f"{level}\0{role}\0{'first' if opens else ''}\0"  # where a content begins is part of the prompt
    digest = blake2b(place.encode() + encoded, digest_size=16).digest()
    return Block(level=level, path=path, kind=kind, role=role, digest=digest, opens_message=opens, **made)


def _in_order(part: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message in one order; what they hold keeps its own, for the model reads it so."""
    return {
        name: _in_order(part[name]) if name in ("functionCall", "functionResponse", "inlineData") else part[name]
        for name in sorted(part)
    }


def _part(part: Mapping[str, Any], gates: Gates) -> tuple[str, _Made, str]:
    """Kind of block, what is counted, and the modality of that."""
    kind, made, sort = _plain_part(part, gates)
    if gates.version >= (3, 0) and (signature := part.get("thoughtSignature")):
        made = {**made, "image_tokens": made.get("image_tokens", 0) + sealed_tokens(signature)}
    return kind, made, sort


def _plain_part(part: Mapping[str, Any], gates: Gates) -> tuple[str, _Made, str]:
    if "text" in part:
        return ("thinking", {}, "TEXT") if part.get("thought") else ("text", {"text": part["text"]}, "TEXT")
    if call := part.get("functionCall"):
        made = {"text": _encode(call.get("args") or {}).decode(), "structure": call.get("name") or ""}
        return "tool_use", made, "TEXT"
    if "functionResponse" in part:
        return _response(part["functionResponse"], gates)
    if blob := part.get("inlineData"):
        return _inline(blob, gates)
    if file := part.get("fileData"):
        sort = modality(str(file.get("mimeType") or ""), gates)
        return _kind(sort), {"images": int(sort == "IMAGE"), "image_tokens": file_tokens(file, gates)}, sort
    encoded = _encode({name: value for name, value in part.items() if name != "thoughtSignature"}).decode()
    return "other", {"structure": encoded}, "TEXT"


def _response(response: Mapping[str, Any], gates: Gates) -> tuple[str, _Made, str]:
    given = response.get("response") or {}
    made: _Made = {"text": "\n".join(strings(given)), "structure": f"{response.get('name') or ''} {_keys(given)}"}
    sort = "TEXT"
    for part in response.get("parts") or ():
        _, inner, sort = _plain_part(part, gates)
        for name in ("images", "image_tokens"):
            made[name] = made.get(name, 0) + inner.get(name, 0)
    return "tool_result", made, sort


def _inline(blob: Mapping[str, Any], gates: Gates) -> tuple[str, _Made, str]:
    sort = modality(str(blob.get("mimeType") or ""), gates)
    if sort != "TEXT":
        return _kind(sort), {"images": int(sort == "IMAGE"), "image_tokens": inline_tokens(blob, gates)}, sort
    try:
        text = base64.b64decode(str(blob.get("data") or ""), altchars=b"-_").decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        text = ""
    return "document", {"text": text}, sort


def _kind(sort: str) -> str:
    return "image" if sort == "IMAGE" else "document"


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value; numbers and the like as JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif value is not None:
        yield _encode(value).decode()


def _keys(value: Mapping[str, Any]) -> str:
    return _encode(list(value)).decode() if value else ""


def text_of(content: Mapping[str, Any] | None) -> str:
    """The text of a content, thoughts left out, its parts a line apart."""
    parts = (content or {}).get("parts") or ()
    return "\n".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))


def last_words(contents: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Text of the last user content ("" if it brings results), and the names of the functions it brings results of."""
    if not contents or contents[-1].get("role") == "model":
        return "", ()
    parts = contents[-1].get("parts") or ()
    names = tuple(part["functionResponse"].get("name") or "" for part in parts if "functionResponse" in part)
    return ("", names) if names else (text_of(contents[-1]), ())


def declared_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolDecl, ...]:
    """The functions on offer, each with a JSON Schema."""
    return tuple(
        ToolDecl(function.get("name") or "", _json_schema(function))
        for tool in tools
        for function in tool.get("functionDeclarations") or ()
    )


def answer_schema(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON Schema of an answer that must be JSON, None for text."""
    if config.get("responseMimeType") != "application/json":
        return None
    given = config.get("responseJsonSchema") or config.get("_responseJsonSchema") or config.get("responseSchema") or {}
    return lowered(given) if isinstance(given, dict) else {}


def _json_schema(function: Mapping[str, Any]) -> Mapping[str, Any]:
    given = function.get("parametersJsonSchema")
    found: Mapping[str, Any] = lowered(
        given if isinstance(given, dict) else function.get("parameters") or _NO_PARAMETERS
    )
    return found


def lowered(schema: Any) -> Any:
    """A schema as JSON Schema: types in small letters, all the way down. What is no schema stays as it is."""
    if not isinstance(schema, dict):
        return [lowered(inner) for inner in schema] if isinstance(schema, list) else schema
    made = {name: lowered(inner) if name in _NESTED else inner for name, inner in schema.items()}
    for name in ("properties", "$defs", "definitions"):
        if isinstance(schema.get(name), dict):
            made[name] = {key: lowered(inner) for key, inner in schema[name].items()}
    if isinstance(kind := schema.get("type"), str):
        made["type"] = kind.lower()
    return made
