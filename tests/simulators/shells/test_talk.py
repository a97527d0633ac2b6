"""The WebSocket mode of the Responses API, judged by the `websockets` client."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai.types.responses import ResponsesServerEvent
from pydantic import TypeAdapter

from simulators import Simulator
from simulators.shells.serving import ServedOnThread
from simulators.shells.virtual_time import VirtualClock

websockets = pytest.importorskip("websockets")
EVENT: TypeAdapter[Any] = TypeAdapter(ResponsesServerEvent)
TOOL = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
ENDS = ("response.completed", "response.incomplete", "response.failed", "error", "response.steer.failed")


@contextmanager
def served(**document: Any) -> Iterator[tuple[Simulator, str]]:
    simulator = Simulator(seed=1, clock=VirtualClock())
    simulator.account("sk-test", {"tokenizer": "words", "unused": "allow", **document})
    with ServedOnThread(simulator.app()) as at:
        yield simulator, at.url.replace("http", "ws")


class Talker:
    """One connection: `ask` sends a frame and gives the events up to the last one."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket

    async def ask(self, **fields: Any) -> list[dict[str, Any]]:
        await self.socket.send(json.dumps({"type": "response.create", "model": "gpt-5.5", "store": False, **fields}))
        return await self.rest()

    async def rest(self) -> list[dict[str, Any]]:
        events = []
        while not events or events[-1]["type"] not in ENDS:
            events.append(json.loads(await asyncio.wait_for(self.socket.recv(), 5)))
            EVENT.validate_python(events[-1])
        return events


def talk(url: str, story: Any) -> None:
    async def main() -> None:
        headers = {"authorization": "Bearer sk-test", "openai-beta": "responses_websockets=2026-02-06"}
        async with websockets.connect(f"{url}/v1/responses", additional_headers=headers) as socket:
            await story(Talker(socket))

    asyncio.run(main())


def test_a_connection_remembers_what_is_not_stored() -> None:
    """As Codex does it: a warm-up, then only what is new."""
    turns = [{"text": "I look.", "tool_calls": [{"name": "read", "input": {}}]}, {"text": "done"}]

    async def story(talker: Talker) -> None:
        warm = await talker.ask(input="one two", generate=False)
        assert [event["type"] for event in warm] == ["response.created", "response.in_progress", "response.completed"]
        first = await talker.ask(previous_response_id=warm[-1]["response"]["id"], input="go", tools=[TOOL])
        assert [event["sequence_number"] for event in first] == list(range(len(first)))
        response = first[-1]["response"]
        given = [{"type": "function_call_output", "call_id": response["output"][-1]["call_id"], "output": "x"}]
        last = await talker.ask(previous_response_id=response["id"], input=given)
        assert last[-1]["response"]["output"][0]["content"][0]["text"] == "done"
        assert last[-1]["response"]["usage"]["input_tokens"] == 2 + 1 + 2 + 1 + 1

    with served(turns=turns) as (simulator, url):
        talk(url, story)
        seen = [(one.answered_by, one.kind, one.ended) for one in simulator.account("sk-test").journal.exchanges]
    assert seen == [
        ("prewarm", "probe", "complete"),
        ("turns[0]", "main", "complete"),
        ("turns[1]", "main", "complete"),
    ]


def test_another_connection_does_not() -> None:
    names = []

    async def first(talker: Talker) -> None:
        names.append((await talker.ask(input="x"))[-1]["response"]["id"])

    async def second(talker: Talker) -> None:
        (error,) = await talker.ask(input="y", previous_response_id=names[0])
        assert (error["status"], error["error"]["code"]) == (400, "previous_response_not_found")
        assert (await talker.ask(input="y"))[-1]["type"] == "response.completed"

    with served(turns=[{"text": "a"}], otherwise="repeat") as (_, url):
        talk(url, first)
        talk(url, second)


def test_what_is_no_frame_of_this_mode_is_refused() -> None:
    async def story(talker: Talker) -> None:
        await talker.socket.send("{")
        assert (await talker.rest())[-1]["error"]["code"] == "invalid_json"
        await talker.socket.send('{"type": "response.destroy"}')
        assert (await talker.rest())[-1]["error"]["code"] == "invalid_value"
        steer = {"type": "response.steer", "previous_response_id": "resp_1", "input": "left"}
        await talker.socket.send(json.dumps(steer))
        assert (await talker.rest())[-1]["error"]["code"] == "response_already_completed"
        await talker.socket.ping()

    with served() as (_, url):
        talk(url, story)


@pytest.mark.parametrize("how", ["fin", "reset"])
def test_a_cut_ends_the_connection(how: str) -> None:
    async def story(talker: Talker) -> None:
        with pytest.raises(websockets.ConnectionClosedError):
            await talker.ask(input="x")

    fault = {"kind": "cut", "after_events": 3, "how": how}
    with served(turns=[{"text": "a b c", "fault": fault}]) as (simulator, url):
        talk(url, story)
        assert simulator.account("sk-test").journal.exchanges[0].ended == "cut"


def test_limits_are_told_in_the_frame() -> None:
    async def story(talker: Talker) -> None:
        await talker.ask(input="x")
        (error,) = await talker.ask(input="x")
        assert (error["status"], error["error"]["type"]) == (429, "requests")
        assert error["headers"]["retry-after-ms"]

    with served(turns=[{"text": "a"}], otherwise="repeat", limits={"rpm": 1}) as (_, url):
        talk(url, story)
