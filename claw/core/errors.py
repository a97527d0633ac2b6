"""Why a model call failed. Told once, at the edge (an adapter or a CLI back end); nobody matches text after that."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from claw.core.thinking import Thinking


class FailureKind(StrEnum):
    """The vocabulary of failures; every word is used in journals, reports, scenarios and the error catalogue."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    CONTEXT_OVERFLOW = "context_overflow"  # the input alone does not fit
    OUTPUT_BUDGET = "output_budget"  # the input fits, max_tokens does not
    AUTH = "auth"
    BILLING = "billing"
    TIMEOUT = "timeout"
    TRUNCATED = "truncated"  # a stream that ended without its terminator
    TRANSPORT = "transport"
    BAD_REQUEST = "bad_request"
    POISONED_HISTORY = "poisoned_history"  # the transcript itself is refused; sending it again cannot help
    MODEL_NOT_FOUND = "model_not_found"
    SESSION_EXPIRED = "session_expired"
    EMPTY_RESPONSE = "empty_response"
    REFUSED = "refused"


HTTP_STATUS: Mapping[FailureKind, int] = {
    FailureKind.RATE_LIMITED: 429,
    FailureKind.OVERLOADED: 503,
    FailureKind.SERVER_ERROR: 502,
    FailureKind.CONTEXT_OVERFLOW: 413,
    FailureKind.OUTPUT_BUDGET: 400,
    FailureKind.AUTH: 401,
    FailureKind.BILLING: 402,
    FailureKind.TIMEOUT: 408,
    FailureKind.TRUNCATED: 502,
    FailureKind.TRANSPORT: 502,
    FailureKind.BAD_REQUEST: 400,
    FailureKind.POISONED_HISTORY: 400,
    FailureKind.MODEL_NOT_FOUND: 404,
    FailureKind.SESSION_EXPIRED: 410,
    FailureKind.EMPTY_RESPONSE: 502,
    FailureKind.REFUSED: 403,
}  # what a failure is when it is passed on over HTTP


class ProviderFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One classified failure.

    `retry_after` in seconds as the other side asked; `replay_safe` false when something was already delivered or done;
    `tokens` and `limit` are the numbers of an overflow message when it has them: what the input takes and what fits, so
    that `limit - tokens` is the room for output; `asked` the output that was wanted, if told;
    `hopeless` means that no waiting on this account helps (a revoked key,
    a daily quota, a request larger than the rate limit): rotate or fall back at once.
    `levels`: of thinking, that the refusal of one says are supported.
    `raw` is what came, no secrets.
    """

    kind: FailureKind
    message: str = ""
    status: int | None = None
    retry_after: float | None = None
    replay_safe: bool = True
    tokens: int | None = None
    limit: int | None = None
    asked: int | None = None
    hopeless: bool = False
    levels: tuple[Thinking, ...] = ()
    raw: dict[str, Any] = {}


class ProviderError(Exception):
    """How an adapter says that a call failed."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.message or failure.kind.value)
        self.failure = failure


class ClawError(Exception):
    """Bad input of a user: says the file, the place and the remedy. Ends a command with exit code 2."""
