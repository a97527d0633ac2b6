"""Two events come in the wrong order."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import AfterEvents, is_ping, numbered

KIND = "reordered_deltas"
PHASE: Phase = "wire"

Params = AfterEvents


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The two events after `after_events` change places; with fewer, none does."""
    held: Chunk | None = None
    for number, event in numbered(events):
        if isinstance(event, Chunk) and not is_ping(event):
            if number == params.after_events + 1:
                held = event
                continue
            if held is not None and number == params.after_events + 2:
                yield event
                yield held
                held = None
                continue
        yield event
    if held is not None:
        yield held
