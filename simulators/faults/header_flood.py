"""The answer has more headers than a client may want to read."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Head, WireEvent

KIND = "header_flood"
PHASE: Phase = "wire"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`count` headers of `bytes` each."""

    count: int = 200
    bytes: int = 100


def frames(params: Params, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
    """The same answer with that many more headers."""
    extra = tuple((f"x-flood-{number}", "x" * params.bytes) for number in range(params.count))
    for event in events:
        if isinstance(event, Head) and event.status >= 200:
            yield Head(event.status, (*event.headers, *extra))
        else:
            yield event
