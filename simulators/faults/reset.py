"""The connection is reset before a single byte of the answer."""

from collections.abc import Iterator

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.wire import Abort, WireEvent

KIND = "reset"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Nothing to say."""


def admit(params: Params, context: FaultContext) -> Iterator[WireEvent]:
    """A reset instead of a head."""
    return iter((Abort("reset"),))
