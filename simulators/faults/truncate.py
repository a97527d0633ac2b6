"""The answer ends cleanly, but too early: no terminator, as if everything had been said."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import AfterEvents, before_last, in_pieces, numbered, split_head

KIND = "truncate"
PHASE: Phase = "wire"

Params = AfterEvents


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The first `after_events` events, never the last one; of a body in one piece, half of it."""
    front, head = split_head(events)
    yield from front
    if head is not None and not in_pieces(context):
        for event in events:
            yield Chunk(event.data[: len(event.data) // 2], event.event) if isinstance(event, Chunk) else event
        return
    for number, event in numbered(before_last(events)):
        if number > params.after_events:
            return
        yield event
