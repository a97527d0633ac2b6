"""How a run goes on: what is asked next, what follows a failure, and compaction, a phase of the same machine."""

from collections.abc import Sequence
from typing import cast

import msgspec

from claw.core import asking, compaction, ending, mending
from claw.core.commands import Failure, Sleep
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.policy import Decision, Situation, decide, loop_limit
from claw.core.state import Compacting, State, Step, Target, Trigger, draw
from claw.core.stream import ModelTurn
from claw.core.transcript import CustomEntry, Entry, live, summary_message
from claw.core.usage import Usage
from claw.core.window import DEFAULT_OUTPUT, budget, message_tokens, text_tokens

LEAST_PIECE = 500  # tokens that a summary call reads at least
LEVELS = 3  # keep the newest part; keep a quarter of it; keep nothing but an unanswered prompt
PASSING = (
    FailureKind.AUTH,
    FailureKind.BILLING,
    FailureKind.RATE_LIMITED,
    FailureKind.OVERLOADED,
    FailureKind.SERVER_ERROR,
    FailureKind.TRANSPORT,
    FailureKind.TIMEOUT,
)  # of a summary call: the reason to report, rather than the overflow behind it


def begin(out: Step) -> None:
    """The first call of a run: not before the time that the provider gave to the one before, if that is not long."""
    state = out.state
    pause = state.pause if state.setup.rules.honour_retry_after else 0.0
    if pause > state.setup.rules.seconds:
        finish_failed(out, FailureKind.RATE_LIMITED, f"the provider said so before: free again in {pause:.0f} s")
        return
    out.set(waited_s=pause)
    _sleep_or_ask(out, pause)


def ask(out: Step) -> None:
    """Ask what is to be asked next: the piece of a compaction at work, a compaction that is due, or the main call."""
    state = out.state
    out.set(awaited=None)
    if state.compacting is not None:
        asking.call_summary(out)
    elif state.calls >= state.setup.max_calls:
        finish_failed(out, FailureKind.TIMEOUT, f"stopped after {state.calls} calls in one run")
    elif state.at.cli:
        _ask_cli(out)
    elif state.setup.rules.compact and not state.skip_threshold and asking.too_full(state):
        begin_compaction(out, "threshold")
    else:
        asking.call_model(out)


def _ask_cli(out: Step) -> None:
    """`observe` leaves compaction to the CLI; `own` begins a new session with a record, `hybrid` sends `/compact`."""
    state = out.state
    how = state.setup.coordination
    if how != "observe" and not state.skip_threshold and asking.cli_too_full(state):
        out.set(skip_threshold=True)
        if how == "hybrid" and asking.compact_cli(out):
            return
        out.set(fresh=True)
    asking.call_cli(out)


def failed(out: Step, failure: ProviderFailure, delivered: bool) -> None:
    """Decide what follows a failed call, book it, and go on."""
    out.set(in_row=out.state.in_row + 1)
    learn_limits(out, failure)
    state = out.state
    decision = decide(failure, situation(state, delivered), state.setup.rules)
    most = loop_limit(sum(len(target.profiles) for target in state.setup.targets))
    if sum(attempt.kind is not None for attempt in state.attempts) >= most:
        decision = Decision(action="give_up", why=f"{most} calls of this run have failed; it ends here")
    if delivered and decision.action != "give_up":
        out.note_attempt(failure, action=decision.action, waited_s=decision.wait_s, why=decision.why, retracted=True)
    else:
        out.note_attempt(failure, action=decision.action, waited_s=decision.wait_s, why=decision.why)
    match decision.action:
        case "retry":
            out.set(retries=state.retries + 1, waited_s=state.waited_s + decision.wait_s)
            _renew_unresumed(out)
            _sleep_or_ask(out, decision.wait_s)
        case "rotate":
            out.set(profile=state.profile + 1, in_row=0)
            ask(out)
        case "fallback":
            _next_target(out, failure.kind)
            ask(out)
        case "compact" if state.compacting is not None:
            _smaller_pieces(out)
        case "compact":
            begin_compaction(out, "overflow")
        case "lower_max_tokens":
            out.set(max_tokens=decision.max_tokens)
            ask(out)
        case "repair":
            _mend(out, decision)
            ask(out)
        case "reseed":
            out.set(reseeded=True, fresh=True, cli_session=None)
            ask(out)
        case "give_up":
            _give_up(out, failure, decision.why)


def _mend(out: Step, decision: Decision) -> None:
    match decision.mend:
        case "history":
            mending.repair(out)
        case "results":
            mending.cut_results(out)
        case "thinking":
            mending.ask_thinking(out, decision.thinking or "off")


def situation(state: State, delivered: bool) -> Situation:
    rest = state.setup.targets[state.target + 1 :]
    wanted = state.max_tokens or min(state.at.max_output, DEFAULT_OUTPUT)
    return Situation(
        delivered=delivered,
        summary=state.compacting is not None,
        cli=state.at.cli,
        in_row=state.in_row,
        attempts_used=state.retries,
        seconds_used=state.waited_s,
        spare_profile=state.profile + 1 < len(state.at.profiles),
        fallback=bool(rest),
        fallback_elsewhere=any(target.provider != state.at.provider for target in rest),
        compactions=state.tried,
        max_tokens=asking.summary_tokens(state) if state.compacting else wanted,
        repaired=not mending.repairable(state),
        fallback_larger=any(target.window > state.size for target in rest),
        oversized=mending.oversized(state) if state.tried >= state.setup.rules.compactions else False,
        levels_tried=(state.setup.thinking, *state.levels_tried),
        reseeded=state.reseeded,
        draw=draw(state),
    )


def _sleep_or_ask(out: Step, seconds: float) -> None:
    if seconds <= 0:
        ask(out)
        return
    id = out.id()
    out.commands.append(Sleep(id=id, seconds=seconds))
    out.set(phase="sleeping", awaited=id)


def _renew_unresumed(out: Step) -> None:
    """A CLI refuses an id that it has begun to use; a failed first run is repeated under a new one."""
    if out.state.at.cli and not out.state.resumed:
        out.set(cli_session=None, fresh=True)


def _next_target(out: Step, kind: FailureKind) -> None:
    """The next model that can do what this one could not: an account's failure wants another provider, an overflow a
    larger window."""
    state = out.state
    targets = state.setup.targets

    def fits(target: Target) -> bool:
        if kind in (FailureKind.AUTH, FailureKind.BILLING):
            return target.provider != state.at.provider
        overflow = kind in (FailureKind.CONTEXT_OVERFLOW, FailureKind.OUTPUT_BUDGET)
        return target.window > state.size if overflow else True

    at = next(i for i in range(state.target + 1, len(targets)) if fits(targets[i]))
    window = known_window(state.history, targets[at].name)
    out.set(target=at, profile=0, in_row=0, max_tokens=None, window=window, cli_session=None, fresh=False)
    out.set(tried=0, level=0, halved=0, skip_threshold=False, thinking=None, levels_tried=())


def _give_up(out: Step, failure: ProviderFailure, why: str) -> None:
    job = out.state.compacting
    message = f"{failure.message or failure.kind.value} ({why})"
    if failure.kind is FailureKind.RATE_LIMITED and failure.retry_after:
        message = f"{failure.message or 'rate limited'}: free again in {failure.retry_after:.0f} s ({why})"
    if job is None:
        finish_failed(out, failure.kind, message)
        return
    fail_compaction(out, message)
    kind = failure.kind if failure.kind in PASSING else FailureKind.CONTEXT_OVERFLOW
    if job.trigger == "threshold":
        out.set(skip_threshold=True, in_row=0)
        ask(out)
    elif job.trigger == "manual" or not _last_resort(out):
        finish_failed(out, kind, f"the conversation could not be condensed: {message}")


def _last_resort(out: Step) -> bool:
    """Where an overflow cannot be condensed away: large tool results are cut, then a larger window is asked."""
    state = out.state
    out.set(tried=state.setup.rules.compactions)
    failure = ProviderFailure(kind=FailureKind.CONTEXT_OVERFLOW, message="the conversation does not fit")
    decision = decide(failure, situation(out.state, delivered=False), state.setup.rules)
    if decision.action not in ("repair", "fallback"):
        return False
    out.note_attempt(failure, action=decision.action, waited_s=0.0, why=decision.why)
    if decision.action == "repair":
        _mend(out, decision)
    else:
        _next_target(out, failure.kind)
    ask(out)
    return True


def finish_failed(out: Step, kind: FailureKind, message: str, reply: str = "") -> None:
    """The session remembers why, where no model sees it."""
    data = {"kind": kind.value, "message": message}
    out.persist(CustomEntry(id=out.entry_id(), parent_id=out.state.leaf, custom_type="run_failed", data=data))
    ending.finish(out, reply, "error", Failure(kind, message))


# what calls teach


def learn_scale(out: Step, usage: Usage) -> None:
    """Compare the provider's count of a main call with our estimate of it."""
    guess = _estimate(out.state)
    if not out.state.at.cli and usage.context_tokens and guess > 500:
        out.set(scale=_clamp(usage.context_tokens / guess))


def learn_limits(out: Step, failure: ProviderFailure) -> None:
    """An overflow tells more than any table: the provider's count, and the true window, which the session remembers."""
    state = out.state
    if failure.kind is not FailureKind.CONTEXT_OVERFLOW or state.compacting is not None or state.at.cli:
        return
    if failure.limit and failure.limit < state.size:
        data = {"model": state.at.name, "tokens": failure.limit}
        out.persist(CustomEntry(id=out.entry_id(), parent_id=state.leaf, custom_type="window", data=data))
        out.set(window=failure.limit)
    guess = max(1, _estimate(state))
    least = max(state.scale, out.state.size / guess)
    out.set(scale=_clamp(failure.tokens / guess if failure.tokens else least))


def known_window(history: Sequence[Entry], model: str) -> int | None:
    """What a provider has said of this model's window (tokens) in this session."""
    for entry in reversed(history):
        if isinstance(entry, CustomEntry) and entry.custom_type == "window" and entry.data.get("model") == model:
            tokens = entry.data.get("tokens")
            return tokens if isinstance(tokens, int) and tokens > 0 else None
    return None


def _clamp(scale: float) -> float:
    return min(max(scale, 0.25), 8.0)


def _estimate(state: State) -> int:
    compacted, kept = live(state.history)
    summary = message_tokens(summary_message(compacted.summary)) if compacted else 0
    return state.fixed + summary + sum(message_tokens(entry.message) for entry in kept)


# compaction


def begin_compaction(out: Step, trigger: Trigger) -> None:
    """Plan at the present level, harder ones if nothing could go, and ask for the first summary."""
    state = out.state
    before = asking.fullness(state).tokens
    plan, level = None, state.level
    while plan is None and level < LEVELS:
        plan = compaction.plan(
            state.history, keep=_keep(state, level), piece_tokens=piece_tokens(state), scale=state.scale
        )
        level += 1
    out.set(tried=state.tried + 1, level=level)
    if plan is None:
        _nothing_to_gain(out, trigger)
        return
    out.emit("compaction_start", trigger=trigger, tokens_before=before)
    out.set(compacting=Compacting(plan=plan, trigger=trigger, tokens_before=before), in_row=0)
    ask(out)


def _keep(state: State, level: int) -> int:
    """Tokens of the newest part that stays: at most 0.4 of the budget, a quarter of that, nothing.

    At the first level as much more, up to half of the budget, as spares a second summary call.
    """
    room = budget(state.size, state.setup.reserve)
    most = min(state.setup.keep, room * 2 // 5)
    if level >= LEVELS - 1 or state.manual:
        return 0
    if level:
        return most >> (2 * level)
    beyond = int(_estimate(state) * state.scale - 0.9 * piece_tokens(state))
    return max(most, min(beyond, room // 2))


def piece_tokens(state: State) -> int:
    """What one summary call reads, by the provider's count; half of it after each one that did not fit."""
    room = state.size - asking.summary_tokens(state) - min(compaction.OVERHEAD, state.size // 8)
    return max(LEAST_PIECE, int(room * 0.8) >> state.halved)


def _nothing_to_gain(out: Step, trigger: Trigger) -> None:
    """On request that is no failure: the session is as small as it gets, and the result counts no compaction."""
    if trigger == "threshold":
        out.set(skip_threshold=True)
        ask(out)
    elif trigger == "manual":
        ending.finish(out, "", "end_turn")
    elif not _last_resort(out):
        finish_failed(
            out, FailureKind.CONTEXT_OVERFLOW, "the conversation does not fit, and nothing of it can be condensed"
        )


def _smaller_pieces(out: Step) -> None:
    """The summary call itself did not fit: the same compaction again, in pieces of half the size or less. Where they
    cannot get smaller, the same call is not made again."""
    job = cast(Compacting, out.state.compacting)
    fail_compaction(out, "the part to be summarised did not fit")
    largest = max(text_tokens(piece) for piece in job.plan.pieces)
    out.set(halved=out.state.halved + 1)
    while piece_tokens(out.state) / out.state.scale > largest and piece_tokens(out.state) > LEAST_PIECE:
        out.set(halved=out.state.halved + 1)
    if piece_tokens(out.state) / out.state.scale <= largest:
        begin_compaction(out, job.trigger)
    elif job.trigger == "manual":
        finish_failed(out, FailureKind.CONTEXT_OVERFLOW, "the conversation could not be condensed: no part of it fits")
    else:
        _nothing_to_gain(out, job.trigger)


def fail_compaction(out: Step, why: str) -> None:
    """Nothing was written: history and usage are what they were."""
    job = cast(Compacting, out.state.compacting)
    out.set(compacting=None)
    out.emit("compaction_end", trigger=job.trigger, ok=False, why=why, tokens_before=job.tokens_before)


def summary_finished(out: Step, turn: ModelTurn) -> None:
    """One piece is summarised; after the last one the summary takes the place of what it stands for."""
    job = cast(Compacting, out.state.compacting)
    text = turn.message.text.strip()
    if not text or turn.stop == "refusal":
        kind = FailureKind.REFUSED if turn.stop == "refusal" else FailureKind.EMPTY_RESPONSE
        failed(out, ProviderFailure(kind=kind, message="the summary call gave no summary"), delivered=False)
        return
    if job.piece + 1 < len(job.plan.pieces):
        out.set(compacting=msgspec.structs.replace(job, summary=text, piece=job.piece + 1), in_row=0)
        ask(out)
        return
    summary = compaction.with_request(text, job.plan.request)
    after = compaction.tokens_after(summary, job.plan.kept_tokens, out.state.scale)
    if after >= job.plan.tokens_before:
        _no_smaller(out, job)
        return
    _write(out, job, summary, after)


def _no_smaller(out: Step, job: Compacting) -> None:
    """A compaction that gains nothing has failed: the next level at once, within the same count."""
    fail_compaction(out, "the summary was no smaller than what it stands for")
    if out.state.tried < out.state.setup.rules.compactions:
        begin_compaction(out, job.trigger)
    else:
        _nothing_to_gain(out, job.trigger)


def _write(out: Step, job: Compacting, summary: str, after: int) -> None:
    fixed = int(out.state.fixed * out.state.scale)
    out.persist(
        compaction.entry(
            job.plan,
            id=out.entry_id(),
            parent_id=out.state.leaf,
            summary=summary,
            tokens_before=job.tokens_before,
            after=fixed + after,
            trigger=job.trigger,
        )
    )
    out.set(compacting=None, compactions=out.state.compactions + 1, in_row=0, skip_threshold=True, max_tokens=None)
    out.emit(
        "compaction_end", trigger=job.trigger, ok=True, tokens_before=job.tokens_before, tokens_after=fixed + after
    )
    if job.trigger == "manual":
        ending.finish(out, "", "end_turn")
    else:
        ask(out)
