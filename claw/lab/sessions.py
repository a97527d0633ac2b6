"""Reading claw's session file as it stands on disk, without claw's own reader: what that one repairs is found here."""

import json
from typing import Any

from claw.lab.evidence import SessionEntry, SessionState


def read_session(path: str) -> SessionState:
    """Every line, in order. `problem` says which line cannot be read; no file is a session without entries."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return SessionState()
    entries = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        try:
            record = json.loads(line)
            if record["type"] != "session":
                entries.append(_entry(record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = f"line {number} cannot be read: {type(error).__name__}: {error}"
            return SessionState(entries=tuple(entries), problem=problem)
    torn = bool(data) and not data.endswith(b"\n")
    return SessionState(entries=tuple(entries), problem="the last line has no end" if torn else None)


def _entry(record: dict[str, Any]) -> SessionEntry:
    message = record.get("message") or {}
    parts = message.get("parts", ())
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    if record["type"] == "compaction":
        text = record.get("summary", "")
    return SessionEntry(
        id=record["id"],
        parent=record.get("parentId"),
        type=record["type"],
        role=message.get("role"),
        text=text,
        tool_calls=tuple(part["id"] for part in parts if part["type"] == "tool_call"),
        tool_results=tuple(part["call_id"] for part in parts if part["type"] == "tool_result"),
    )
