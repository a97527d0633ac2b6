"""What was read once is not read again, and nobody can tell."""

from collections.abc import Callable, Iterable

import pytest

from simulators.core.read_calls import SMALL, ReadCalls
from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk, Request
from tests.simulators.core.plain import NOW, ask, engine, reply, request, say

RULE = "rules: [{when: {has_tools: false}, reply: {text: one two}}]"
CALL = ModelCall(dialect="plain", operation="generate", model="m")


def made(body: bytes) -> Request:
    return Request(method="POST", path="/plain", body=body)


def test_two_generations_bound_it_and_what_is_asked_for_stays() -> None:
    kept = ReadCalls(generation=2)
    for body in (b"a", b"b", b"c"):
        kept.put(made(body), CALL)
        assert kept.get(made(b"a")).call is CALL  # moves over when its generation is old
    kept.put(made(b"d"), CALL)
    kept.put(made(b"e"), CALL)
    assert [kept.get(made(body)) is not None for body in (b"b", b"e")] == [False, True]


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


class TestAnswersThatComeAgain:
    """What was said to the same request is not worked out again; answers and journal are as if it had been."""

    @staticmethod
    def prepared(sim: object, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The ids of the answers that were made from a prepared one."""
        used: list[str] = []
        dialect = sim.parts.dialects["plain"]  # type: ignore[attr-defined]

        def prepare(call: ModelCall, turn: ModelTurn, tokens: Tokens) -> Callable[[Stamp], Iterable[Chunk]]:
            def render(stamp: Stamp) -> Iterable[Chunk]:
                used.append(stamp.message_id)
                if call.stream:
                    return dialect.encode_stream(call, turn, tokens, stamp)
                return (Chunk(dialect.encode_json(call, turn, tokens, stamp)),)

            return render

        monkeypatch.setattr(dialect, "prepare", prepare, raising=False)
        return used

    def test_from_the_second_time_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sim, plain_one = engine(), engine()
        used = self.prepared(sim, monkeypatch)
        for one in (sim, plain_one):
            one.account("k").load(
                "tokenizer: words\nturns: [{text: one two}]\notherwise: repeat\nunused: allow\n" + RULE
            )
        for _ in range(4):
            assert ask(sim, say("hello", stream=True)).body == ask(plain_one, say("hello", stream=True)).body
        assert len(used) == 3
        entries = [[e.to_dict() for e in one.account("k").journal.exchanges] for one in (sim, plain_one)]
        assert entries[0] == entries[1]
        assert sim.account("k").state(NOW)["totals"] == plain_one.account("k").state(NOW)["totals"]

    def test_not_where_the_cache_gives_something_else(self) -> None:
        sim = engine()
        sim.account("k").load("tokenizer: words\n" + RULE)
        for now in (NOW, NOW + 1, NOW + 2, NOW + 900):
            ask(sim, say("word " * 1200, marks={"0": "5m"}), now=now)
        read = [e.tokens.cache_read for e in sim.account("k").journal.exchanges if e.tokens]
        assert read == [0, 1200, 1200, 0]

    def test_a_turn_fault_changes_only_the_call_that_it_meets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sim = engine()
        self.prepared(sim, monkeypatch)
        sim.account("k").load("tokenizer: words\nfaults: [{kind: doubled, on: {call: 3}}]\n" + RULE)
        answers = [ask(sim, say("hello")).text for _ in range(4)]
        assert [answer.isupper() for answer in answers] == [False, False, True, False]
        usage = [e.usage for e in sim.account("k").journal.exchanges]
        assert [u and u["output"] for u in usage] == [2, 2, 4, 2]
