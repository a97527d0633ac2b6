"""What of a recorded run of codex is compared with the fake's: lines, requests in structure, the thread's file."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .captures import FOLDER, Capture, length

LENGTH_TOLERANCE = 120  # characters: the recordings' working directory, named thrice in a text, had a longer name
# What is not compared, with the reason.
EXEMPT_HEADERS = {
    "host": "the HTTP client adds it",
    "content-length": "the HTTP client adds it",
    "accept-encoding": "the fake reads no compressed answers",
    "sec-websocket-key": "made anew for each connection",
}
EXEMPT_ROWS = {
    "history_base.end_byte_offset": "the fake finds the place by its number",
}

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")


def shape_of_lines(events: Sequence[Mapping[str, Any]]) -> list[Any]:
    """(type, keys) of each event, with those of its item and its usage; texts that are the CLI's own words stand."""
    shape = []
    for event in events:
        item = event.get("item") or {}
        spoken = {k: item[k] for k in ("type", "text", "message", "status", "command", "exit_code") if k in item}
        shape.append((event["type"], sorted(event), sorted(item), spoken, event.get("usage"), _message(event)))
    return shape


def _message(event: Mapping[str, Any]) -> str | None:
    said = event.get("message") or (event.get("error") or {}).get("message")
    return re.sub(r"127\.0\.0\.1:\d+", "HOST", said) if said else None


def stderr(text: str) -> str:
    """Without the time of day."""
    return _TIME.sub("TIME", text)


def shape_of_request(headers: Sequence[Sequence[str]], body: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is compared of a request, by name."""
    found: dict[str, Any] = {"headers": [n.lower() for n, _ in headers if n.lower() not in EXEMPT_HEADERS]}
    names = {name.lower(): value for name, value in headers}
    found |= {name: names.get(name) for name in ("accept", "originator", "user-agent", "x-codex-beta-features")}
    told = json.loads(names["x-codex-turn-metadata"])
    found["metadata"] = list(told)
    kept = ("request_kind", "history_initialization", "sandbox", "sandbox_mode", "window_number", "compaction", "model")
    found["turn"] = {key: told.get(key) for key in kept}
    if not body:
        return found
    found["keys"] = [key for key in body if not key.startswith("$")]
    skipped = ("input", "tools", "client_metadata", "prompt_cache_key")
    found["plain"] = {k: v for k, v in body.items() if not k.startswith("$") and k not in skipped}
    found["client"] = sorted(body["client_metadata"])
    found["tools"] = [_tool(tool) for tool in body.get("tools", [])]
    found["input"] = [_item(item) for item in body["input"]]
    return found


def _tool(tool: Mapping[str, Any]) -> Any:
    parameters = tool.get("parameters") or {}
    props = parameters.get("$props")
    if props is None:
        props = sorted(parameters.get("properties", {}))
    return tool["type"], tool.get("name"), sorted(tool), props


def _item(item: Mapping[str, Any]) -> Any:
    content = item.get("content")
    parts = [part["type"] for part in content] if isinstance(content, list) else content
    kept = {key: item[key] for key in ("name", "arguments", "input", "status") if key in item}
    tagged = sorted(item.get("internal_chat_message_metadata_passthrough") or {})
    id = str(item.get("id", "")).split("_")[0]
    return item["type"], item.get("role"), list(item), parts, kept, tagged, id


def lengths(body: Mapping[str, Any]) -> list[int]:
    """Lengths of all prose of a request, in order."""
    found = [length(part["text"]) for item in body["input"] for part in item.get("content") or []]
    return found + [length(tool["description"]) for tool in body.get("tools", []) if "description" in tool]


def near(mine: Sequence[int], theirs: Sequence[int]) -> None:
    """The same lengths, but for how long the recordings' folders were called."""
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        assert abs(a - b) <= LENGTH_TOLERANCE, (a, b)


def rollouts(name: str) -> dict[str, list[dict[str, Any]]]:
    """The threads' files of a recording, by the thread's id."""
    extra = json.loads((FOLDER / name / "extra.json").read_text())
    return {path[-42:-6]: rows for path, rows in extra.items() if "/rollout-" in path}


def rows_on_disk(home: Path) -> dict[str, list[dict[str, Any]]]:
    """The threads' files below a CODEX_HOME."""
    found = {}
    for path in (home / "sessions").glob("*/*/*/rollout-*.jsonl"):
        found[path.name[-42:-6]] = [json.loads(line) for line in path.read_text().splitlines()]
    return found


def shape_of_row(row: Mapping[str, Any]) -> Any:
    """A row's kind and all keys in it, however deep."""
    return row["type"], row["payload"].get("type"), sorted(set(_keys(row)))


def _keys(value: Any, path: str = "") -> list[str]:
    if isinstance(value, list):
        return [key for item in value for key in _keys(item, f"{path}[]")]
    if not isinstance(value, dict) or "$len" in value:
        return []
    found = []
    for key, item in value.items():
        name = "*" if key.startswith("/") else key
        here = f"{path}.{name}" if path else name
        if here.removeprefix("payload.") not in EXEMPT_ROWS:
            found += [here, *_keys(item, here)]
    return found


__all__ = [
    "Capture",
    "lengths",
    "near",
    "rollouts",
    "rows_on_disk",
    "shape_of_lines",
    "shape_of_request",
    "shape_of_row",
    "stderr",
]
