"""Recorded runs of the real CLI, and what of a run is compared with the fake's.

A capture holds the command line, every line of stdout and every request in structure; vendor texts are replaced by
their length. Compared are the sequence of events and the keys of each, the figures of the result, exit code, stderr,
and of each request the keys in order, headers, roles, block types and breakpoints.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "../shared/captures"
LENGTH_TOLERANCE = 80  # characters: the recordings' working directory had another length before it was renamed
# Captures in which a text may differ by more, with the reason.
LOOSE_LENGTHS = {"c08_400_other": "with all tools inline the vendor words its reminder about them otherwise"}

# What is not compared, with the reason.
EXEMPT_EVENT_KEYS: Mapping[str, str] = {}
EXEMPT_HEADERS = {
    "Connection": "the HTTP client adds it",
    "Host": "the HTTP client adds it",
    "Accept-Encoding": "the fake reads no compressed answers",
    "Content-Length": "the HTTP client adds it",
}


class Capture:
    """One recorded run."""

    def __init__(self, name: str) -> None:
        self.name = name
        folder = FOLDER / name
        run = json.loads((folder / "run.json").read_text())
        self.argv: list[str] = run["argv"][1:]
        self.exit: int = run["exit_code"]
        self.wall_s: float = run["wall_s"]
        self.env: dict[str, str] = run["env"]
        self.stdout = _lines(folder / "stdout.jsonl")
        self.text = (folder / "stdout.jsonl").read_text() if (folder / "stdout.jsonl").exists() else ""
        self.requests = _lines(folder / "requests.jsonl")
        stderr = folder / "stderr.txt"
        self.stderr = stderr.read_text() if stderr.exists() else ""


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            return []
    return found


def length(text: Any) -> int:
    """Characters of a text that stands there or is told by its length."""
    return text["$len"] if isinstance(text, dict) else len(text)


def shape_of_events(events: Sequence[Mapping[str, Any]]) -> list[Any]:
    """(type, subtype, keys, keys of the message) of each event."""
    shape = []
    for event in events:
        keys = sorted(set(event) - set(EXEMPT_EVENT_KEYS))
        message = sorted(event["message"]) if isinstance(event.get("message"), dict) else None
        nested = sorted(event["compact_metadata"]) if "compact_metadata" in event else None
        shape.append((event["type"], event.get("subtype"), keys, message, nested))
    return shape


FIGURES = (
    "subtype", "is_error", "num_turns", "stop_reason", "terminal_reason", "api_error_status", "api_error_type",
    "result", "permission_denials", "errors", "safety_stops", "queued_turn_count", "result_index", "local_command",
)  # fmt: skip


def figures(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a result says in words and numbers, times left out."""
    found = {key: result.get(key, "-") for key in FIGURES}
    found["usage"] = result["usage"]
    found["cost"] = round(result["total_cost_usd"], 9)
    for key in ("modelUsage", "model_usage_since_last_result"):
        rounded = {}
        for model, said in result.get(key, {}).items():
            rounded[model] = {**said, "costUSD": round(said["costUSD"], 9)}
        found[key] = rounded
    return found


PLAIN = ("model", "max_tokens", "thinking", "output_config", "stream", "context_management")


def shape_of_request(headers: Sequence[Sequence[str]], body: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of a request, by name, so that a difference can be read."""
    return {
        "keys": [k for k in body if not k.startswith("$")],
        "plain": {k: v for k, v in body.items() if k in PLAIN},
        "headers": [name for name, _ in headers if name not in EXEMPT_HEADERS],
        "beta": dict(map(tuple, headers)).get("anthropic-beta"),
        "tools": [t["name"] for t in body.get("tools", [])],
        "system": [(b["type"], b.get("cache_control")) for b in body["system"]],
        "messages": [_shape_of_message(m) for m in body["messages"]],
        "metadata": sorted(json.loads(body["metadata"]["user_id"])),
    }


def _shape_of_message(message: Mapping[str, Any]) -> Any:
    content = message["content"]
    extra = sorted(set(message) - {"role", "content"})
    if isinstance(content, str) or (isinstance(content, dict) and "$len" in content):
        return (message["role"], "string", extra)
    return (message["role"], [_shape_of_block(b) for b in content], extra)


def _shape_of_block(block: Mapping[str, Any]) -> Any:
    kept = {k: block[k] for k in ("name", "input", "is_error", "cache_control") if k in block}
    return (block["type"], sorted(set(block) - {"cache_control"}), kept)


def lengths(body: Mapping[str, Any]) -> list[int]:
    """Lengths of all prose of a request, in order."""
    found = [length(b["text"]) for b in body["system"]]
    found += [length(t["description"]) for t in body.get("tools", [])]
    for message in body["messages"]:
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        found += [length(b["text"]) for b in blocks if b["type"] == "text"]
    return found
