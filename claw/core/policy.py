"""What to do about a failure. One table, one budget a run, and every decision says why.

The order of remedies for a kind is written down in `REMEDIES`; the first one that is open in the `Situation` is taken.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from claw.core.calls import Thinking
from claw.core.commands import Action
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.refused_image import refused_image

USEFUL_OUTPUT = 1_024  # tokens; an answer with less room than this is not worth asking for


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The knobs. Seconds and counts; `compactions` is how many in a row, without an answer between, are tried."""

    attempts: int = 8
    seconds: float = 600.0
    base_s: float = 1.0
    cap_s: float = 30.0
    patience_s: float = 10.0
    compactions: int = 3
    empty_answers: int = 1
    honour_retry_after: bool = True
    compact: bool = True
    retract: bool = True
    switch_after: int = 3  # failures in a row of one model, before a fallback model is asked


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """Where the run stands. `in_row` counts failures of this target and profile since an answer, this one included."""

    delivered: bool = False
    summary: bool = False  # the call was for a summary
    cli: bool = False
    in_row: int = 1
    attempts_used: int = 0
    seconds_used: float = 0.0
    spare_profile: bool = False
    fallback: bool = False
    fallback_elsewhere: bool = False  # at another provider
    fallback_larger: bool = False  # with a larger window
    oversized: bool = False  # there are tool results that could be cut
    levels_tried: tuple[Thinking, ...] = ()
    compactions: int = 0
    max_tokens: int = 0
    repaired: bool = False
    reseeded: bool = False
    draw: float = 0.5  # [0, 1), for jitter


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`wait_s` before the next try; `max_tokens` when they are lowered; `why` is one sentence for people.

    `mend` says what a `repair` repairs: the history, its large tool results, or the level of `thinking`.
    """

    action: Action
    why: str
    mend: Literal["history", "results", "thinking"] = "history"
    thinking: Thinking | None = None
    wait_s: float = 0.0
    max_tokens: int | None = None


Remedy = Callable[[ProviderFailure, Situation, Rules], Decision | None]


def decide(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision:
    """The one place where it is decided how a run goes on after a failed call."""
    # Shown text can be called back where the setting says so; what a CLI has done cannot.
    if (now.delivered or not failure.replay_safe) and (now.cli or not rules.retract):
        return _give_up("something was already shown or done, and a repeat would do it twice")
    for remedy in REMEDIES[failure.kind]:
        decision = remedy(failure, now, rules)
        if decision is not None:
            return decision
    if now.attempts_used >= rules.attempts:
        return _give_up(f"{rules.attempts} repeats are what a run may make, and they are used up")
    if failure.hopeless and failure.kind is FailureKind.RATE_LIMITED:
        return _give_up("no waiting of a run gets past this limit, and there is no other profile or model")
    return _give_up(_LAST_WORDS.get(failure.kind, "no remedy is left"))


def _give_up(why: str) -> Decision:
    return Decision(action="give_up", why=why)


def loop_limit(profiles: int) -> int:
    """How many failures of any kind a run takes before it gives up, whatever remedies are left: a circuit breaker over
    all loops of recovery (OpenClaw's figure, which grows with the credentials there are to try)."""
    return min(max(24 + 8 * max(1, profiles), 32), 160)


def backoff(in_row: int, draw: float, rules: Rules) -> float:
    """Seconds: doubling from `base_s` to `cap_s`, times 0.5 to 1.5."""
    return min(rules.base_s * 2.0 ** min(in_row - 1, 16), rules.cap_s) * (0.5 + draw)


def _wait(failure: ProviderFailure, now: Situation, rules: Rules) -> float:
    if not rules.honour_retry_after:
        return 0.0
    return max(failure.retry_after or 0.0, backoff(now.in_row, now.draw, rules))


def _retry(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if failure.hopeless or now.attempts_used >= rules.attempts:
        return None
    wait = _wait(failure, now, rules)
    if now.seconds_used + wait > rules.seconds:
        return None
    if not rules.honour_retry_after:
        return Decision(action="retry", why="sent again at once, as set", wait_s=0.0)
    told = failure.retry_after is not None and wait == failure.retry_after
    asked = "as long as it was told" if told else "with backoff"
    return Decision(action="retry", why=f"{failure.kind.value} passes; waits {asked}", wait_s=wait)


def _retry_patiently(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    """A short limit is waited out once where the prompt is cached; a long one, or a second, is left to a spare."""
    if now.spare_profile and (now.in_row > 1 or _wait(failure, now, rules) > rules.patience_s):
        return None
    return _retry(failure, now, rules)


def _retry_before_fallback(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if now.fallback and now.in_row >= rules.switch_after:
        return None
    return _retry(failure, now, rules)


def _rotate(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if not now.spare_profile:
        return None
    return Decision(action="rotate", why=f"{failure.kind.value} concerns this profile; another one is free")


def _fallback(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if not now.fallback:
        return None
    return Decision(action="fallback", why=f"{failure.kind.value} on this model; the next one is asked")


def _fallback_elsewhere(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if not now.fallback_elsewhere:
        return None
    return Decision(
        action="fallback", why=f"{failure.kind.value} concerns the whole account; another provider is asked"
    )


def _compact(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if now.cli or not rules.compact or now.compactions >= rules.compactions:
        return None
    return Decision(action="compact", why="the conversation does not fit; its older part is summarised")


def _cut(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if now.cli or now.summary or not now.oversized or not rules.compact or not rules.compactions:
        return None
    return Decision(action="repair", mend="results", why="compaction could not help; large tool results are cut")


def _fallback_larger(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if not now.fallback_larger or now.summary:
        return None
    return Decision(action="fallback", why="the conversation does not fit; a model with a larger window is asked")


def _other_thinking(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    level = next((named for named in failure.levels if named not in now.levels_tried), None)
    if level is None or now.cli:
        return None
    why = f"this level of thinking is refused; asked with `{level}`"
    return Decision(action="repair", mend="thinking", thinking=level, why=why)


def _lower(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    """`tokens` and `limit` of the message tell the room that is left for the answer."""
    if now.cli:
        return None
    useful = USEFUL_OUTPUT
    if failure.tokens is not None and failure.limit is not None:
        room = failure.limit - failure.tokens
        useful = max(1, min(useful, now.max_tokens // 2))  # of a short answer, most of it
    else:
        room = now.max_tokens // 2
    if not useful <= room < now.max_tokens:
        return None
    return Decision(action="lower_max_tokens", why=f"the input fits; room for the answer is {room}", max_tokens=room)


def _repair(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if now.cli or now.summary or now.repaired:
        return None
    image = refused_image(failure.message)
    refused = str(image) if image else "the history is refused"
    return Decision(action="repair", why=f"{refused}; sent once more without thinking and images")


def _reseed(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if not now.cli or now.reseeded:
        return None
    return Decision(action="reseed", why="the CLI cannot go on with its session; a new one is told the history")


def _ask_again(failure: ProviderFailure, now: Situation, rules: Rules) -> Decision | None:
    if now.in_row > rules.empty_answers or now.attempts_used >= rules.attempts:
        return None
    return Decision(action="retry", why="an empty answer is no answer; asked once more")


REMEDIES: dict[FailureKind, tuple[Remedy, ...]] = {
    FailureKind.RATE_LIMITED: (_retry_patiently, _rotate, _fallback),
    FailureKind.OVERLOADED: (_retry_before_fallback, _fallback),
    FailureKind.SERVER_ERROR: (_retry_before_fallback, _fallback),
    FailureKind.TIMEOUT: (_retry_before_fallback, _fallback),
    FailureKind.TRUNCATED: (_retry_before_fallback, _fallback),
    FailureKind.TRANSPORT: (_retry_before_fallback, _fallback),
    FailureKind.CONTEXT_OVERFLOW: (_compact, _cut, _reseed, _fallback_larger),
    FailureKind.OUTPUT_BUDGET: (_lower, _compact, _cut, _reseed, _fallback_larger),
    FailureKind.AUTH: (_rotate, _fallback_elsewhere),
    FailureKind.BILLING: (_rotate, _fallback_elsewhere),
    FailureKind.BAD_REQUEST: (_other_thinking,),
    FailureKind.POISONED_HISTORY: (_repair, _reseed),
    FailureKind.MODEL_NOT_FOUND: (_fallback,),
    FailureKind.SESSION_EXPIRED: (_reseed,),
    FailureKind.EMPTY_RESPONSE: (_ask_again, _fallback),
    FailureKind.REFUSED: (),
}

_LAST_WORDS: dict[FailureKind, str] = {
    FailureKind.RATE_LIMITED: "the limit lasts longer than a run may wait, and there is no other profile or model",
    FailureKind.AUTH: "the credential is refused; sending it again cannot help",
    FailureKind.BILLING: "the account cannot pay; sending it again cannot help",
    FailureKind.BAD_REQUEST: "the request itself is wrong; sending it again cannot help",
    FailureKind.REFUSED: "the model declined; asking the same again is no remedy",
    FailureKind.CONTEXT_OVERFLOW: "the conversation does not fit, and compaction is off or could not help",
    FailureKind.OUTPUT_BUDGET: "no useful room for an answer is left",
    FailureKind.MODEL_NOT_FOUND: "there is no such model, and no fallback",
}
