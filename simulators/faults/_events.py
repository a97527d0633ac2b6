"""What wire faults share: the head of an answer, its events counted, their JSON."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from simulators.core.fault import FaultContext
from simulators.core.wire import Chunk, Head, WireEvent


class AfterEvents(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Parameters of a fault that strikes after so many wire events, the first included, pings not counted."""

    after_events: int = 4


class NoParams(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A fault that has nothing to say."""


def is_ping(chunk: Chunk) -> bool:
    """Whether an event keeps the connection alive and says nothing."""
    return chunk.event == "ping" or chunk.data.startswith(b":")


def in_pieces(context: FaultContext) -> bool:
    """Whether the answer comes as it is made, an object a chunk: as server-sent events, or as one JSON array."""
    return context.call.stream


def is_stream(head: Head) -> bool:
    """Whether the answer is a stream of server-sent events."""
    return any(name == "content-type" and value.startswith("text/event-stream") for name, value in head.headers)


def split_head(events: Iterator[WireEvent]) -> tuple[list[WireEvent], Head | None]:
    """Everything up to the final head, taken off the front of `events`."""
    front: list[WireEvent] = []
    for event in events:
        front.append(event)
        if isinstance(event, Head) and event.status >= 200:
            return front, event
    return front, None


def numbered(events: Iterator[WireEvent]) -> Iterator[tuple[int, WireEvent]]:
    """Each event with the number of counted chunks up to and including it."""
    count = 0
    for event in events:
        if isinstance(event, Chunk) and not is_ping(event):
            count += 1
        yield count, event


def before_last(events: Iterator[WireEvent]) -> Iterator[WireEvent]:
    """All events but the last chunk and what follows it."""
    held: list[WireEvent] = []
    for event in events:
        if isinstance(event, Chunk) and not is_ping(event):
            yield from held
            held = [event]
        elif held:
            held.append(event)
        else:
            yield event


def edit_next(
    events: Iterator[WireEvent], after: int, edit: Callable[[Chunk], Iterator[WireEvent]]
) -> Iterator[WireEvent]:
    """Head first; the chunk after `after` counted ones is replaced by what `edit` makes of it.

    An answer with fewer is struck at its last chunk, a body that comes in one piece at that piece.
    """
    done = False
    held: Chunk | None = None
    for number, event in numbered(events):
        if done or not isinstance(event, Chunk) or is_ping(event):
            if held is not None:
                yield held
                held = None
            yield event
            continue
        if held is not None:
            yield held
            held = None
        if number > after:
            done = True
            yield from edit(event)
        else:
            held = event  # it may turn out to be the last
    if held is not None:
        yield from edit(held)


def edit_json(data: bytes, edit: Callable[[Any], Any]) -> bytes:
    """The bytes of a JSON body, of an SSE event or of a piece of an array with its JSON object changed; anything else
    as it is."""
    start, end = data.find(b"{"), data.rfind(b"}") + 1
    if start < 0:
        return data
    try:
        value = msgspec.json.decode(data[start:end])
    except msgspec.DecodeError:
        return data  # several objects, or none
    return data[:start] + msgspec.json.encode(edit(value)) + data[end:]
