"""What an error is, and what claw would do about it: the words of `claw error explain`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from claw.core.classify import classify
from claw.core.commands import Action
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.policy import Decision, Rules, Situation, decide
from claw.core.window import DEFAULT_OUTPUT


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """`retry_after`: seconds that the other side asked for, or None; `why`: one sentence for people."""

    kind: FailureKind
    retry_after: float | None
    replay_safe: bool
    action: Action
    why: str


def explain(
    provider: str | None,
    status: int | None,
    headers: Mapping[str, str] | None,
    body: Any,
    *,
    now: float | None = None,
    rules: Rules | None = None,
) -> Explanation:
    """Judge an error as with one profile, no fallback and nothing delivered.

    `status` None or a 2xx: the failure came inside a stream or from a process; `body`: text, bytes or decoded JSON;
    `now` (Unix seconds) turns a date in `retry-after` into seconds. Never raises.
    """
    # What a stream tells in its own form may pass; words of a process that nobody knows are no reason to repeat it.
    told = status is not None or not isinstance(body, str | bytes)
    in_stream = told and (status is None or status < 300)
    failure = classify(provider, status, headers, body, in_stream=in_stream, now=now)
    decision = decide(failure, _alone(provider, failure), rules or Rules())
    return Explanation(
        kind=failure.kind,
        retry_after=failure.retry_after,
        replay_safe=failure.replay_safe,
        action=decision.action,
        why=_why(failure, decision),
    )


def _alone(provider: str | None, failure: ProviderFailure) -> Situation:
    """Only a CLI, or a conversation that the provider keeps, has a session that can be missing."""
    cli = (provider or "").lower().endswith("-cli") or failure.kind is FailureKind.SESSION_EXPIRED
    asked = failure.asked or DEFAULT_OUTPUT
    if failure.kind is FailureKind.OUTPUT_BUDGET and failure.limit is not None:
        asked = failure.asked or max(asked, failure.limit - (failure.tokens or 0) + 1)  # it must have been more
    return Situation(cli=cli, max_tokens=asked, levels_tried=("off",))


def _why(failure: ProviderFailure, decision: Decision) -> str:
    said = f": {failure.message}" if failure.message else ""
    return f"{_MEANING[failure.kind]}{said} — {decision.why}"


_MEANING: Mapping[FailureKind, str] = {
    FailureKind.RATE_LIMITED: "a limit on how much may be asked in a time",
    FailureKind.OVERLOADED: "the provider is short of capacity",
    FailureKind.SERVER_ERROR: "the provider failed",
    FailureKind.CONTEXT_OVERFLOW: "the input does not fit the model's window",
    FailureKind.OUTPUT_BUDGET: "the input fits, the answer asked for does not",
    FailureKind.AUTH: "the credential is refused",
    FailureKind.BILLING: "the account cannot pay for it",
    FailureKind.TIMEOUT: "no answer came in time",
    FailureKind.TRUNCATED: "the answer was cut off",
    FailureKind.TRANSPORT: "the connection, or something in between, failed",
    FailureKind.BAD_REQUEST: "the request itself is wrong",
    FailureKind.POISONED_HISTORY: "something in the conversation is refused",
    FailureKind.MODEL_NOT_FOUND: "there is no such model for this account",
    FailureKind.SESSION_EXPIRED: "the session that it was to go on with is gone",
    FailureKind.EMPTY_RESPONSE: "an answer without content",
    FailureKind.REFUSED: "the provider or its model declines to answer",
}
