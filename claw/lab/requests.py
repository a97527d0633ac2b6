"""Reading a recorded request without caring whose API it was: instructions, headers, whole text.

Instructions are what tells the model how to behave *before* the user speaks: Anthropic's `system`, OpenAI's
`instructions`, Gemini's `systemInstruction`, messages of role system or developer, and the leading context that CLIs
put before the prompt (the user parts at the head of the conversation except the last of them, which is the prompt).
"""

from collections.abc import Iterator, Mapping
from typing import Any

Body = Mapping[str, Any]


def texts(value: Any) -> Iterator[str]:
    """Every piece of text in a content value: a string, blocks, parts, or lists of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key in ("text", "content", "parts"):
            if key in value:
                yield from texts(value[key])
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def conversation(body: Body) -> list[tuple[str, list[str]]]:
    """(role, texts of its blocks) of each message, whatever the API calls the list."""
    for key in ("messages", "input", "contents"):
        items = body.get(key)
        if isinstance(items, str):
            return [("user", [items])]
        if isinstance(items, list):
            return [(str(item.get("role", "")), _blocks(item)) for item in items if isinstance(item, Mapping)]
    return []


def _blocks(item: Mapping[str, Any]) -> list[str]:
    content = item.get("content", item.get("parts"))
    if isinstance(content, list):
        return ["".join(texts(block)) for block in content]
    return list(texts(content))


def instructions(body: Body) -> str:
    """All that instructs the model in this request, joined by newlines."""
    pieces: list[str] = []
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        pieces += texts(body.get(key))
    leading: list[str] = []
    spoken = False
    for role, blocks in conversation(body):
        if role in ("system", "developer"):
            pieces += blocks
        elif role == "user" and not spoken:
            leading += blocks
        else:
            spoken = True
    if leading and leading[-1].startswith("<instructions>"):  # before the prompt, where an API is given no other place
        leading.append(leading[-1].partition("</instructions>")[2])
    return "\n".join(pieces + leading[:-1])


def whole_text(body: Body) -> str:
    """Every string value of the request, for searching."""
    return "\n".join(_strings(body))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
