"""Lines end in CR LF, which the standard allows."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import NoParams

KIND = "crlf"
PHASE: Phase = "wire"

Params = NoParams


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events with other line ends."""
    for event in events:
        yield Chunk(event.data.replace(b"\n", b"\r\n"), event.event) if isinstance(event, Chunk) else event
