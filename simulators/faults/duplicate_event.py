"""One event comes twice."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import AfterEvents, edit_next

KIND = "duplicate_event"
PHASE: Phase = "wire"

Params = AfterEvents


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events; the one after `after_events` is repeated."""
    return edit_next(events, params.after_events, _twice)


def _twice(chunk: Chunk) -> Iterator[WireEvent]:
    yield chunk
    yield chunk
