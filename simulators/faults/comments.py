"""Comment lines between the events, as proxies send them to keep a connection alive."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import is_stream, split_head

KIND = "comments"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`text` of each comment."""

    text: str = "keep-alive"


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """A comment before every event."""
    front, head = split_head(events)
    yield from front
    comment = Chunk(f": {params.text}\n\n".encode(), "ping")
    for event in events:
        if head is not None and is_stream(head) and isinstance(event, Chunk):
            yield comment
        yield event
