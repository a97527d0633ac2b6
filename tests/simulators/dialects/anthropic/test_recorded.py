"""Real answers judge: what the provider took is taken, what it refused is refused in the same way, and an answer has
every key that the real one had."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
import yaml

from simulators import Simulator
from simulators.core.turn import ModelTurn
from simulators.core.wire import Chunk, Head, Request
from simulators.shells.virtual_time import VirtualClock

FOLDER = Path(__file__).parents[4] / "../shared/recorded/anthropic"
# Keys that a real answer had and ours does not: where, and why not. The list only shrinks.
EXEMPT: dict[str, str] = {}
_OPAQUE = ("input", "content", "data", "citations")  # what the model or a tool made up: taken from the recording itself


def recordings() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(FOLDER.glob("*.yaml")):
        document = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for number, exchange in enumerate(document["interactions"]):
            yield f"{path.stem}[{number}]", exchange


class Real:
    """A recorded answer: its status, body or events, and the turn that says the same."""

    def __init__(self, exchange: dict[str, Any]) -> None:
        response = exchange["response"]
        self.status: int = response["status"]["code"]
        self.body: Any = response.get("parsed_body")
        raw = response.get("body")
        text = (raw.get("string") if isinstance(raw, dict) else raw) or ""
        self.events = [] if self.body is not None else list(events_of(text))

    def turn(self) -> dict[str, Any] | None:
        """What a script must say to get this answer; None if it is no message."""
        if self.events:
            content, stop = folded(self.events), self.events[-2][1]["delta"]["stop_reason"]
        elif isinstance(self.body, dict) and self.body.get("type") == "message":
            content, stop = self.body["content"], self.body["stop_reason"]
        else:
            return None
        return said(content, "context_window_exceeded" if stop == "model_context_window_exceeded" else stop)


def said(content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    """A scripted turn: in our own words where thinking, text and calls come in that order, else block by block."""
    kinds = [block["type"] for block in content]
    turn: dict[str, Any] = {"stop": stop}
    if re.fullmatch(r"(thinking )?(text )?(tool_use )*", "".join(f"{kind} " for kind in kinds)) and not any(
        block.get("citations") for block in content
    ):
        for block in content:
            if block["type"] == "tool_use":
                call = {"id": block["id"], "name": block["name"], "input": block["input"]}
                turn.setdefault("tool_calls", []).append(call)
            else:
                turn[block["type"]] = block[block["type"]]
        return turn
    return turn | {"blocks": content}


def events_of(text: str) -> Iterator[tuple[str, Any]]:
    for frame in text.replace("\r\n", "\n").split("\n\n"):
        lines = dict(line.partition(": ")[::2] for line in frame.split("\n") if ": " in line)
        if "data" in lines:
            yield lines["event"], json.loads(lines["data"])


def folded(events: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The blocks that a stream builds up."""
    blocks: list[dict[str, Any]] = []
    for name, data in events:
        if name == "content_block_start":
            blocks.append({**data["content_block"], "_json": ""})
        elif name == "content_block_delta":
            delta, block = data["delta"], blocks[data["index"]]
            for field in ("text", "thinking", "signature"):
                if field in delta:
                    block[field] = block.get(field, "") + delta[field]
            block["_json"] += delta.get("partial_json", "")
            if "citation" in delta:
                block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    for block in blocks:
        given = block.pop("_json")
        if given:
            block["input"] = json.loads(given)
    return blocks


def asked(exchange: dict[str, Any]) -> Request:
    given = exchange["request"]
    target = urlsplit(given["uri"])
    body = json.dumps(given["parsed_body"]) if given.get("parsed_body") else given.get("body") or ""
    return Request(
        method=given["method"], path=target.path, query=tuple(parse_qsl(target.query)), body=body.encode(),
        headers=(("x-api-key", "sk-test"),),
    )  # fmt: skip


def answered(exchange: dict[str, Any], turn: dict[str, Any] | None, **document: Any) -> tuple[int, Any, list[Any]]:
    """Status, body and events of our answer to a recorded request."""
    simulator = Simulator(seed=7, clock=VirtualClock())
    script = {"turns": [turn]} if turn is not None else {"responder": "persona"}
    simulator.account("sk-test").load({**script, **document})
    answer = simulator.handle(asked(exchange))
    pieces = list(answer)
    answer.close(0, "complete")
    status = next(piece.status for piece in pieces if isinstance(piece, Head))
    text = b"".join(piece.data for piece in pieces if isinstance(piece, Chunk)).decode()
    if text.startswith("event: "):
        return status, None, list(events_of(text))
    return status, msgspec.json.decode(text) if text else None, []


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Every key of a JSON value, with the `type` of the object it is in; not inside what a model made up."""
    if isinstance(value, dict):
        kind = f"<{value['type']}>" if isinstance(value.get("type"), str) else ""
        for name, inner in value.items():
            yield f"{path}{kind}.{name}"
            if name not in _OPAQUE or path == "":
                yield from keys(inner, f"{path}{kind}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def event_keys(events: list[tuple[str, Any]]) -> set[str]:
    return {f"{name}: {key}" for name, data in events for key in keys(data)}


@pytest.fixture(scope="module")
def exchanges() -> list[tuple[str, dict[str, Any]]]:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was judged")
    return list(recordings())


def test_every_recorded_request_is_answered_as_the_provider_did(
    exchanges: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, taken, refused, seen = [], 0, 0, 0
    for name, exchange in exchanges:
        real = Real(exchange)
        status, body, events = answered(exchange, real.turn())
        if status != real.status:
            wrong.append(f"{name}: {real.status}, we say {status} {body}")
            continue
        missing = (event_keys(real.events) if real.events else set(keys(real.body))) - (
            event_keys(events) if real.events else set(keys(body))
        )
        wrong += [f"{name}: no {key}" for key in sorted(missing) if key not in EXEMPT]
        if real.status >= 400 and body["error"] != real.body["error"]:
            wrong.append(f"{name}: {real.body['error']}, we say {body['error']}")
        taken, refused = taken + (status < 400), refused + (status >= 400)
        seen += len(event_keys(real.events)) if real.events else len(set(keys(real.body)))
    with capsys.disabled():
        print(f" [{taken} accepted and {refused} refused requests judged, {seen} keys]", end="")
    assert wrong == []
    assert taken > 50
    assert refused > 0


@pytest.mark.parametrize("responder", ["persona", "echo"])
def test_no_responder_needs_a_script_for_them(exchanges: list[tuple[str, dict[str, Any]]], responder: str) -> None:
    """Also with tools that the provider runs itself: an answer comes, and its usage has every key of the real one."""
    wrong, judged = [], 0
    for name, exchange in exchanges:
        real = Real(exchange)
        status, body, events = answered(exchange, None, responder=responder)
        if status != real.status:
            wrong.append(f"{name}: {real.status}, we say {status} {body}")
        if status == 200 and real.events:
            ours, theirs = (dict(each)["message_delta"]["usage"] for each in (events, real.events))
        elif status == 200 and "usage" in real.body:
            ours, theirs = body["usage"], real.body["usage"]
        else:
            continue
        judged += 1
        wrong += [f"{name}: no {key}" for key in sorted(set(theirs) - set(ours))]
    assert wrong == []
    assert judged > 50


def test_turns_of_the_recordings_are_told_in_our_own_words(exchanges: list[tuple[str, dict[str, Any]]]) -> None:
    """Most of them: else the test above would only pass blocks through."""
    turns = [turn for _, exchange in exchanges if (turn := Real(exchange).turn()) is not None]
    own = [turn for turn in turns if "blocks" not in turn]
    assert len(own) > 0.7 * len(turns)
    assert ModelTurn(text="x").blocks == ()
