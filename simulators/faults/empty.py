"""An answer without a body."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, Head, WireEvent

KIND = "empty"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`status`: 200 unless it is said."""

    status: int = 200


def admit(params: Params, context: FaultContext) -> Iterator[WireEvent]:
    """A head with the content type that was asked for, and nothing after it."""
    kind = "text/event-stream; charset=utf-8" if context.call.stream else "application/json"
    return iter((Head(params.status, (("content-type", kind), ("content-length", "0"))), Chunk(b"")))
