import json

import pytest

from claw.core.usage import Usage
from claw.host import HostModels
from claw.ports import ModelFacts

KINDS = {"none", "budget", "adaptive", "always"}


def test_an_alias_names_the_same_model():
    models = HostModels()
    assert models.get("anthropic", "claude-sonnet-4-5") == models.get("anthropic", "claude-sonnet-4-5-20250929")


def test_prices_are_the_vendors():
    """Anthropic: 5 minutes 1.25 times the base, an hour twice, a read a tenth (1,000 tokens each: 0.00975 USD)."""
    price = HostModels().get("anthropic", "claude-sonnet-4-5").price
    cost = price.cost(Usage(cache_write_5m=1000, cache_write_1h=1000))
    assert cost == pytest.approx(0.00975)


@pytest.mark.parametrize("provider", ["claude-cli", "openrouter"])
def test_another_seller_of_a_model_has_its_window(provider):
    assert HostModels().get(provider, "anthropic/claude-opus-4-8").context_window == 1_000_000


def test_an_unknown_model_gets_the_defaults_and_no_price():
    assert HostModels().get("anthropic", "sim-anything") == ModelFacts(id="sim-anything")


def test_every_row_is_sound():
    models = HostModels()
    for provider in ("anthropic", "openai", "gemini"):
        assert models.names(provider)
        for name in models.names(provider):
            facts = models.get(provider, name)
            assert facts.thinking in KINDS
            assert 0 < facts.max_output <= facts.context_window


def test_another_table_may_be_given(tmp_path):
    row = {"id": "m", "provider": "p", "context_window": 9, "max_output": 3, "price": {}, "thinking": "none"}
    (tmp_path / "m.json").write_text(json.dumps([row]))
    assert HostModels(tmp_path / "m.json").get("p", "m").context_window == 9
