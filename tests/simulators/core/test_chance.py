"""Chance is a hash."""

from simulators.core.chance import Chance, digest, draw


def test_the_same_in_the_same_out_and_in_the_unit_interval() -> None:
    draws = [draw(1, n, "x") for n in range(1000)]
    assert draws == [draw(1, n, "x") for n in range(1000)]
    assert all(0 <= d < 1 for d in draws) and 0.45 < sum(draws) / 1000 < 0.55


def test_seed_number_and_purpose_all_count() -> None:
    assert len({draw(1, 1, "a"), draw(2, 1, "a"), draw(1, 2, "a"), draw(1, 1, "b"), draw(11, 1, "a")}) == 5
    assert draw(1, 11, "a") != draw(11, 1, "a")


def test_one_more_draw_shifts_no_other() -> None:
    chance = Chance(7, 3)
    first = chance("a")
    chance("b")
    assert chance("a") == first == draw(7, 3, "a")


def test_as_many_bytes_as_asked_for() -> None:
    assert [len(digest(0, 0, "x", size)) for size in (1, 8, 64)] == [1, 8, 64]
