"""Reads end in the middle of characters."""

from collections.abc import Iterator

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, WireEvent
from simulators.faults._events import NoParams

KIND = "split_utf8"
PHASE: Phase = "wire"

Params = NoParams


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """Each chunk in two, cut inside its first character of several bytes; without one, in the middle."""
    for event in events:
        if not isinstance(event, Chunk) or len(event.data) < 2:
            yield event
            continue
        at = next((i + 1 for i, byte in enumerate(event.data) if byte >= 0xC0), len(event.data) // 2)
        yield Chunk(event.data[:at], event.event)
        yield Chunk(event.data[at:], event.event)
