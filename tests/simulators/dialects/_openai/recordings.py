"""Plumbing: recorded exchanges with the real API, played to the simulators with the recorded answers as script."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from simulators import Simulator
from simulators.core.wire import Chunk, Head, Request

FOLDER = Path(__file__).parents[4] / "../shared/recorded/openai"
_CALLS = ("function_call", "custom_tool_call")


def files() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Name and exchanges of every file."""
    for path in sorted(FOLDER.glob("*.yaml")):
        document = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        yield path.stem, document["interactions"]


def events_of(data: str) -> list[dict[str, Any]]:
    """The JSON of each event of a stream."""
    lines = [line[6:] for line in data.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def answer_of(exchange: Mapping[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
    """The recorded body, and the events if it was a stream."""
    response = exchange["response"]
    if response.get("parsed_body") is not None:
        return response["parsed_body"], []
    body = response.get("body") or {}
    text = body.get("string", "") if isinstance(body, dict) else body
    events = events_of(text if isinstance(text, str) else text.decode())
    last = [
        event["response"] for event in events if event.get("type", "").startswith("response.") and "response" in event
    ]
    return (last[-1] if last else None), events


def turn_of(answer: Any, events: list[dict[str, Any]]) -> dict[str, Any]:
    """A script that says what was recorded."""
    if isinstance(answer, dict) and "output" in answer:
        return _of_items(answer["output"])
    if isinstance(answer, dict) and "choices" in answer:
        message = answer["choices"][0]["message"]
        return _turn(message.get("content"), message.get("tool_calls") or ())
    text, calls = "", {}
    for event in events:
        for choice in event.get("choices") or ():
            text += choice["delta"].get("content") or ""
            for part in choice["delta"].get("tool_calls") or ():
                call = calls.setdefault(part["index"], {"id": None, "function": {"name": "", "arguments": ""}})
                call["id"] = part.get("id") or call["id"]
                call["function"]["name"] += part["function"].get("name") or ""
                call["function"]["arguments"] += part["function"].get("arguments") or ""
    return _turn(text or None, list(calls.values()))


def _turn(text: str | None, calls: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"tool_calls": []}
    if text:
        made["text"] = text
    for call in calls:
        function = call["function"]
        made["tool_calls"].append({"name": function["name"], "input": function["arguments"], "id": call["id"]})
    return made


def _of_items(items: list[dict[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {"tool_calls": [], "blocks": []}
    for item in items:
        kind = item["type"]
        if kind == "reasoning":
            made["thinking"] = "".join(part["text"] for part in item["summary"]) or "hm"
        elif kind == "message":
            made["text"] = "".join(part.get("text", "") for part in item["content"]) or None
        elif kind in _CALLS:
            given = item.get("arguments", item.get("input"))
            made["tool_calls"].append({"name": item["name"], "input": given, "id": item["call_id"]})
        elif kind != "compaction":
            made["blocks"].append(item)
    return {name: value for name, value in made.items() if value is not None}


class Player:
    """One file played to one account, ids of the recording replaced by those that the simulator gave."""

    def __init__(self, simulator: Simulator, name: str) -> None:
        self.account = simulator.account(name)
        self._simulator, self._name = simulator, name
        self._ids: dict[str, str] = {}

    def play(self, exchange: Mapping[str, Any]) -> tuple[int, Any, list[dict[str, Any]]]:
        """Status, body and events of the simulator's answer."""
        answer, _ = answer_of(exchange)
        asked = exchange["request"]
        target = urlsplit(asked["uri"])
        body = json.dumps(asked["parsed_body"]) if asked.get("parsed_body") else asked.get("body") or ""
        path = target.path
        for old, new in self._ids.items():
            body, path = body.replace(old, new), path.replace(old, new)
        request = Request(
            method=asked["method"],
            path=f"/@{self._name}{path}",
            query=tuple(parse_qsl(target.query)),
            headers=(("authorization", "Bearer sk-recorded"),),
            body=body.encode(),
        )
        events = list(answered := self._simulator.handle(request))
        answered.close(0.0, "complete")
        head = next(event for event in events if isinstance(event, Head))
        data = b"".join(event.data for event in events if isinstance(event, Chunk)).decode()
        mine: Any = None
        made: list[dict[str, Any]] = []
        if data.startswith("{"):
            mine = json.loads(data)
        else:
            made = events_of(data)
            finals = [event["response"] for event in made if "response" in event]
            mine = finals[-1] if finals else None
        for theirs, ours in _pairs(answer, mine):
            self._ids[theirs] = ours
        return head.status, mine, made


def _pairs(theirs: Any, ours: Any) -> Iterator[tuple[str, str]]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if isinstance(theirs.get("id"), str) and isinstance(ours.get("id"), str):
            yield theirs["id"], ours["id"]
        yield from _pairs(theirs.get("output"), ours.get("output"))
    elif isinstance(theirs, list) and isinstance(ours, list):
        left = list(ours)
        for item in theirs:
            kind = item.get("type") if isinstance(item, dict) else None
            match = next((one for one in left if isinstance(one, dict) and one.get("type") == kind), None)
            if match is not None:
                left.remove(match)
                yield from _pairs(item, match)


def absent(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Keys of the recording that the answer lacks; items of a list are compared by their `type`."""
    if isinstance(theirs, dict):
        if not isinstance(ours, dict):
            yield f"{path}: {type(ours).__name__} for an object"
            return
        for key, value in theirs.items():
            if key not in ours:
                yield f"{path}.{key}"
            elif value is not None and ours[key] is not None:
                yield from absent(value, ours[key], f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        for item in theirs:
            if not isinstance(item, dict):
                continue
            kind = item.get("type", item.get("index", item.get("role")))
            same = [o for o in ours if isinstance(o, dict) and o.get("type", o.get("index", o.get("role"))) == kind]
            if not same:
                yield f"{path}[{kind}]"
                continue
            found = [list(absent(item, one, f"{path}[{kind}]")) for one in same]
            yield from min(found, key=len)
