"""A stream that began with 200 fails in the middle, and says so in the vendor's way."""

import re
from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.turn import Failure
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import before_last, in_pieces, numbered, split_head

KIND = "error_event"
PHASE: Phase = "wire"
_NUMBER = re.compile(rb'"sequence_number": ?(\d+)')


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """After `after_events` wire events the failure `error` (a kind, as the dialect words it) with `message`."""

    after_events: int = 4
    error: str = "overloaded"
    message: str = ""


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """What came through, then the error, then nothing. An answer in one piece has no such event and is left alone."""
    front, head = split_head(events)
    yield from front
    if head is None or not in_pieces(context):
        yield from events
        return
    said, last = 0, b""
    for number, event in numbered(before_last(events)):
        if number > params.after_events:
            break
        said, last = number, event.data if isinstance(event, Chunk) else last
        yield event
    error = context.dialect.error_event(Failure(kind=params.error, message=params.message), context.stamp)
    if context.call.framing == "array" and not said:
        error = Chunk(b"[" + error.data.lstrip(b",\r\n"), error.event)  # the first of the array
    yield Chunk(_continued(error.data, last), error.event)


def _continued(data: bytes, last: bytes) -> bytes:
    """The event with the number after that of the last one, where events are numbered."""
    found = _NUMBER.search(last)
    return data if found is None else _NUMBER.sub(b'"sequence_number":%d' % (int(found[1]) + 1), data)
