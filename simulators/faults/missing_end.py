"""The terminator of the stream is missing; everything else is there."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import WireEvent
from simulators.faults._events import NoParams, before_last, in_pieces, split_head

KIND = "missing_end"
PHASE: Phase = "wire"

Params = NoParams


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """All events but the last; a body in one piece is left alone."""
    front, head = split_head(events)
    yield from front
    yield from before_last(events) if head is not None and in_pieces(context) else events
