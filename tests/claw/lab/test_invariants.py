"""Every invariant is seen to fail once, and says `not_checked` where it cannot look."""

from typing import Any

import pytest

from claw.lab import invariants
from claw.lab.evidence import Evidence, Outcome, Problem, SessionEntry, SessionState, Spawn
from claw.lab.invariants import process, script, session, wire

ASKED = SessionEntry(id="a", parent=None, type="message", role="user", text="What is the capital of Germany?")
TOLD = SessionEntry(id="b", parent="a", type="message", role="assistant", text="BANANA")
RAN = SessionEntry(id="c", parent="b", type="message", role="tool", tool_results=("t1",))
END = {"type": "run_end"}


def state(*entries: SessionEntry, problem: str | None = None) -> SessionState:
    return SessionState(entries=entries, problem=problem)


def named(findings: Any, name: str) -> Any:
    (seen,) = [seen for seen in findings if seen.name == name]
    return seen


@pytest.fixture
def good(evidence: Any) -> Evidence:
    return evidence(
        outcome=Outcome(reply="BANANA", stop="end_turn", exit=0, events=[{"type": "tool_start", "id": "t1"}, END]),
        session=state(ASKED, TOLD, RAN),
        spawns=[Spawn(argv=("claude",), at=0.0, code=0)],
    )


def test_a_good_play_passes_them_all(good: Evidence) -> None:
    for module in (process, script, session):
        seen = module.look(good)
        assert [(s.name, s.status) for s in seen] == [(name, "pass") for name in module.NAMES]


@pytest.mark.parametrize(
    ("name", "module", "broken", "saw"),
    [
        ("within_budget", process, {"spent": "more than 200 requests, in step 1"}, "more than 200"),
        ("no_child_left", process, {"children": [Spawn(argv=("sleep", "99"), at=0.0)]}, "sleep 99"),
        ("session_opens", session, {"session": state(problem="line 3 is torn")}, "line 3 is torn"),
        ("tree_is_sound", session, {"session": state(ASKED, ASKED)}, "two entries have the id a"),
        ("tree_is_sound", session, {"session": state(TOLD, ASKED)}, "does not stand before it"),
        ("no_prompt_lost", session, {"session": state()}, "capital of Germany"),
        ("tool_run_at_most_once", session, {"session": state(ASKED, TOLD, RAN, RAN)}, "t1"),
        ("reply_delivered_once", session, {"session": state(ASKED, TOLD, TOLD)}, "in the session 2 times"),
        ("reply_delivered_once", session, {"session": state(ASKED)}, "in the session 0 times"),
        ("script_used_up", script, {"unused": ["turns[3]"]}, "turns[3]"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_it_fails_when_broken(evidence: Any, good: Evidence, name: str, module: Any, broken: Any, saw: str) -> None:
    fields = {"outcome": good.steps[0].outcome, "session": good.session} | broken
    seen = named(module.look(evidence(**fields)), name)
    assert seen.status == "fail"
    assert saw in seen.saw


@pytest.mark.parametrize(
    ("outcome", "saw"),
    [
        (Outcome(reply="BANANA", exit=0, failure=Problem("billing")), "exits 0 but failed: billing"),
        (Outcome(reply="", exit=0), "exits 0 without an answer"),
        (Outcome(reply="BANANA", exit=1), "exits 1 though it answered"),
    ],
    ids=["failed", "silent", "answered"],
)
def test_an_exit_code_that_lies_is_found(evidence: Any, outcome: Outcome, saw: str) -> None:
    seen = named(process.look(evidence(outcome=outcome)), "exit_is_true")
    assert (seen.status, saw in seen.saw) == ("fail", True)


def test_a_tool_started_twice_or_a_run_ended_twice_is_found(evidence: Any) -> None:
    twice = [{"type": "tool_start", "id": "t1"}, {"type": "tool_start", "id": "t1"}, END, END]
    play = evidence(outcome=Outcome(reply="BANANA", exit=0, events=twice), session=state(ASKED, TOLD))
    assert named(session.look(play), "tool_run_at_most_once").status == "fail"
    assert "ended 2 times" in named(session.look(play), "reply_delivered_once").saw


def test_a_stray_request_is_found(evidence: Any, exchange: Any) -> None:
    seen = named(script.look(evidence(exchanges=[exchange(4, answered_by="unmatched")])), "nothing_unmatched")
    assert (seen.status, seen.saw) == ("fail", "the script has no answer for request 4")


def test_the_whole_verdict_is_an_invariant(evidence: Any, exchange: Any) -> None:
    told = {"kind": "rate_limited", "message": "slow down", "retry_after": 7}
    calls = [exchange(1, status=429, at=0.0, error=told, tokens=None), exchange(2, at=1.0)]
    seen = wire.look(evidence(exchanges=calls))
    assert [finding.name for finding in seen] == list(wire.NAMES)
    assert named(seen, "sent_before_retry_after").status == "fail"
    assert named(seen, "truncated_stream_accepted").status == "not_checked"


def test_what_the_runtime_shows_is_compared_with_the_wire(evidence: Any, exchange: Any) -> None:
    def shown(tokens: int) -> Any:
        report = {"usage": {"context_tokens": tokens}, "cost_usd": 0.01}
        outcome = Outcome(reply="BANANA", exit=0, report=report)
        return named(wire.look(evidence(outcome=outcome, exchanges=[exchange(1)])), "shown_is_not_true")

    assert shown(95).status == "pass"
    assert (shown(2_080_469).status, "2,080,469" in shown(2_080_469).saw) == ("fail", True)


def test_what_cannot_be_seen_is_not_checked(evidence: Any) -> None:
    """A runtime whose sessions and processes are its own, which streams nothing and has no exit code."""
    play = evidence(outcome=Outcome(reply="BANANA"), session=None, children=None)
    blind = {seen.name for module in (process, session) for seen in module.look(play) if seen.status == "not_checked"}
    assert blind == {*session.NAMES, "exit_is_true", "no_child_left"}


def test_an_ignored_invariant_is_left_out(evidence: Any, good: Evidence) -> None:
    import msgspec

    scenario = msgspec.structs.replace(good.scenario, ignore={"script_used_up": "the second turn is optional"})
    play = evidence(scenario=scenario, unused=["turns[1]"])
    assert "script_used_up" not in [seen.name for seen in script_and_process(play)]


def script_and_process(play: Evidence) -> Any:
    seen = [*process.look(play), *script.look(play)]
    return [s for s in seen if s.name not in play.scenario.ignore]


def test_every_invariant_has_one_name() -> None:
    assert len(invariants.names()) == len(set(invariants.names()))
