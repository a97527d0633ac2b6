"""Something in between sends the client elsewhere: a captive portal, a proxy that wants a login."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Chunk, Head, WireEvent

KIND = "redirect"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`location` is a path of the simulator unless it is said, so that following it leaves no machine."""

    status: int = 302
    location: str = "/login"


def admit(params: Params, context: FaultContext) -> Iterator[WireEvent]:
    """A redirect without a body."""
    return iter((Head(params.status, (("location", params.location), ("content-length", "0"))), Chunk(b"")))
