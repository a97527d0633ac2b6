"""An answer books what happened, once, in whatever order a shell calls it."""

from simulators.core.answer import SimulatedAnswer, merged
from simulators.core.journal import Exchange
from simulators.core.wire import Chunk, Head, Wait


def test_begin_and_end_come_once() -> None:
    booked: list[object] = []
    exchange = Exchange(n=1, at=0, key="", dialect="", path="")
    events = [Head(103), Head(200), Chunk(b"a"), Chunk(b"b")]
    answer = SimulatedAnswer(
        events, exchange=exchange, lead=2.0, begin=lambda: booked.append("begin"), end=booked.append
    )
    assert list(answer) == [Wait(2.0), *events]
    answer.close(1.0, "complete")
    answer.close(2.0, "cut")
    assert booked == ["begin", True]
    assert (exchange.status, exchange.frames, exchange.ended) == (200, 2, "complete")


def test_an_answer_that_was_never_read_only_ends() -> None:
    booked: list[object] = []
    answer = SimulatedAnswer([Head(200)], begin=lambda: booked.append("begin"), end=booked.append)
    answer.close(1.0, "client_gone")
    assert list(answer) == [Head(200)]
    assert booked == [False]


def test_an_error_does_not_begin() -> None:
    booked: list[object] = []
    answer = SimulatedAnswer([Head(429), Chunk(b"no")], begin=lambda: booked.append("begin"), end=booked.append)
    list(answer)
    answer.close(1.0, "complete")
    assert booked == [False]


def test_later_headers_replace_earlier_ones() -> None:
    assert merged((("a", "1"), ("b", "2")), (("a", "3"),)) == (("a", "3"), ("b", "2"))
