"""One event, or the body, is not the JSON that it should be."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import AfterEvents, edit_next

KIND = "malformed_json"
PHASE: Phase = "wire"

Params = AfterEvents


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events; the one after `after_events` lacks the second half of its JSON."""
    return edit_next(events, params.after_events, _broken)


def _broken(chunk: Chunk) -> Iterator[WireEvent]:
    body = chunk.data.rstrip(b"\n")
    start = body.find(b"{")
    kept = body[: start + max(1, (len(body) - start) // 2)]
    yield Chunk(kept + chunk.data[len(body) :], chunk.event)
