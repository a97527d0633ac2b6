"""The first event of the stream is missing."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import NoParams, in_pieces, split_head

KIND = "missing_start"
PHASE: Phase = "wire"

Params = NoParams


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """All events but the first; a body in one piece is left alone."""
    front, head = split_head(events)
    yield from front
    dropped = head is None or not in_pieces(context)
    for event in events:
        if not dropped and isinstance(event, Chunk):
            dropped = True
            continue
        yield event
