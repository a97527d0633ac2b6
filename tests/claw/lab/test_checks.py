"""Every check passes on what is right, fails on what is wrong, and fails as empty when there is nothing to look at."""

from typing import Any

import msgspec
import pytest

from claw.lab import checks
from claw.lab.evidence import Evidence, Finding, Outcome, Problem, SessionEntry, SessionState, Spawn

REPORT = {
    "usage": {
        "input": 1,
        "cache_read": 85000,
        "cache_write_5m": 500,
        "context_tokens": 95,
        "context_percent": 43,
        "context_window": None,
    },
    "usage_total": {"output": 9},
    "cost_usd": 0.01,
    "tool_calls": [{"id": "t1", "name": "read", "ok": True}, {"id": "t2", "name": "exec", "ok": False}],
    "attempts": [
        {"kind": "rate_limited", "action": "retry", "profile": "main"},
        {"kind": None, "action": None, "profile": "main"},
    ],
}
EVENTS = [{"type": t} for t in ("run_start", "compaction_start", "compaction_end", "run_end")]
GOOD = Outcome(reply="It is BANANA.", stop="end_turn", exit=0, report=REPORT, events=EVENTS)
BAD = Outcome(stop="error", exit=1, failure=Problem("billing", "credit balance is too low"), report=REPORT, events=[])


def look(evidence: Evidence, name: str, params: Any, step: Any = None) -> Finding:
    check = checks.load(name)
    typed = msgspec.convert(params, check.Params, strict=True)
    return check.look(typed, evidence, step or check.STEP)


@pytest.fixture
def play(evidence: Any, exchange: Any) -> Evidence:
    """Two requests, the first refused; a CLI start; a session of two entries; one file."""
    refused = exchange(1, status=429, tokens=None, cache=None, cost_usd=0.0, answered_by="turns[0]", at=100.0)
    miss = {"level": "system", "at": "system[0]", "why": "changed", "lost_tokens": 20}
    answered = exchange(2, at=107.0, cache={"ideal_read": 100, "breakpoints": [], "miss": miss})
    return evidence(
        outcome=GOOD,
        exchanges=[refused, answered],
        spawns=[Spawn(argv=("claude", "-p", "--resume", "S1"), at=100.0, cli=True, code=0)],
        session=SessionState(
            entries=(
                SessionEntry(id="a", parent=None, type="message", role="user", text="What is the capital of Germany?"),
                SessionEntry(id="b", parent="a", type="message", role="assistant", text="It is BANANA."),
            )
        ),
        files={"notes.md": b"Meet at noon.\n"},
    )


HOLDS = [
    ("reply", {"contains": "BANANA"}),
    ("reply", {"contains": ["It", "BANANA"], "not_contains": "Berlin", "matches": "^It .*\\.$"}),
    ("reply", {"equals": "It is BANANA."}),
    ("stop", "end_turn"),
    ("exit", 0),
    ("failure", None),
    ("requests", {"count": 2, "main": ">= 2", "summary": 0, "max": 2}),
    ("request", {"n": 2, "status": 200, "instructions_contain": "BANANA"}),
    ("request", {"n": 1, "status": 429}),
    ("every_request", {"instructions_contain": "BANANA", "model": "sim-m", "max_tokens": "<= 100"}),
    ("every_request", {"header": {"X-App": "cli", "x-other": None}}),
    ("no_request", {"body_contains": "Berlin"}),
    ("tools", {"name": "read", "count": 1, "ok": True}),
    ("tools", {"count": 2}),
    ("cache", {"hit_of_ideal": ">= 0.8", "read": 80, "breaks": 1, "break_at": "system[0]"}),
    ("cache", {"break_at": "system*"}),
    ("usage", {"context_tokens": 95, "cache_read": 85000, "context_window": None}),
    ("usage_total", {"output": 9}),
    ("shown", {"context_tokens": "true_value", "cost_usd": "true_value"}),
    ("attempts", {"count": 2, "kinds": ["rate_limited", None], "actions": ["retry", None]}),
    ("events", {"in_order": ["compaction_start", "compaction_end"], "contains": "run_end", "count": {"run_end": 1}}),
    ("events", {"not_contains": ["tool_start"]}),
    ("waited", ">= 7s"),
    ("session", {"valid": True, "holds": "BANANA"}),
    ("spawns", {"count": 1, "argv_contains": ["--resume", "S1"], "argv_not_contains": "--append-system-prompt"}),
    ("files", {"notes.md": {"contains": "noon"}, "other.md": {"exists": False}}),
    ("files", {"notes.md": "Meet at noon.\n"}),
    ("cost", "<= $0.01"),
]
FAILS = [
    ("reply", {"contains": "Berlin"}),
    ("reply", {"not_contains": "BANANA"}),
    ("reply", {"matches": "^BANANA"}),
    ("reply", {"equals": "BANANA"}),
    ("stop", "max_tokens"),
    ("stop", "!= end_turn"),
    ("exit", "> 0"),
    ("failure", "billing"),
    ("failure", {"kind": "billing"}),
    ("failure", {"message": "credit"}),
    ("requests", {"count": 3}),
    ("requests", {"main": "< 2"}),
    ("requests", {"summary": ">= 1"}),
    ("requests", {"max": 1}),
    ("request", {"n": 1, "status": 200}),
    ("request", {"n": 2, "body_contains": "Berlin"}),
    ("every_request", {"status": 200}),
    ("every_request", {"instructions_contain": "APPLE"}),
    ("every_request", {"header": {"x-app": "web"}}),
    ("every_request", {"header": {"x-app": None}}),
    ("no_request", {"status": 429}),
    ("tools", {"name": "read", "count": 2}),
    ("tools", {"name": "write"}),
    ("tools", {"name": "exec", "ok": True}),
    ("cache", {"hit_of_ideal": ">= 0.95"}),
    ("cache", {"read": 0}),
    ("cache", {"breaks": 0}),
    ("cache", {"break_at": "messages*"}),
    ("usage", {"context_tokens": 2080469}),
    ("usage", {"context_window": 200000}),
    ("usage_total", {"output": 0}),
    ("shown", {"context_tokens": 85501}),
    ("attempts", {"count": 1}),
    ("attempts", {"kinds": [None]}),
    ("attempts", {"actions": ["rotate", None]}),
    ("events", {"in_order": ["compaction_end", "compaction_start"]}),
    ("events", {"contains": "tool_start"}),
    ("events", {"not_contains": "run_end"}),
    ("events", {"count": {"run_end": 2}}),
    ("waited", "> 7s"),
    ("session", {"holds": "Berlin"}),
    ("session", {"valid": False}),
    ("spawns", {"count": 2}),
    ("spawns", {"argv_contains": "--session-id"}),
    ("spawns", {"argv_not_contains": "--resume"}),
    ("files", {"notes.md": {"contains": "midnight"}}),
    ("files", {"notes.md": ""}),
    ("files", {"other.md": {"contains": "x"}}),
    ("files", {"notes.md": {"exists": False}}),
    ("cost", 0),
]


@pytest.mark.parametrize(("name", "params"), HOLDS, ids=lambda v: str(v)[:40])
def test_it_passes_on_what_is_right(play: Evidence, name: str, params: Any) -> None:
    seen = look(play, name, params)
    assert seen.status == "pass", seen.saw
    assert seen.saw


@pytest.mark.parametrize(("name", "params"), FAILS, ids=lambda v: str(v)[:40])
def test_it_fails_on_what_is_wrong(play: Evidence, name: str, params: Any) -> None:
    seen = look(play, name, params)
    assert seen.status == "fail"
    assert seen.saw
    assert not seen.empty


def test_each_check_is_seen_to_pass_and_to_fail() -> None:
    """`verdict` has tests of its own below, because it needs a whole journal."""
    for table in (HOLDS, FAILS):
        assert {name for name, _ in table} == set(checks.names()) - {"verdict"}


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("requests", {"max": 5}),
        ("request", {"n": 1, "status": 200}),
        ("every_request", {"status": 200}),
        ("no_request", {"status": 500}),
        ("cache", {"breaks": 0}),
        ("cache", {"hit_of_ideal": ">= 0"}),
        ("shown", {"context_tokens": "true_value"}),
        ("attempts", {"count": 0}),
        ("events", {"not_contains": "tool_start"}),
        ("waited", "< 10s"),
        ("session", {"valid": True}),
        ("spawns", {"argv_not_contains": "-x"}),
        ("cost", 0),
        ("verdict", {"prefix_moved": "ok"}),
    ],
    ids=lambda v: str(v)[:30],
)
def test_a_check_that_looked_at_nothing_fails(evidence: Any, name: str, params: Any) -> None:
    """A runtime that made no request and reported an empty report proves nothing."""
    seen = look(evidence(session=SessionState()), name, params)
    assert (seen.status, seen.empty) == ("fail", True)
    assert "looked at nothing" in seen.saw


def test_counting_none_can_be_asked_for(evidence: Any) -> None:
    assert look(evidence(), "requests", {"count": 0}).status == "pass"


@pytest.mark.parametrize("name", ["reply", "stop", "exit", "failure", "tools", "usage", "attempts", "events"])
def test_a_step_that_is_no_prompt_is_nothing_to_look_at(play: Evidence, name: str) -> None:
    params = next(params for check, params in HOLDS if check == name)
    seen = look(play, name, params, step=7)
    assert (seen.status, seen.empty) == ("fail", True)


@pytest.mark.parametrize("name", ["stop", "exit", "tools", "usage", "usage_total", "shown", "attempts", "events"])
def test_what_a_runtime_does_not_tell_is_not_checked(evidence: Any, name: str) -> None:
    """A runtime that only prints its reply is not failed for it, and never passes either."""
    params = next(params for check, params in HOLDS if check == name)
    assert look(evidence(outcome=Outcome(reply="BANANA")), name, params).status == "not_checked"


def test_a_failed_run_is_told_by_kind_and_message(evidence: Any) -> None:
    play = evidence(outcome=BAD)
    assert look(play, "failure", "billing").status == "pass"
    assert look(play, "failure", {"kind": "billing", "message": "credit"}).status == "pass"
    assert look(play, "failure", None).status == "fail"
    assert "credit balance" in look(play, "failure", None).saw


def early(exchange: Any) -> list[dict[str, Any]]:
    """A 429 that asked for seven seconds, and the next request after one."""
    told = {"kind": "rate_limited", "message": "slow down", "retry_after": 7}
    return [exchange(1, status=429, at=0.0, error=told, tokens=None), exchange(2, at=1.0)]


@pytest.mark.parametrize(("wanted", "status"), [("bad", "pass"), ("ok", "fail")])
def test_a_check_of_the_verdict_can_be_expected(evidence: Any, exchange: Any, wanted: str, status: str) -> None:
    seen = look(evidence(exchanges=early(exchange)), "verdict", {"sent_before_retry_after": wanted})
    assert seen.status == status
    assert "sent_before_retry_after is bad: " in seen.saw


def test_a_check_of_the_verdict_that_could_not_be_made_is_not_checked(evidence: Any, exchange: Any) -> None:
    play = evidence(exchanges=[exchange(1)])
    assert look(play, "verdict", {"sent_before_retry_after": "ok"}).status == "not_checked"
    assert look(play, "verdict", {"sent_before_retry_after": "not_checked"}).status == "pass"
    assert "has no check `nonsense`" in look(play, "verdict", {"nonsense": "ok"}).saw


def test_a_killed_prompt_has_no_reply_to_look_at(evidence: Any) -> None:
    seen = look(evidence(outcome=Outcome(killed=True)), "reply", {"contains": "x"})
    assert (seen.status, seen.empty) == ("fail", True)


def test_each_wait_must_hold_and_a_second_account_need_not_wait(evidence: Any, exchange: Any) -> None:
    """The 429 of one account is followed at once by the spare account, and after its time by itself."""
    calls = [
        exchange(1, status=429, key="a", at=0.0),
        exchange(2, status=200, key="b", at=0.0),
        exchange(3, status=429, key="a", at=7.0),
        exchange(4, status=200, key="a", at=9.0),
    ]
    seen = look(evidence(exchanges=calls), "waited", ">= 7s")
    assert seen.status == "fail"
    assert "request 3 and 4 2" in seen.saw
    assert look(evidence(exchanges=calls[:3]), "waited", ">= 7s").status == "pass"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"system": "A", "messages": [{"role": "user", "content": "hi"}]}, "A"),
        ({"system": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}, "A\nB"),
        ({"messages": [{"role": "developer", "content": "A"}, {"role": "user", "content": "hi"}]}, "A"),
        ({"instructions": "A", "input": "hi"}, "A"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "A"}]},
                    {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]}, "A"),
        ({"systemInstruction": {"parts": [{"text": "A"}]},
          "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, "A"),
        ({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "A"}]}, ""),
    ],
    ids=["anthropic", "blocks", "developer", "responses", "leading", "gemini", "none"],
)  # fmt: skip
def test_instructions_are_found_wherever_the_api_has_them(body: dict[str, Any], told: str) -> None:
    from claw.lab.requests import instructions

    assert instructions(body) == told


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("reply", {}),
        ("reply", {"matches": "("}),
        ("requests", {"count": "=> 3"}),
        ("every_request", {"kind": "main"}),
        ("every_request", {"kind": "mian", "status": 200}),
        ("request", {"n": 0, "status": 200}),
        ("events", {"contains": "compaction"}),
        ("verdict", {"prefix_moved": "good"}),
    ],
    ids=str,
)
def test_a_check_refuses_what_it_cannot_ask(name: str, params: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(params, checks.load(name).Params, strict=True)
