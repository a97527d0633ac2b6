"""A compressed answer whose end is missing."""

import zlib
from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, Head, WireEvent
from simulators.faults._events import NoParams

KIND = "truncated_gzip"
PHASE: Phase = "wire"

Params = NoParams


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The body as gzip without its last bytes; whatever the client said it accepts."""
    packer = zlib.compressobj(wbits=31)
    for event in events:
        if isinstance(event, Head):
            yield Head(event.status, (*event.headers, ("content-encoding", "gzip")))
        elif isinstance(event, Chunk):
            yield Chunk(packer.compress(event.data) + packer.flush(zlib.Z_SYNC_FLUSH), event.event)
        else:
            yield event
    # `flush()` would give the last block, the checksum and the length: they never come.
