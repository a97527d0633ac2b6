"""The connection breaks in the middle of an answer."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Abort, Chunk, WireEvent
from simulators.faults._events import before_last, in_pieces, numbered, split_head

KIND = "cut"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`after_events` wire events come through; `how` it breaks: `reset`, or `fin` (closed, the body unfinished)."""

    after_events: int = 4
    how: Literal["reset", "fin"] = "reset"


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """What came through, then the break; of a body in one piece, half of it comes through."""
    front, head = split_head(events)
    yield from front
    if head is not None and not in_pieces(context):
        for event in events:
            yield Chunk(event.data[: len(event.data) // 2], event.event) if isinstance(event, Chunk) else event
        yield Abort(params.how)
        return
    for number, event in numbered(before_last(events)):
        if number > params.after_events:
            break
        yield event
    yield Abort(params.how)
