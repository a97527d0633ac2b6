"""Which models are asked, with which credentials, where."""

import pytest

from claw.core.errors import ClawError
from claw.runtime.config import Config, ModelChoice, Profile, ProviderOptions
from claw.runtime.failover import base_url, candidates, credentials, split

CHAIN = Config(model=ModelChoice(primary="a/1", fallbacks=("b/2", "c/3", "a/1")))


def test_the_chain_begins_with_the_model_asked_for() -> None:
    assert candidates(CHAIN, None) == ("a/1", "b/2", "c/3")
    assert candidates(CHAIN, "b/2") == ("b/2", "c/3")


def test_a_model_asked_for_by_name_and_not_in_the_chain_is_the_only_one() -> None:
    assert candidates(CHAIN, "x/y") == ("x/y",)


def test_a_reference_has_a_provider_and_a_model_that_may_hold_slashes() -> None:
    assert split("openrouter/anthropic/claude") == ("openrouter", "anthropic/claude")
    for wrong in ("claude", "/m", "p/", ""):
        with pytest.raises(ClawError, match="PROVIDER/MODEL"):
            split(wrong)


def test_profiles_of_the_provider_in_the_order_of_the_file_else_the_environment() -> None:
    profiles = (
        Profile(id="x", provider="openai", key="0"),
        Profile(id="b", provider="anthropic", key_env="B"),
        Profile(id="a", provider="anthropic", key="1", model="m"),
    )
    found = credentials(Config(profiles=profiles), "anthropic", {"B": "2", "ANTHROPIC_API_KEY": "3"})
    assert [(c.id, c.key, c.model) for c in found] == [("b", "2", None), ("a", "1", "m")]
    (alone,) = credentials(Config(), "anthropic", {"ANTHROPIC_AUTH_TOKEN": "4"})
    assert (alone.id, alone.key) == ("", "4")
    assert credentials(Config(), "anthropic", {}) == ()
    assert credentials(Config(), "acme", {"ANTHROPIC_API_KEY": "3"}) == ()


def test_the_address_of_the_file_goes_before_that_of_the_environment() -> None:
    config = Config(providers={"openai": ProviderOptions(base_url="http://file")})
    env = {"OPENAI_BASE_URL": "http://env", "ANTHROPIC_BASE_URL": ""}
    assert base_url(config, "openai", env) == "http://file"
    assert base_url(Config(), "openai-chat", env) == "http://env"
    assert base_url(Config(), "anthropic", env) is None
    assert base_url(Config(), "acme", env) is None
