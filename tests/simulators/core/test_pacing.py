"""Waits of an answer."""

from collections.abc import Iterator

import pytest

from simulators.core.account_file import Pacing
from simulators.core.pacing import before_head, is_delta, paced
from simulators.core.wire import Chunk, Head, Wait, WireEvent


def half(purpose: str) -> float:
    return 0.5


def stream() -> Iterator[WireEvent]:
    yield Head(200)
    for name in ("message_start", "ping", "content_block_delta", "content_block_delta", "message_delta"):
        yield Chunk(b"", name)


def waits(pacing: Pacing, chance: float = 0.5) -> list[float]:
    return [e.seconds for e in paced(stream(), pacing, lambda _: chance) if isinstance(e, Wait)]


def test_no_pacing_no_waits() -> None:
    assert waits(Pacing()) == []
    assert before_head(Pacing(), half, 100, stream=False) == 0


def test_every_delta_but_the_first_waits() -> None:
    assert waits(Pacing(tokens_per_s=10)) == [0.1]


def test_jitter_stretches_and_shortens() -> None:
    pacing = Pacing(tokens_per_s=10, jitter=0.2, first_token_ms=1000)
    assert waits(pacing, 0.0) == [pytest.approx(0.08)]
    assert waits(pacing, 1.0) == [pytest.approx(0.12)]
    assert before_head(pacing, lambda _: 0.0, 0, stream=True) == pytest.approx(0.8)


def test_an_answer_in_one_piece_waits_for_all_of_it() -> None:
    pacing = Pacing(tokens_per_s=10, first_token_ms=500)
    assert before_head(pacing, half, 20, stream=False) == 2.5
    assert before_head(pacing, half, 20, stream=True) == 0.5


@pytest.mark.parametrize(
    ("name", "delta"),
    [("content_block_delta", True), ("response.output_text.delta", True), ("", True), ("message_delta", False),
     ("ping", False), ("message_stop", False)],
)  # fmt: skip
def test_what_is_a_delta(name: str, delta: bool) -> None:
    assert is_delta(name) is delta
