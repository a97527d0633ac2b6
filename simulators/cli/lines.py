"""What a line of a CLI's stdout is, whichever CLI printed it: its beginning, a text, a tool, its last word.

And how such a line is turned into that of a CLI which behaves badly.
"""

from collections.abc import Mapping
from typing import Any

Event = dict[str, Any]
WRONG_SESSION = "00000000-0000-4000-8000-000000000000"
_SAID = "API Error: 500 Internal server error"
_LAST = ("result", "turn.completed", "turn.failed")
_CODEX_TOOLS = ("command_execution", "file_change")
_RPC = {"thread/started": "init", "turn/completed": "result"}


def point(event: Any) -> str | None:
    """init, text, tool or result; None for others."""
    if not isinstance(event, dict):
        return "result"
    kind = event.get("type")
    if kind in _LAST or (kind is None and "response" in event):
        return "result"
    if kind in ("thread.started", "init") or (kind == "system" and event.get("subtype") == "init"):
        return "init"
    if kind == "assistant":
        return _of_claude(event)
    if kind in ("item.started", "item.completed"):
        return _of_item(event.get("item") or {})
    if kind == "tool_use":
        return "tool"
    if kind == "message" and event.get("role") == "assistant":
        return "text"
    return _of_rpc(event) if "method" in event else None


def _of_claude(event: Event) -> str | None:
    types = [block.get("type") for block in event.get("message", {}).get("content", [])]
    return "tool" if "tool_use" in types else "text" if "text" in types else None


def _of_item(item: Mapping[str, Any]) -> str | None:
    return "text" if item.get("type") == "agent_message" else "tool" if item.get("type") in _CODEX_TOOLS else None


def _of_rpc(event: Event) -> str | None:
    item = (event.get("params") or {}).get("item") or {}
    if event["method"] in ("item/started", "item/completed"):
        kinds = {"agentMessage": "text", "commandExecution": "tool", "fileChange": "tool"}
        return kinds.get(item.get("type", ""))
    return _RPC.get(event["method"])


def wrong_session(event: Event) -> Event | None:
    """Another session's id in the place of its own."""
    for key in ("session_id", "thread_id"):
        if key in event:
            return {**event, key: WRONG_SESSION}
    return event


def no_result(event: Event) -> Event | None:
    """The last word is swallowed."""
    return None if point(event) == "result" else event


def error(event: Event) -> Event | None:
    """The last word is an error."""
    kind = event.get("type")
    if kind == "turn.completed":
        return {"type": "turn.failed", "error": {"message": _SAID}}
    if kind == "result" and "stats" in event:
        failed = {key: value for key, value in event.items() if key != "stats"}
        return {**failed, "status": "error", "error": {"type": "unknown", "message": _SAID}, "stats": event["stats"]}
    if kind is None and "response" in event:
        return {"session_id": event.get("session_id"), "error": {"type": "Error", "message": _SAID, "code": 500}}
    if kind != "result" or event.get("is_error"):
        return event
    return {**event, "is_error": True, "result": _SAID}


def empty(event: Event) -> Event | None:
    """A success without a word."""
    kind = event.get("type")
    if kind is None and "response" in event:
        return {**event, "response": ""}
    if kind == "result" and "stats" not in event:
        return {**event, "subtype": "success", "is_error": False, "result": ""}
    if kind in ("assistant", "stream_event"):
        return None
    return None if point(event) == "text" else event
