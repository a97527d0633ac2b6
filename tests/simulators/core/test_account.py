"""What can be asked of an account."""

import pytest

from simulators.core.document import DocumentError
from tests.simulators.core.plain import NOW, ask, engine, say


def test_its_state_is_what_the_control_api_answers() -> None:
    sim = engine()
    account = sim.account("k").load(
        "tokenizer: words\nturns: [{text: a b}, {text: c}]\nfaults: [{kind: busy, on: {call: 9}}]\nlimits: {rpm: 60}"
    )
    ask(sim, say("word " * 1024, marks={"0": "5m"}))
    assert account.state(NOW) == {
        "script": {"next": 1, "turns": 2, "unused": ["turns[1]", "faults[0]"]},
        "unmatched": 0,
        "limits": {
            "requests": {"limit": 60, "remaining": 59, "reset": NOW + 1},
            "concurrency": {"limit": None, "open": 0},
            "spend_usd": {"limit": None, "spent": 0.0},
        },
        "cache": {"entries": 1},
        "totals": {
            "requests": 1,
            "tokens": {"input": 0, "cache_read": 0, "cache_write_5m": 1024, "cache_write_1h": 0, "output": 2},
            "cost_usd": 0.0,
        },
        "now": NOW,
    }


def test_what_must_fail_a_test_at_its_end() -> None:
    sim = engine()
    account = sim.account("k").load("turns: [{text: a}, {text: b}]\nfaults: [{kind: busy, on: {call: 9}}]")
    assert account.problems() == ["turns[0]: never used", "turns[1]: never used", "faults[0]: never used"]
    account.add_fault({"kind": "doubled", "on": {"call": 1}})
    for _ in range(3):
        ask(sim, say("x"))
    assert account.problems() == ["request 3 (/plain): no scripted answer", "faults[0]: never used"]


def test_unused_things_may_be_allowed_and_unmatched_calls_not() -> None:
    sim = engine()
    account = sim.account("k").load(
        "unused: allow\nrules: [{when: {last_user: y}, reply: {text: a}}]\nfaults: [{kind: busy, on: {call: 9}}]"
    )
    assert account.problems() == []
    ask(sim, say("x"))
    assert account.problems() == ["request 1 (/plain): no scripted answer; rule: rules[0]"]


def test_a_bad_document_changes_nothing() -> None:
    sim = engine()
    account = sim.account("k").load("turns: [{text: first}]")
    with pytest.raises(DocumentError):
        account.load("trns: []")
    with pytest.raises(DocumentError):
        account.add_fault("bussy")
    assert "first" in ask(sim, say("x")).text
    assert account.document.turns[0].text == "first"


def test_loading_starts_afresh() -> None:
    sim = engine()
    account = sim.account("k").load("turns: [{text: first}]")
    ask(sim, say("x"))
    account.load("turns: [{text: second}]")
    assert len(account.journal) == 0 and account.state(NOW)["totals"]["requests"] == 0
    assert "second" in ask(sim, say("x")).text
