"""One event of the stream has lost its framing."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import AfterEvents, edit_next

KIND = "malformed_sse"
PHASE: Phase = "wire"

Params = AfterEvents


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events; the one after `after_events` has its `data:` misspelt, so that no client finds it."""
    return edit_next(events, params.after_events, _unframed)


def _unframed(chunk: Chunk) -> Iterator[WireEvent]:
    yield Chunk(chunk.data.replace(b"data: ", b"dat\x00 ", 1), chunk.event)
