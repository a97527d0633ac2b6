"""A rate limit that the account has not reached."""

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.turn import Failure

KIND = "rate_limited"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`retry_after` in seconds, 1 unless said otherwise; null sends none."""

    retry_after: float | None = 1.0


def admit(params: Params, context: FaultContext) -> Failure:
    """The dialect's words for a rate limit."""
    return Failure(kind=KIND, retry_after=params.retry_after)
