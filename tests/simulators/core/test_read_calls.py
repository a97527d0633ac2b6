"""What was read once is not read again, and nobody can tell."""

import pytest

from simulators.core.read_calls import SMALL, ReadCalls
from simulators.core.turn import ModelCall
from simulators.core.wire import Request
from tests.simulators.core.plain import ask, engine, reply, request, say

CALL = ModelCall(dialect="plain", operation="generate", model="m")


def made(body: bytes) -> Request:
    return Request(method="POST", path="/plain", body=body)


def test_two_generations_bound_it_and_what_is_asked_for_stays() -> None:
    kept = ReadCalls(generation=2)
    for body in (b"a", b"b", b"c"):
        kept.put(made(body), CALL)
        assert kept.get(made(b"a")) is CALL  # moves over when its generation is old
    kept.put(made(b"d"), CALL)
    kept.put(made(b"e"), CALL)
    assert [kept.get(made(body)) is CALL for body in (b"b", b"e")] == [False, True]


def test_a_long_body_is_not_kept() -> None:
    kept = ReadCalls()
    kept.put(made(b"x" * (SMALL + 1)), CALL)
    assert kept.get(made(b"x" * (SMALL + 1))) is None


def reads(monkeypatch: pytest.MonkeyPatch, sim: object) -> list[bytes]:
    """The bodies that the dialect was given to read."""
    seen: list[bytes] = []
    dialect = sim.parts.dialects["plain"]  # type: ignore[attr-defined]
    parse = dialect.parse

    def noted(request: Request, *rest: object) -> ModelCall:
        seen.append(request.body)
        return parse(request, *rest)

    monkeypatch.setattr(dialect, "parse", noted)
    return seen


def test_the_same_bytes_are_read_once_and_answered_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = engine()
    seen = reads(monkeypatch, sim)
    answers = [ask(sim, say("hello", stream=stream)).body for stream in (False, False, True)]
    assert answers[0] == answers[1]
    assert len(seen) == 2
    assert [e.kind for e in sim.account("k").journal.exchanges] == ["main"] * 3
    assert [e.stream for e in sim.account("k").journal.exchanges] == [False, False, True]


def test_where_the_kind_may_depend_on_the_number_each_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = engine()
    account = sim.account("k").load("kinds: {title: {call: 2}}")
    seen = reads(monkeypatch, sim)
    for _ in range(3):
        ask(sim, say("hello"))
    assert [e.kind for e in account.journal.exchanges] == ["main", "title", "main"]
    assert len(seen) == 3


def test_another_document_reads_afresh() -> None:
    """Its models may differ."""
    sim = engine()
    account = sim.account("k")
    ask(sim, say("hello there", model="claude-sonnet-4-5"))
    account.load("models: {claude-sonnet-4-5: {context_window: 1}}\ntokenizer: words")
    answer = sim.handle(request(say("hello there", model="claude-sonnet-4-5")), 0.0)
    assert reply(list(answer)).text.startswith("context_overflow")
