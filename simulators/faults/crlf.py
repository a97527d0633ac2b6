"""Lines end in CR LF, which the standard allows."""

import re
from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import NoParams

KIND = "crlf"
PHASE: Phase = "wire"

Params = NoParams
_LINE_END = re.compile(rb"(?<!\r)\n")  # some vendors send CR LF anyway


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events with other line ends."""
    for event in events:
        yield Chunk(_LINE_END.sub(b"\r\n", event.data), event.event) if isinstance(event, Chunk) else event
