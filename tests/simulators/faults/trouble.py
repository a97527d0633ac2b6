"""Plumbing of these tests: an answer with a fault on it, without an engine."""

from collections.abc import Iterator
from typing import Any

import msgspec

from simulators import faults
from simulators.core.fault import FaultContext, ShapedTurn
from simulators.core.turn import Failure, ModelCall, ModelTurn, Stamp, Tokens, ToolCall
from simulators.core.wire import Abort, Chunk, Head, Wait, WireEvent
from simulators.dialects.anthropic import DIALECT

STAMP = Stamp(request_id="r" * 20, message_id="m" * 22, now=1_767_225_600.0, tool_ids=("a" * 22, "b" * 22))
TOKENS = Tokens(input=10, cache_read=5, output=7)
READ = ToolCall(name="read", input={"path": "notes.md"})
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
JSON = (("content-type", "application/json"),)
FAULTS = faults.load()


def context(*, stream: bool = True) -> FaultContext:
    call = ModelCall(dialect="anthropic", operation="generate", model="claude-sonnet-4-5", stream=stream)
    return FaultContext(call=call, dialect=DIALECT, stamp=STAMP, chance=lambda purpose: 0.5)


def params(kind: str, given: dict[str, Any]) -> Any:
    return msgspec.convert(given, FAULTS[kind].Params)


def answer(turn: ModelTurn | None = None, *, stream: bool = True) -> list[WireEvent]:
    """An ordinary answer: six words in a stream of ten events, or one body."""
    turn = turn or ModelTurn(text="one two three four five six", stop="end_turn")
    call = context(stream=stream).call
    if not stream:
        return [Head(200, JSON), Chunk(DIALECT.encode_json(call, turn, TOKENS, STAMP))]
    return [Head(200, SSE), *DIALECT.encode_stream(call, turn, TOKENS, STAMP)]


def struck(kind: str, *, stream: bool = True, turn: ModelTurn | None = None, **given: Any) -> list[WireEvent]:
    """The events of that answer with a wire fault on it."""
    events: Iterator[WireEvent] = iter(answer(turn, stream=stream))
    return list(FAULTS[kind].frames(params(kind, given), events, context(stream=stream)))


def admitted(kind: str, *, stream: bool = True, **given: Any) -> Failure | list[WireEvent]:
    """What an admission fault answers."""
    outcome = FAULTS[kind].admit(params(kind, given), context(stream=stream))
    return outcome if isinstance(outcome, Failure) else list(outcome)


def shaped(kind: str, turn: ModelTurn, **given: Any) -> ShapedTurn:
    """What a turn fault makes of a turn."""
    return FAULTS[kind].turn(params(kind, given), turn, TOKENS, context())


def names(events: list[WireEvent]) -> list[str]:
    """The story of an answer: event names, `head`, `wait`, `abort`."""
    told = []
    for event in events:
        if isinstance(event, Chunk):
            told.append(event.event or "body")
        else:
            told.append({Head: "head", Wait: "wait", Abort: "abort"}[type(event)])
    return told


def body(events: list[WireEvent]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Chunk))
