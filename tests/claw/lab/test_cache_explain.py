"""Saved journals are exact, saved requests are inferred."""

import json
from typing import Any

import pytest

from claw.core.errors import ClawError
from claw.lab.cache_explain import explain, require_something

LONG = "Be careful with every word that you write. " * 300


def request(system: str, *texts: str) -> dict[str, Any]:
    marked = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    return {"model": "claude-sonnet-4-5", "max_tokens": 50, "system": marked, "messages": messages}


def lines(*records: Any) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def test_a_clock_in_the_instructions_is_found_in_the_requests_alone() -> None:
    told = explain(lines(request("10:00 " + LONG, "hi"), request("10:05 " + LONG, "hi", "yes?", "go")), source="r")
    assert told.requests == 2
    (place,) = told.breaks
    assert (place.n, place.at, place.certainty) == (2, "system[0]", "inferred")
    assert place.lost_tokens > 1024
    assert told.cost_usd - told.ideal_cost_usd < place.cost_usd + 1e-9


def test_a_prefix_that_holds_has_no_break() -> None:
    told = explain(lines(request(LONG, "hi"), request(LONG, "hi", "yes?", "go")), source="r")
    assert told.breaks == ()
    assert told.hit_of_ideal is not None and told.hit_of_ideal > 0.99  # only `hi` bore no breakpoint


def test_the_times_that_requests_bear_count() -> None:
    first, later = request(LONG, "hi"), request(LONG, "hi", "yes?", "go")
    told = explain(lines({"at": 2e9, "request": first}, {"at": 2e9 + 400, "request": later}), source="r")
    assert "expired" in told.breaks[0].why


def test_a_journal_is_taken_at_its_word() -> None:
    miss = {"level": "system", "at": "system[0]", "why": "content changed", "lost_tokens": 5, "vendor_reason": None}
    exchange = {
        "n": 3, "path": "/v1/messages", "kind": "main", "model": "claude-sonnet-4-5", "request": request(LONG, "hi"),
        "answered_by": "turns[0]", "cost_usd": 0.1, "cache": {"ideal_read": 9, "breakpoints": [], "miss": miss},
        "tokens": {"input": 9, "cache_read": 4, "cache_write_5m": 5, "cache_write_1h": 0, "output": 1},
    }  # fmt: skip
    told = explain(json.dumps({"exchanges": [exchange]}).encode(), source="j")
    assert [(p.n, p.certainty) for p in told.breaks] == [(3, "exact")]


def test_requests_that_are_refused_are_unknown_and_nothing_but_those_is_no_explanation() -> None:
    broken = request(LONG, "hi") | {"max_tokens": -1}
    told = explain(lines(request(LONG, "hi"), broken), source="r")
    assert (told.requests, told.unknown) == (1, (2,))
    with pytest.raises(ClawError, match="r: none of its 1 requests"):
        require_something(explain(lines(broken), source="r"), "r")


def test_what_is_neither_says_so() -> None:
    with pytest.raises(ClawError, match="no `n`"):
        explain(b'[{"hello": 1}]', source="x")
