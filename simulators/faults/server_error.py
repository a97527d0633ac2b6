"""Something broke inside the service."""

import msgspec

from simulators.core.fault import FaultContext, Phase
from simulators.core.turn import Failure

KIND = "server_error"
PHASE: Phase = "admission"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`status`: another one than the vendor's usual (502, 503, 504); `retry_after` in seconds."""

    status: int | None = None
    retry_after: float | None = None


def admit(params: Params, context: FaultContext) -> Failure:
    """The dialect's words for an internal error."""
    return Failure(kind=KIND, status=params.status, retry_after=params.retry_after)
