"""The catalogue of models, and what they cost."""

import pytest

from simulators.core.account_file import ModelTable
from simulators.core.models import catalogue, cost_usd
from simulators.core.turn import Tokens


def test_exactly_then_by_alias_then_sim() -> None:
    models = catalogue()
    assert models["claude-sonnet-4-5-20250929"] is models["claude-sonnet-4-5"]
    assert models["claude-sonnet-4-5"].id == "claude-sonnet-4-5-20250929"
    made = models["sim-anything"]
    assert (made.context_window, made.min_cacheable_tokens, made.input, made.provider) == (200_000, 1024, 0, "sim")
    assert models.get("claude-sonnet-9") is None
    assert "gpt-5.5" in models and len(models) == len(list(models)) > 70


@pytest.mark.parametrize(
    ("name", "window", "minimum"),
    [("claude-opus-5-5", 1_000_000, 512), ("claude-sonnet-4-5", 200_000, 1024), ("claude-opus-4-7", 1_000_000, 2048),
     ("claude-haiku-4-5", 200_000, 4096)],
)  # fmt: skip
def test_facts(name: str, window: int, minimum: int) -> None:
    assert (catalogue()[name].context_window, catalogue()[name].min_cacheable_tokens) == (window, minimum)


def test_every_row_is_sound() -> None:
    for info in catalogue().values():
        assert info.context_window > 0 and info.max_output > 0 and info.min_cacheable_tokens >= 512
        assert 0 <= info.cache_read <= info.input and info.provider in ("anthropic", "openai", "gemini")
        for limit, tier in info.features.get("tiers", {}).items():
            assert int(limit) >= 100_000 and set(tier) <= set(info.__struct_fields__), info.id


def test_an_account_changes_a_model_and_adds_one() -> None:
    models = catalogue().with_changes(
        {"claude-sonnet-4-5": ModelTable(context_window=20_000), "mine": ModelTable(input=3.0, features={"x": True})}
    )
    assert models["claude-sonnet-4-5-20250929"].context_window == 20_000
    assert models["claude-sonnet-4-5"].input == catalogue()["claude-sonnet-4-5"].input
    assert (models["mine"].input, models["mine"].provider, models["mine"].features) == (3.0, "sim", {"x": True})
    assert catalogue().get("mine") is None
    assert catalogue().with_changes({}) is catalogue()


def test_a_new_window_replaces_the_old_input_limit() -> None:
    models = catalogue().with_changes({"gpt-6-sol": ModelTable(context_window=1000)})
    assert "max_input" in catalogue()["gpt-6-sol"].features and "max_input" not in models["gpt-6-sol"].features


def test_what_a_vendor_serves() -> None:
    served = catalogue().with_changes({"mine": ModelTable()}).served_by("gemini")
    assert "gemini-2.5-pro" in served and "mine" in served and "gpt-5" not in served


def test_cost() -> None:
    model = catalogue()["claude-sonnet-4-5"]
    tokens = Tokens(
        input=1_000_000, cache_read=1_000_000, cache_write_5m=1_000_000, cache_write_1h=1_000_000, output=1_000_000
    )
    assert cost_usd(model, tokens) == pytest.approx(3 + 0.3 + 3.75 + 6 + 15)


def test_cost_steps_up_with_the_size_of_the_prompt() -> None:
    model = catalogue()["claude-haiku-5-5"]
    assert cost_usd(model, Tokens(input=100_000, output=1000)) == pytest.approx(0.01 + 0.0005)
    assert cost_usd(model, Tokens(input=100_001, output=1000)) == pytest.approx(0.0500005 + 0.0025)
