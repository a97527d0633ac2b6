"""The request is taken and never answered."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Abort, Wait, WireEvent

KIND = "hang"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`seconds` until the connection is closed without an answer; forever unless it is said."""

    seconds: float = float("inf")


def admit(params: Params, context: FaultContext) -> Iterator[WireEvent]:
    """Silence."""
    return iter((Wait(params.seconds), Abort("fin")))
