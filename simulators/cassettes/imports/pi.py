"""Session files of Pi and OpenClaw, versions 1 to 3: a tree of entries, one a line.

Version 1 has no ids (entries follow one another, a compaction counts entries), version 2 ids, version 3 other roles.
"""

from collections.abc import Sequence
from typing import Any

from simulators.cassettes.format import Cassette, CassetteError, Exchange
from simulators.cassettes.imports._json import lines, listed, seconds, table
from simulators.cassettes.imports._turns import Message, anthropic, chat

ABOUT = "session files of Pi"
_STOPS = {"toolUse": "tool_use", "length": "max_tokens", "stop": "end_turn"}
_NOT_SENT = frozenset({"delivery-mirror", "gateway-injected"})  # notes of OpenClaw itself, no model's


def read(data: bytes, *, source: str) -> Cassette:
    """An exchange for each answer on any branch, asked with the path that leads to it."""
    rows = [row for _, row in lines(data, source)]
    header = next((row for row in rows if row.get("type") == "session"), None)
    if header is None:
        raise CassetteError(f"{source}: no session of Pi or OpenClaw: no line has `type: session`")
    entries = _linked([row for row in rows if row.get("type") != "session"])
    known = {entry["id"]: entry for entry in entries}
    found = [one for entry in entries if (one := _exchange(entry, known)) is not None]
    return Cassette(exchanges=found, source=source)


def _linked(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every entry with an id and a parent, as later versions have them."""
    made, before = list[dict[str, Any]](), None
    for number, entry in enumerate(entries):
        entry = dict(entry)
        if not isinstance(entry.get("id"), str):
            entry |= {"id": f"line-{number}", "parentId": before}
            index = entry.get("firstKeptEntryIndex")
            if isinstance(index, int):
                entry["firstKeptEntryId"] = f"line-{index - 1}"  # the header counts as the first
        before = entry["id"]
        made.append(entry)
    return made


def _exchange(entry: dict[str, Any], known: dict[str, dict[str, Any]]) -> Exchange | None:
    message = table(entry.get("message"))
    if entry.get("type") != "message" or message.get("role") != "assistant":
        return None
    if message.get("provider") == "openclaw" or message.get("model") in _NOT_SENT:
        return None
    content = _answer(message)
    path = _path(entry, known)
    messages = _context(path)
    if not content or not messages:
        return None
    usage = table(message.get("usage"))
    answer = {
        "content": content,
        "stop_reason": _STOPS.get(str(message.get("stopReason"))),
        "usage": {
            "input_tokens": usage.get("input") or 0,
            "cache_read_input_tokens": usage.get("cacheRead") or 0,
            "cache_creation_input_tokens": usage.get("cacheWrite") or 0,
            "output_tokens": usage.get("output") or 0,
        },
    }
    make = anthropic if str(message.get("api") or "anthropic").startswith(("anthropic", "bedrock")) else chat
    at = seconds(entry.get("timestamp")) or seconds(message.get("timestamp"))
    return make(messages, answer, model=str(message.get("model") or "unknown"), at=at)


def _path(entry: dict[str, Any], known: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries before one, from the root on."""
    found: list[dict[str, Any]] = []
    seen = {entry["id"]}
    parent = entry.get("parentId")
    while isinstance(parent, str) and parent in known and parent not in seen:
        seen.add(parent)
        found.append(known[parent])
        parent = known[parent].get("parentId")
    return found[::-1]


def _context(path: Sequence[dict[str, Any]]) -> list[Message]:
    """What the model saw of a path: the newest summary, what it kept, and what came after it."""
    last = max((i for i, entry in enumerate(path) if entry.get("type") == "compaction"), default=None)
    messages: list[Message] = []
    if last is not None:
        summary = path[last]
        messages.append(_user(f"<summary>\n{summary.get('summary') or ''}\n</summary>"))
        kept = next((i for i, e in enumerate(path) if e["id"] == summary.get("firstKeptEntryId")), last)
        path = [*path[kept:last], *path[last + 1 :]]
    for entry in path:
        messages += _messages(entry)
    return messages


def _messages(entry: dict[str, Any]) -> list[Message]:
    match entry.get("type"):
        case "branch_summary":
            return [_user(str(entry.get("summary") or ""))]
        case "custom_message":
            return [{"role": "user", "content": _parts(entry.get("content"))}]
        case "message":
            return _of_message(table(entry.get("message")))
    return []


def _of_message(message: dict[str, Any]) -> list[Message]:
    match message.get("role"):
        case "user" | "custom" | "hookMessage":
            return [{"role": "user", "content": _parts(message.get("content"))}]
        case "assistant" if message.get("provider") != "openclaw":
            content = _answer(message)
            return [{"role": "assistant", "content": content}] if content else []
        case "toolResult":
            result = {
                "type": "tool_result",
                "tool_use_id": message.get("toolCallId"),
                "content": _parts(message.get("content")),
                "is_error": bool(message.get("isError")),
            }
            return [{"role": "user", "content": [result]}]
        case "bashExecution" if not message.get("excludeFromContext"):
            return [_user(f"Ran `{message.get('command') or ''}`\n```\n{message.get('output') or ''}\n```")]
    return []


def _user(text: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    found: list[dict[str, Any]] = []
    for part in listed(content):
        kind = table(part).get("type")
        if kind == "text" and part.get("text"):
            found.append({"type": "text", "text": part["text"]})
        elif kind == "image" and part.get("data"):
            image = {"type": "base64", "media_type": part.get("mimeType") or "image/png", "data": part["data"]}
            found.append({"type": "image", "source": image})
    return found


def _answer(message: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in listed(message.get("content")):
        part = table(part)
        match part.get("type"):
            case "text" if part.get("text"):
                found.append({"type": "text", "text": part["text"]})
            case "thinking" if part.get("redacted"):
                found.append({"type": "redacted_thinking", "data": part.get("thinkingSignature") or ""})
            case "thinking" if part.get("thinkingSignature"):
                sealed = {"thinking": part.get("thinking") or "", "signature": part["thinkingSignature"]}
                found.append({"type": "thinking", **sealed})
            case "toolCall":
                given = {"id": part.get("id"), "name": part.get("name"), "input": part.get("arguments") or {}}
                found.append({"type": "tool_use", **given})
    return found
