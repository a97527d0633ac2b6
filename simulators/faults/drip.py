"""The answer comes so slowly that no read times out and no one is served."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, Wait, WireEvent

KIND = "drip"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`bytes_per_s` of body."""

    bytes_per_s: float = 100.0


_PIECES_PER_S = 10


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """Every chunk in small pieces, ten a second."""
    size = max(1, int(params.bytes_per_s / _PIECES_PER_S))
    for event in events:
        if not isinstance(event, Chunk):
            yield event
            continue
        for at in range(0, len(event.data), size):
            piece = event.data[at : at + size]
            yield Wait(len(piece) / params.bytes_per_s)
            yield Chunk(piece, event.event)
