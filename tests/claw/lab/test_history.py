"""A made-up past: as long as was asked, the same bytes for the same seed."""

import pytest

from claw.lab.history import conversation
from claw.lab.schema import History


def words(text: str) -> int:
    return len(text.split())


def chars4(text: str) -> int:
    return -(-len(text) // 4)


def test_it_has_the_turns_and_the_tokens_that_were_asked_for() -> None:
    made = conversation(History(turns=40, tokens=15_000, seed=7), words)
    assert len(made) == 40
    assert sum(words(asked) + words(told) for asked, told in made) == 15_000


@pytest.mark.parametrize("count", [words, chars4])
def test_every_tokenizer_comes_near(count: object) -> None:
    made = conversation(History(turns=10, tokens=5_000, seed=1), count)  # type: ignore[arg-type]
    total = sum(count(asked) + count(told) for asked, told in made)  # type: ignore[operator]
    assert total == pytest.approx(5_000, rel=0.25)


def test_a_seed_decides_every_byte() -> None:
    history = History(turns=3, tokens=300, seed=7)
    assert conversation(history, words) == conversation(history, words)
    assert conversation(history, words) != conversation(History(turns=3, tokens=300, seed=8), words)
