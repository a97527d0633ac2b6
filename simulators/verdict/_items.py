"""A request's conversation as plain items, whatever the vendor calls the list: text, tool calls and their results.

Read from the recorded body alone. Identity ignores `cache_control` and treats a lone text block as its plain string,
as the prompt cache does (Claude Code moves its breakpoints, and a block without one becomes a string).
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec

Role = Literal["user", "assistant", "system"]
_ENCODER = msgspec.json.Encoder(order="sorted")


class Call(msgspec.Struct, frozen=True):
    """A tool call that the conversation holds; `arguments` is canonical JSON, or the text as it stands."""

    id: str
    name: str
    arguments: str


class Result(msgspec.Struct, frozen=True):
    """`failed` None where the vendor has no flag for it."""

    id: str
    text: str
    failed: bool | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True):
    role: Role
    digest: bytes
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


def items(body: Mapping[str, Any]) -> list[Item]:
    """The conversation without its leading instructions. Unknown shapes become items with a digest alone."""
    value = next((body[key] for key in ("messages", "input", "contents") if key in body), None)
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    made = [_item(entry) for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
    start = next((i for i, item in enumerate(made) if item.role != "system"), len(made))
    return made[start:]


def instructions(body: Mapping[str, Any]) -> str:
    """Text of the instructions: `system`, `instructions`, `systemInstruction`, leading system or developer messages."""
    pieces: list[str] = []
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        pieces += texts(body.get(key))
    for key in ("messages", "input"):
        listed = body.get(key)
        for entry in listed if isinstance(listed, list) else ():
            if not isinstance(entry, Mapping) or _role(entry) != "system":
                break
            pieces += texts(entry.get("content"))
    return "\n".join(pieces)


def texts(value: Any) -> Iterator[str]:
    """Every piece of text in a content value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key in ("text", "content", "parts", "output", "summary"):
            if key in value:
                yield from texts(value[key])
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def digest(value: Any) -> bytes:
    """Identity of a content value: 16 bytes."""
    return blake2b(_ENCODER.encode(_plain(value)), digest_size=16).digest()


def first_turn(following: Sequence[Item]) -> Sequence[Item]:
    """What one answer brought: its items, the results of its calls; up to the next answer or the user's next word."""
    resulted = False
    for i, item in enumerate(following):
        if (item.role == "assistant" and resulted) or (item.role != "assistant" and not item.results):
            return following[:i]
        resulted = resulted or bool(item.results)
    return following


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {str(key): _plain(part) for key, part in value.items() if key != "cache_control"}
        content = kept.get("content")
        if isinstance(content, list) and len(content) == 1 and _lone_text(content[0]):
            kept["content"] = content[0]["text"]
        return kept
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _lone_text(block: Any) -> bool:
    return isinstance(block, dict) and set(block) == {"type", "text"}


def _role(entry: Mapping[str, Any]) -> Role:
    match entry.get("role") or entry.get("type"):
        case "assistant" | "model" | "function_call" | "reasoning" | "custom_tool_call":
            return "assistant"
        case "system" | "developer":
            return "system"
    return "user"


def _item(entry: Mapping[str, Any]) -> Item:
    calls: list[Call] = []
    results: list[Result] = []
    for part in _parts(entry):
        _read_part(part, calls, results)
    return Item(
        role=_role(entry),
        digest=digest(entry),
        text="".join(texts(entry.get("content", entry.get("parts")))),
        calls=tuple(calls),
        results=tuple(results),
    )


def _parts(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield entry  # OpenAI's items are calls and results themselves
    for key in ("content", "parts", "tool_calls"):
        value = entry.get(key)
        if isinstance(value, list):
            yield from (part for part in value if isinstance(part, Mapping))


def _read_part(part: Mapping[str, Any], calls: list[Call], results: list[Result]) -> None:
    kind = part.get("type")
    if kind == "tool_use":
        calls.append(Call(str(part.get("id")), str(part.get("name")), _arguments(part.get("input"))))
    elif kind == "tool_result":
        text = "".join(texts(part.get("content")))
        results.append(Result(str(part.get("tool_use_id")), text, bool(part.get("is_error", False))))
    elif isinstance(function := part.get("function"), Mapping):
        calls.append(Call(str(part.get("id")), str(function.get("name")), _arguments(function.get("arguments"))))
    elif kind in ("function_call", "custom_tool_call"):
        arguments = part.get("arguments", part.get("input"))
        calls.append(Call(str(part.get("call_id")), str(part.get("name")), _arguments(arguments)))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        results.append(Result(str(part.get("call_id")), "".join(texts(part.get("output")))))
    elif part.get("role") == "tool":
        results.append(Result(str(part.get("tool_call_id")), "".join(texts(part.get("content")))))
    elif isinstance(call := part.get("functionCall"), Mapping):
        id = str(call.get("id") or call.get("name"))
        calls.append(Call(id, str(call.get("name")), _arguments(call.get("args"))))
    elif isinstance(back := part.get("functionResponse"), Mapping):
        answer = back.get("response")
        failed = "error" in answer if isinstance(answer, Mapping) else None
        results.append(Result(str(back.get("id") or back.get("name")), _arguments(answer), failed))


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return str(value)
    return _ENCODER.encode(value).decode()
