"""The service is busy, whatever this account may still ask for."""

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.turn import Failure

KIND = "overloaded"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`retry_after` in seconds; none is sent unless it is said."""

    retry_after: float | None = None


def admit(params: Params, context: FaultContext) -> Failure:
    """The dialect's words for an overloaded service."""
    return Failure(kind=KIND, retry_after=params.retry_after)
