"""The cache's record: ratios over main calls, money against ideal money, breaks with their price."""

from typing import Any

import pytest

from claw.lab.cache_lens import Break, describe, look
from simulators.core.turn import ModelInfo

MODEL = ModelInfo(
    id="m", provider="sim", context_window=1, max_output=1, input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75,
    cache_write_1h=6.0,
)  # fmt: skip
MODELS = {"m": MODEL}


def call(
    n: int, *, ideal: int = 0, miss: dict[str, Any] | None = None, kind: str = "main", **tokens: int
) -> dict[str, Any]:
    counts = {"input": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "output": 0} | tokens
    prices = {"input": 3.0, "cache_read": 0.3, "cache_write_5m": 3.75, "cache_write_1h": 6.0, "output": 15.0}
    cost = sum(counts[name] * prices[name] for name in counts) / 1e6
    cache = {"ideal_read": ideal, "breakpoints": [], "miss": miss}
    return {"n": n, "kind": kind, "model": "m", "tokens": counts, "cache": cache, "cost_usd": cost}


MOVED = {"level": "system", "at": "system[0]", "why": "content changed", "lost_tokens": 1000}


def test_a_perfect_cache_costs_what_is_ideal() -> None:
    lens = look([call(1, cache_write_5m=1000), call(2, ideal=1000, cache_read=1000, input=50)], models=MODELS)
    assert (lens.hit_of_ideal, lens.breaks) == (1.0, ())
    assert lens.hit_ratio == pytest.approx(1000 / 2050)
    assert lens.ideal_cost_usd == lens.cost_usd


def test_a_break_costs_the_difference_between_a_write_and_a_read() -> None:
    lens = look([call(1, cache_write_5m=1000), call(2, ideal=1000, cache_write_5m=1050, miss=MOVED)], models=MODELS)
    extra = 1000 * (3.75 - 0.3) / 1e6
    assert lens.hit_of_ideal == 0.0
    assert lens.cost_usd - lens.ideal_cost_usd == pytest.approx(extra)
    assert lens.breaks == (
        Break(n=2, at="system[0]", why="content changed", lost_tokens=1000, cost_usd=pytest.approx(extra)),  # type: ignore[arg-type]
    )


def test_what_was_not_even_written_was_paid_as_input_and_an_hours_write_is_dearer() -> None:
    plain = look([call(1, ideal=1000, input=1000)], models=MODELS)
    assert plain.cost_usd - plain.ideal_cost_usd == pytest.approx(1000 * (3.0 - 0.3) / 1e6)
    hour = look([call(1, ideal=1000, cache_write_1h=400, input=900)], models=MODELS)
    assert hour.cost_usd - hour.ideal_cost_usd == pytest.approx((400 * 5.7 + 600 * 2.7) / 1e6)


def test_side_calls_are_paid_for_and_not_compared() -> None:
    lens = look([call(1, ideal=100, cache_read=100), call(2, kind="title", ideal=500, input=500)], models=MODELS)
    assert (lens.requests, lens.hit_of_ideal) == (2, 1.0)
    assert lens.cost_usd > 500 * 3.0 / 1e6


def test_refused_calls_and_empty_journals_count_nothing() -> None:
    refused = {"n": 1, "kind": "main", "model": "m", "tokens": None, "cache": None, "cost_usd": 0.0}
    lens = look([refused])
    assert (lens.requests, lens.hit_ratio, lens.hit_of_ideal, lens.cost_usd) == (0, None, None, 0)
    assert describe(lens) == "cache: no call was answered"


def test_a_model_without_prices_is_no_error() -> None:
    assert look([call(1, ideal=10, input=10, miss=MOVED)], models={}).breaks[0].cost_usd == 0.0


def test_the_line_for_people_names_the_worst_break() -> None:
    small = MOVED | {"at": "tools[0]", "lost_tokens": 1}
    calls = [call(1, ideal=900, cache_read=450, input=450, miss=small), call(2, ideal=100, input=100, miss=MOVED)]
    assert "450 of 1,000 tokens that it could (45%); 2 breaks, the worst at system[0]" in describe(
        look(calls, models=MODELS)
    )
