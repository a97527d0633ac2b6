"""The stream holds an event of a kind that no client knows yet."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import is_stream, numbered, split_head

KIND = "unknown_event"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`name` of the event, which comes after `after_events` others."""

    after_events: int = 1
    name: str = "content_block_annotation"


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events and one more, between two others."""
    front, head = split_head(events)
    yield from front
    stranger = Chunk(b"event: %b\ndata: %b\n\n" % (params.name.encode(), msgspec.json.encode({"type": params.name})))
    waiting = head is not None and is_stream(head)
    for number, event in numbered(events):
        if waiting and number > params.after_events:
            waiting = False
            yield stranger
        yield event
