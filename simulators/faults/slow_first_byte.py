"""The answer is right and takes its time to begin."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Wait, WireEvent

KIND = "slow_first_byte"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`seconds` until the head leaves."""

    seconds: float = 30.0


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same events after a wait."""
    yield Wait(params.seconds)
    yield from events
