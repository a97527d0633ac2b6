"""The stream stops in the middle and the connection stays open."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, Wait, WireEvent
from simulators.faults._events import edit_next

KIND = "stall"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """After `after_events` wire events nothing comes for `seconds` (forever unless it is said), then the rest."""

    after_events: int = 4
    seconds: float = float("inf")


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events with a silence in between; pings fall silent too."""

    def wait(chunk: Chunk) -> Iterator[WireEvent]:
        yield Wait(params.seconds)
        yield chunk

    return edit_next(events, params.after_events, wait)
