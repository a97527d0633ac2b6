"""The official Anthropic SDK before the simulators: every door gives it the same bytes, breaks and timeouts."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from simulators import Simulator
from simulators.shells.serving import ServedOnThread
from simulators.shells.virtual_time import EPOCH, VirtualClock, run

ASK: dict[str, Any] = {
    "model": "sim-test",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "What is in the notes?"}],
    "tools": [{"name": "read", "description": "Read a file", "input_schema": {"type": "object"}}],
}
TURN = {
    "thinking": "The notes will say.",
    "text": "I'll read them: \u201cnotes\u201d \U0001f600.",
    "tool_calls": [{"name": "read", "input": {"path": "notes.md", "lines": [1, 20]}}],
}
EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
FRAMING = {"transfer-encoding", "connection", "content-length"}

Play = Callable[..., Any]


@pytest.fixture(params=["in process", "HTTP"])
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def simulated(door: str, document: dict[str, Any]) -> Iterator[tuple[Simulator, dict[str, Any], dict[str, Any]]]:
    """A simulator with one account, and what a sync and an async SDK client need to reach it."""
    simulator = Simulator(seed=7, clock=VirtualClock())
    simulator.account("sk-test").load({"tokenizer": "words", **document})
    options: dict[str, Any] = {"api_key": "sk-test", "max_retries": 0}
    if door == "in process":
        transport = simulator.transport()
        yield (
            simulator,
            {**options, "http_client": httpx2.Client(transport=transport)},
            {**options, "http_client": httpx2.AsyncClient(transport=transport)},
        )
        return
    with ServedOnThread(simulator.app()) as served:
        yield simulator, {**options, "base_url": served.url}, {**options, "base_url": served.url}


def play(door: str, way: str, document: dict[str, Any], sync: Play, asynchronous: Play) -> tuple[Any, Simulator]:
    """Run `sync(client)` or `await asynchronous(client)`; in process the async one under virtual time."""
    with simulated(door, document) as (simulator, options, async_options):
        if way == "sync":
            with anthropic.Anthropic(**options) as client:
                return sync(client), simulator

        async def main() -> Any:
            async with anthropic.AsyncAnthropic(**async_options) as client:
                return await asynchronous(client)

        return (run(main()) if door == "in process" else asyncio.run(main())), simulator


def raw(door: str, way: str, document: dict[str, Any], **options: Any) -> tuple[int, list[tuple[str, str]], bytes]:
    """Status, headers (without framing, order kept) and the bytes of the body."""

    def keep(response: Any) -> tuple[int, list[tuple[str, str]]]:
        return response.status_code, [h for h in response.headers.multi_items() if h[0] not in FRAMING]

    def sync(client: Any) -> Any:
        with client.messages.with_streaming_response.create(**ASK, **options) as response:
            return *keep(response), b"".join(response.iter_bytes())

    async def asynchronous(client: Any) -> Any:
        async with client.messages.with_streaming_response.create(**ASK, **options) as response:
            return *keep(response), b"".join([piece async for piece in response.iter_bytes()])

    return play(door, way, document, sync, asynchronous)[0]  # type: ignore[no-any-return]


def events(door: str, way: str, document: dict[str, Any], **options: Any) -> tuple[list[Any], Simulator]:
    """The events that the SDK yields, and at last the exception if there was one."""

    def sync(client: Any) -> list[Any]:
        seen: list[Any] = []
        try:
            seen.extend(client.messages.create(**ASK, stream=True, **options))  # keeps what came before an exception
        except Exception as error:
            seen.append(error)
        return seen

    async def asynchronous(client: Any) -> list[Any]:
        seen: list[Any] = []
        try:
            async for event in await client.messages.create(**ASK, stream=True, **options):
                seen.append(event)  # noqa: PERF401
        except Exception as error:
            seen.append(error)
        return seen

    found, simulator = play(door, way, document, sync, asynchronous)
    return found, simulator


def answer(door: str, way: str, document: dict[str, Any], **options: Any) -> tuple[Any, Simulator]:
    """The message, or the exception."""

    def sync(client: Any) -> Any:
        try:
            return client.messages.create(**ASK, **options)
        except Exception as error:
            return error

    async def asynchronous(client: Any) -> Any:
        try:
            return await client.messages.create(**ASK, **options)
        except Exception as error:
            return error

    return play(door, way, document, sync, asynchronous)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_every_door_gives_the_same_bytes(stream: bool) -> None:
    """Sync and async, in process and over HTTP: status, headers and body are one and the same."""
    seen = [
        raw(door, way, {"turns": [TURN]}, stream=stream) for door in ("in process", "HTTP") for way in ("sync", "async")
    ]
    assert seen[0][0] == 200
    assert len(seen[0][2]) > 500
    assert all(other == seen[0] for other in seen[1:])


def test_every_event_is_one_that_the_sdk_declares(door: str, way: str) -> None:
    """The SDK builds its events without validation; so they are validated here, field by field."""
    found, _ = events(door, way, {"turns": [TURN]})
    kinds = [event.type for event in found]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 3
    for event in found:
        assert EVENT.validate_python(event.model_dump(), strict=True) == event


def test_a_stream_adds_up_to_the_whole_answer(door: str, way: str) -> None:
    def sync(client: Any) -> Message:
        with client.messages.stream(**ASK) as stream:
            return stream.get_final_message()  # type: ignore[no-any-return]

    async def asynchronous(client: Any) -> Message:
        async with client.messages.stream(**ASK) as stream:
            return await stream.get_final_message()  # type: ignore[no-any-return]

    streamed, _ = play(door, way, {"turns": [TURN]}, sync, asynchronous)
    whole, _ = answer(door, way, {"turns": [TURN]})
    assert whole.content[1].text == TURN["text"]
    assert whole.content[2].input == {"path": "notes.md", "lines": [1, 20]}
    assert streamed.model_dump(exclude={"parsed_output"})["content"] == whole.model_dump()["content"]
    assert (streamed.usage.input_tokens, streamed.usage.output_tokens) == (
        whole.usage.input_tokens,
        whole.usage.output_tokens,
    )


def test_a_hang_becomes_a_timeout_without_waiting(way: str) -> None:
    """The SDK's 600 seconds pass at once; the journal says that the client left."""
    started = time.perf_counter()
    error, simulator = answer("in process", way, {"turns": [TURN], "faults": [{"kind": "hang"}], "unused": "allow"})
    assert isinstance(error, anthropic.APITimeoutError)
    assert simulator.now() == EPOCH + 600
    assert simulator.account("sk-test").journal.exchanges[-1].ended == "client_gone"
    assert time.perf_counter() - started < 2


def test_a_stall_in_the_middle_becomes_a_read_timeout_without_waiting(way: str) -> None:
    """What came before is delivered; the SDK passes the transport's own exception on."""
    stalled = {"turns": [{**TURN, "fault": {"kind": "stall", "after_events": 3}}]}
    found, simulator = events("in process", way, stalled, timeout=30)
    assert [getattr(event, "type", None) for event in found[:3]] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
    ]
    assert isinstance(found[-1], httpx2.ReadTimeout)
    assert len(found) == 4
    assert simulator.now() == EPOCH + 30


def test_retry_after_is_waited_for_in_virtual_time() -> None:
    """The SDK sleeps an hour if it is told so."""
    document = {"turns": [{"error": {"kind": "rate_limited", "retry_after": 3600}}, TURN]}

    async def asynchronous(client: Any) -> Any:
        async with asyncio.timeout(4000):
            return await client.with_options(max_retries=1).messages.create(**ASK)

    whole, simulator = play("in process", "async", document, lambda _: None, asynchronous)
    assert whole.content[1].text == TURN["text"]
    assert simulator.now() == EPOCH + 3600


def test_the_sdks_first_call_fires_no_timer() -> None:
    """It looks at the platform in a thread; the clock stands still meanwhile."""

    async def asynchronous(client: Any) -> Any:
        async with asyncio.timeout(0.001):
            return await client.messages.create(**ASK)

    whole, _ = play("in process", "async", {"turns": [TURN]}, lambda _: None, asynchronous)
    assert whole.stop_reason == "tool_use"


BREAKS: dict[str, tuple[dict[str, Any], type[Exception] | None]] = {
    "truncate": ({"kind": "truncate", "after_events": 3}, None),  # a clean end: the SDK says nothing
    "closed": ({"kind": "cut", "after_events": 3, "how": "fin"}, httpx2.RemoteProtocolError),
    "cut": ({"kind": "cut", "after_events": 3, "how": "reset"}, httpx2.ReadError),
    "error event": ({"kind": "error_event", "after_events": 3}, anthropic.APIStatusError),
    "reset": ({"kind": "reset"}, anthropic.APIConnectionError),
    "empty": ({"kind": "empty"}, None),
}


@pytest.mark.parametrize(("fault", "kind"), BREAKS.values(), ids=BREAKS.keys())
def test_a_broken_stream_looks_the_same_through_both_doors(
    way: str, fault: dict[str, Any], kind: type[Exception] | None
) -> None:
    """Same events, same exception, same words, same end in the journal."""
    told = []
    for door in ("in process", "HTTP"):
        found, simulator = events(door, way, {"turns": [TURN], "faults": [fault], "unused": "allow"})
        error = found.pop() if found and isinstance(found[-1], Exception) else None
        assert (type(error) if error else None) is kind or (kind and isinstance(error, kind))
        exchange = simulator.account("sk-test").journal.exchanges[-1]
        words = [str(error), str(error.__cause__ if isinstance(error, anthropic.APIError) else "")]
        told.append((found, words, exchange.ended, exchange.answered_by, exchange.status))
    assert told[0] == told[1]
