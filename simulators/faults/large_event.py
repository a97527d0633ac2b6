"""One event, or the body, is far larger than buffers are."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import edit_next

KIND = "large_event"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`bytes` that the event after `after_events` has at least."""

    after_events: int = 1
    bytes: int = 1_048_576


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events; one is filled with spaces before its last brace, which JSON allows."""

    def filled(chunk: Chunk) -> Iterator[WireEvent]:
        head, brace, tail = chunk.data.rpartition(b"}")
        missing = max(0, params.bytes - len(chunk.data))
        yield Chunk(head + b" " * missing + brace + tail, chunk.event)

    return edit_next(events, params.after_events, filled)
