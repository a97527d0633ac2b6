"""What is done about each kind of failure, and why."""

import pytest

from claw.core.errors import FailureKind, ProviderFailure
from claw.core.policy import REMEDIES, Decision, Rules, Situation, backoff, decide

K = FailureKind
RULES = Rules()


def decided(kind: FailureKind, *, now: Situation | None = None, rules: Rules = RULES, **failure: object) -> Decision:
    return decide(ProviderFailure(kind=kind, **failure), now or Situation(), rules)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_has_a_decision_with_a_reason(kind: FailureKind) -> None:
    assert kind in REMEDIES
    assert decided(kind).why


@pytest.mark.parametrize(
    ("kind", "alone"),
    [
        (K.RATE_LIMITED, "retry"), (K.OVERLOADED, "retry"), (K.SERVER_ERROR, "retry"), (K.TIMEOUT, "retry"),
        (K.TRUNCATED, "retry"), (K.TRANSPORT, "retry"), (K.EMPTY_RESPONSE, "retry"), (K.CONTEXT_OVERFLOW, "compact"),
        (K.OUTPUT_BUDGET, "compact"), (K.POISONED_HISTORY, "repair"), (K.AUTH, "give_up"), (K.BILLING, "give_up"),
        (K.BAD_REQUEST, "give_up"), (K.MODEL_NOT_FOUND, "give_up"), (K.REFUSED, "give_up"),
        (K.SESSION_EXPIRED, "give_up"),
    ],
)  # fmt: skip
def test_with_one_profile_and_no_fallback(kind: FailureKind, alone: str) -> None:
    assert decided(kind).action == alone


@pytest.mark.parametrize("kind", [K.AUTH, K.BILLING])
def test_a_bad_account_rotates_and_then_leaves_the_provider(kind: FailureKind) -> None:
    assert decided(kind, now=Situation(spare_profile=True, fallback=True)).action == "rotate"
    assert decided(kind, now=Situation(fallback=True)).action == "give_up"
    assert decided(kind, now=Situation(fallback=True, fallback_elsewhere=True)).action == "fallback"


@pytest.mark.parametrize("kind", [K.BILLING, K.BAD_REQUEST, K.REFUSED])
def test_what_cannot_pass_is_never_sent_again(kind: FailureKind) -> None:
    everything = Situation(spare_profile=True, fallback=True, fallback_elsewhere=True)
    assert decided(kind, now=everything, retry_after=1.0).action != "retry"


@pytest.mark.parametrize("kind", [K.BAD_REQUEST, K.REFUSED])
def test_a_wrong_request_is_no_fault_of_the_profile(kind: FailureKind) -> None:
    assert decided(kind, now=Situation(spare_profile=True, fallback=True)).action == "give_up"


def test_a_rate_limit_waits_at_least_as_long_as_told() -> None:
    assert decided(K.RATE_LIMITED, retry_after=7.0).wait_s == 7.0
    assert decided(K.RATE_LIMITED, retry_after=0.1).wait_s == backoff(1, 0.5, RULES)


def test_hours_are_reported_and_not_slept() -> None:
    decision = decided(K.RATE_LIMITED, retry_after=7_198.0)
    assert (decision.action, decision.wait_s) == ("give_up", 0.0)
    assert "longer than a run may wait" in decision.why


def test_a_long_or_second_limit_goes_to_a_spare_profile() -> None:
    """A short wait keeps the prompt cache of the first profile; waiting longer costs more than it saves."""
    assert decided(K.RATE_LIMITED, now=Situation(spare_profile=True), retry_after=7.0).action == "retry"
    assert decided(K.RATE_LIMITED, now=Situation(spare_profile=True), retry_after=60.0).action == "rotate"
    assert decided(K.RATE_LIMITED, now=Situation(spare_profile=True, in_row=2), retry_after=7.0).action == "rotate"


def test_a_hopeless_limit_is_not_waited_for() -> None:
    assert decided(K.RATE_LIMITED, hopeless=True, retry_after=1.0).action == "give_up"
    assert decided(K.RATE_LIMITED, now=Situation(fallback=True), hopeless=True).action == "fallback"


def test_the_budget_is_one_for_all_reasons() -> None:
    spent = Situation(attempts_used=RULES.attempts)
    assert {decided(kind, now=spent).action for kind in (K.OVERLOADED, K.TRUNCATED, K.RATE_LIMITED)} == {"give_up"}
    assert "8 repeats" in decided(K.OVERLOADED, now=spent).why
    waited = Situation(seconds_used=RULES.seconds)
    assert decided(K.SERVER_ERROR, now=waited).action == "give_up"


def test_backoff_doubles_up_to_its_cap_and_is_spread() -> None:
    assert [backoff(n, 0.5, RULES) for n in (1, 2, 3, 6, 50)] == [1, 2, 4, 30, 30]
    assert backoff(1, 0.0, RULES) == 0.5 and backoff(1, 0.999, RULES) < 1.5


def test_the_old_bug_sends_again_at_once() -> None:
    decision = decided(K.RATE_LIMITED, rules=Rules(honour_retry_after=False), retry_after=7.0)
    assert (decision.action, decision.wait_s) == ("retry", 0.0)


def test_a_model_that_keeps_failing_leaves_to_its_fallback() -> None:
    assert decided(K.OVERLOADED, now=Situation(fallback=True, in_row=2)).action == "retry"
    assert decided(K.OVERLOADED, now=Situation(fallback=True, in_row=3)).action == "fallback"


def test_output_that_does_not_fit_is_made_smaller_when_that_leaves_room() -> None:
    """156,321 + 48,384 > 200,000: the input fits, so 43,679 tokens are asked for."""
    now = Situation(max_tokens=48_384)
    decision = decided(K.OUTPUT_BUDGET, now=now, tokens=156_321, limit=200_000)
    assert (decision.action, decision.max_tokens) == ("lower_max_tokens", 43_679)
    assert decided(K.OUTPUT_BUDGET, now=now).max_tokens == 24_192
    assert decided(K.OUTPUT_BUDGET, now=Situation(cli=True)).action == "reseed"
    assert decided(K.OUTPUT_BUDGET, now=now, tokens=199_900, limit=200_000).action == "compact"
    assert decided(K.OUTPUT_BUDGET, now=Situation(max_tokens=43_679), tokens=156_321, limit=200_000).action == "compact"


def test_an_overflow_compacts_three_times_at_most_and_not_when_it_is_off() -> None:
    assert decided(K.CONTEXT_OVERFLOW, now=Situation(compactions=2)).action == "compact"
    assert decided(K.CONTEXT_OVERFLOW, now=Situation(compactions=3)).action == "give_up"
    assert decided(K.CONTEXT_OVERFLOW, rules=Rules(compact=False)).action == "give_up"
    assert decided(K.CONTEXT_OVERFLOW).wait_s == 0


def test_a_cli_that_lost_its_session_is_reseeded_once() -> None:
    for kind in (K.SESSION_EXPIRED, K.CONTEXT_OVERFLOW, K.POISONED_HISTORY):
        assert decided(kind, now=Situation(cli=True)).action == "reseed"
        assert decided(kind, now=Situation(cli=True, reseeded=True)).action == "give_up"


def test_shown_text_is_taken_back_where_that_is_possible() -> None:
    shown = Situation(delivered=True)
    assert decided(K.TRUNCATED, now=shown).action == "retry"
    assert decided(K.TRUNCATED, now=shown, rules=Rules(retract=False)).action == "give_up"
    assert decided(K.TRUNCATED, now=Situation(delivered=True, cli=True)).action == "give_up"
    assert decided(K.TRUNCATED, now=shown, replay_safe=False).action == "retry"
    assert decided(K.TRUNCATED, rules=Rules(retract=False), replay_safe=False).action == "give_up"
    assert decided(K.TIMEOUT, now=Situation(cli=True), replay_safe=False).action == "give_up"


def test_a_refused_history_is_repaired_once() -> None:
    assert decided(K.POISONED_HISTORY, now=Situation(repaired=True)).action == "give_up"
    assert decided(K.POISONED_HISTORY, now=Situation(summary=True)).action == "give_up"


def test_a_missing_model_goes_to_the_fallback() -> None:
    assert decided(K.MODEL_NOT_FOUND, now=Situation(fallback=True)).action == "fallback"


def test_an_empty_answer_is_asked_for_once_more() -> None:
    assert decided(K.EMPTY_RESPONSE).wait_s == 0
    assert decided(K.EMPTY_RESPONSE, now=Situation(in_row=2)).action == "give_up"
