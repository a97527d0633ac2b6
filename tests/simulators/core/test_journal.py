"""The journal: bounded, redacted, and honest about what it dropped."""

from typing import Any

import pytest

from simulators.core.answer import SimulatedAnswer
from simulators.core.journal import KEPT_ANSWER, Exchange, Journal, redact, tokens_dict
from simulators.core.turn import Tokens
from simulators.core.wire import Chunk, Head
from tests.simulators.core.plain import NOW, ask, engine, request, say


def exchange(n: int, body: bytes = b"") -> Exchange:
    return Exchange(n=n, at=1.0, key="k…", dialect="plain", path="/plain", body=body)


def test_the_oldest_leave_when_there_are_too_many() -> None:
    journal = Journal(max_exchanges=3)
    for n in range(1, 6):
        journal.add(exchange(n))
    assert ([e.n for e in journal.exchanges], journal.dropped, len(journal)) == ([3, 4, 5], 2, 3)
    assert [e.n for e in journal.after(4)] == [5]
    assert journal.to_dict(after=4)["dropped"] == 2
    assert [e["n"] for e in journal.to_dict(after=4)["exchanges"]] == [5]


def test_the_oldest_leave_when_bodies_are_too_big_and_the_latest_always_stays() -> None:
    journal = Journal(max_bytes=10)
    for n, size in enumerate((4, 4, 4, 50), 1):
        journal.add(exchange(n, b"x" * size))
    assert ([e.n for e in journal.exchanges], journal.dropped) == ([4], 3)
    for n in (5, 6):
        journal.add(exchange(n, b"x" * 5))
    assert [e.n for e in journal.exchanges] == [5, 6]


def test_it_keeps_a_thousand() -> None:
    journal = Journal()
    for n in range(1, 1003):
        journal.add(exchange(n))
    assert (len(journal), journal.dropped) == (1000, 2)


@pytest.mark.parametrize(
    ("body", "request_"),
    [(b"", None), (b'{"a": [1]}', {"a": [1]}), (b"\xffhm", "\ufffdhm"), (b"[" * 10_000, "[" * 10_000)],
)
def test_the_request_is_decoded_when_it_is_looked_at(body: bytes, request_: object) -> None:
    assert exchange(1, body).request == request_


def test_what_is_still_under_way_has_no_end() -> None:
    made = exchange(1).to_dict()
    assert (made["ended"], made["status"], made["tokens"], made["usage"], made["cache"]) == (None,) * 5
    assert "nearest" not in made


def test_keys_cannot_be_read() -> None:
    assert redact("sk-ant-api03-abcdefghijkl") == "sk-ant…ijkl"
    assert redact("sk-test") == "sk-…"
    assert redact("k") == "k…"


def test_tokens() -> None:
    tokens = Tokens(input=1, cache_read=2, cache_write_5m=3, cache_write_1h=4, output=5, thinking=2)
    assert tokens_dict(tokens) == {
        "input": 1, "cache_read": 2, "cache_write_5m": 3, "cache_write_1h": 4, "output": 5,
    }  # fmt: skip


def last(document: str) -> dict[str, Any]:
    sim = engine(script=document)
    ask(sim, say("hi"), key="a")
    return sim.account("a").journal.exchanges[-1].to_dict()


def test_a_refusal_says_its_kind_and_how_long_to_wait_as_it_was_sent() -> None:
    entry = last("turns: [{error: {kind: rate_limited, retry_after: 7}}]")
    assert (entry["error"]["kind"], entry["error"]["retry_after"]) == ("rate_limited", 7)


def test_a_raw_refusal_has_what_its_headers_and_body_say() -> None:
    body = "{error: {type: odd, message: 'come back'}}"
    entry = last(f"turns: [{{raw: {{status: 529, headers: {{retry-after-ms: '1500'}}, body: {body}}}}}]")
    assert entry["error"] == {"kind": None, "message": "come back", "retry_after": 1.5}


def test_an_answer_is_no_refusal() -> None:
    assert "error" not in last("turns: [{text: hello}]")


def test_of_the_headers_only_those_that_change_the_question_are_kept() -> None:
    headers = (("x-api-key", "secret"), ("anthropic-beta", "one,two"), ("user-agent", "x"))
    entry = Exchange(n=1, at=0.0, key="k…", dialect="plain", path="/plain", headers=headers).to_dict()
    assert entry["headers"] == {"anthropic-beta": "one,two"}


def test_one_exchange_in_detail_has_its_answer_and_how_long_it_took() -> None:
    sim = engine()
    answer = sim.handle(request(say("hello")), NOW)
    body = b"".join(event.data for event in answer if isinstance(event, Chunk))
    answer.close(NOW + 2.5, "complete")
    exchange = sim.account("k").journal.find(1)
    assert exchange is not None
    detail = exchange.detail()
    assert (detail["answer"].encode(), detail["answer_cut"], detail["took"]) == (body, False, 2.5)
    assert {name: detail[name] for name in exchange.to_dict()} == exchange.to_dict()
    assert sim.account("k").journal.find(2) is None


def test_of_a_long_answer_the_beginning_is_kept() -> None:
    exchange = Exchange(n=1, at=0.0, key="k", dialect="plain", path="/")
    answer = SimulatedAnswer([Head(200), *[Chunk(b"x" * 1000)] * 5000], exchange=exchange)
    for _ in answer:
        pass
    answer.close(1.0, "complete")
    assert len(exchange.answer) == KEPT_ANSWER
    assert exchange.detail()["answer_cut"] is True
    assert exchange.frames == 5000
