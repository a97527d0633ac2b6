"""Informational heads (1xx) come before the answer, which HTTP allows and clients forget."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Head, WireEvent

KIND = "informational"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`status` of the heads and how many of them."""

    status: int = 103
    times: int = 2


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same answer after `times` informational heads."""
    for _ in range(params.times):
        yield Head(params.status, (("link", "</style.css>; rel=preload"),) if params.status == 103 else ())
    yield from events
