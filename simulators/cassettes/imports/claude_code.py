"""Session files of Claude Code (`~/.claude/projects/…/SESSION.jsonl`)."""

from typing import Any

from simulators.cassettes.format import Cassette, CassetteError, Exchange
from simulators.cassettes.imports._json import lines, seconds, table
from simulators.cassettes.imports._turns import Message, anthropic, blocks

ABOUT = "session files of Claude Code"


def read(data: bytes, *, source: str) -> Cassette:
    """An exchange for each answer of the main conversation. Records chain by `parentUuid`, a compaction begins a chain
    anew; an answer takes several records, one for each block, under one message id."""
    rows = [row for _, row in lines(data, source)]
    if not any(isinstance(row.get("message"), dict) or "sessionId" in row for row in rows):
        raise CassetteError(f"{source}: no session of Claude Code: no record has `message` or `sessionId`")
    known = {row["uuid"]: row for row in rows if isinstance(row.get("uuid"), str)}
    answers: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        message = table(row.get("message"))
        if row.get("type") == "assistant" and not row.get("isSidechain") and message.get("model") != "<synthetic>":
            answers.setdefault(str(message.get("id") or row.get("uuid")), []).append(row)
    system = _system(rows)
    exchanges = [one for parts in answers.values() if (one := _exchange(parts, known, system)) is not None]
    return Cassette(exchanges=exchanges, source=source)


def _system(rows: list[dict[str, Any]]) -> Any:
    """The prompt that the newest record of it has."""
    for row in reversed(rows):
        snapshot = table(row.get("attachment"))
        if snapshot.get("type") == "prompt_snapshot" and snapshot.get("systemPrompt"):
            prompt = snapshot["systemPrompt"]
            return [{"type": "text", "text": one} for one in prompt] if _strings(prompt) else prompt
    return None


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _exchange(parts: list[dict[str, Any]], known: dict[str, dict[str, Any]], system: Any) -> Exchange | None:
    content = [block for part in parts for block in blocks(table(part.get("message")).get("content"))]
    last = table(parts[-1].get("message"))
    messages = _before(parts[0], known)
    if not content or not messages:
        return None
    answer = {
        "id": last.get("id"),
        "content": content,
        "stop_reason": last.get("stop_reason"),
        "usage": last.get("usage"),
    }
    model = str(last.get("model") or "unknown")
    return anthropic(messages, answer, system=system, model=model, at=seconds(parts[0].get("timestamp")))


def _before(row: dict[str, Any], known: dict[str, dict[str, Any]]) -> list[Message]:
    """The messages that led to a record, the oldest first."""
    found: list[Message] = []
    seen: set[str] = set()
    parent = row.get("parentUuid")
    while isinstance(parent, str) and parent in known and parent not in seen:
        seen.add(parent)
        row = known[parent]
        message = table(row.get("message"))
        if row.get("type") in ("user", "assistant") and message.get("role") and message.get("content"):
            found.append({"role": message["role"], "content": message["content"]})
        parent = row.get("parentUuid")
    return found[::-1]
