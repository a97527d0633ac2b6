"""`config.toml`: what it may say, and how a mistake in it is told."""

import pytest

from claw.core.errors import ClawError
from claw.runtime.config import Config, Settings, Watchdog, parse_config

WHOLE = """
[model]
primary = "anthropic/claude-opus-4-5"
fallbacks = ["openai/gpt-5"]

[[profiles]]
id = "main"
provider = "anthropic"
key_env = "KEY"

[providers.anthropic]
base_url = "http://127.0.0.1:1"
params = {top_k = 5}

[cli.claude-cli]
command = "/opt/claude"
watchdog_fresh = {ratio = 0.5, min_s = 1.0, max_s = 2.0}

[compaction]
reserve_tokens = 1000

[agents.main]
workspace = "/w"
tools = ["read"]

[settings]
cli_system_prompt_when = "first"
honour_retry_after = false
thinking = "high"
"""


def test_a_whole_file() -> None:
    config = parse_config(WHOLE, "config.toml")
    assert config.model.fallbacks == ("openai/gpt-5",)
    assert config.profiles[0].key_env == "KEY"
    assert config.providers["anthropic"].params == {"top_k": 5}
    assert config.cli["claude-cli"].watchdog_fresh == Watchdog(ratio=0.5, min_s=1.0, max_s=2.0)
    assert config.compaction.reserve_tokens == 1_000
    assert config.agents["main"].tools == ("read",)
    assert config.settings == Settings(cli_system_prompt_when="first", honour_retry_after=False, thinking="high")


def test_an_empty_file_is_the_default_and_the_defaults_are_the_right_behaviour() -> None:
    assert parse_config("", "c") == Config()
    settings = Settings()
    assert (settings.cli_system_prompt_when, settings.clock_in_prompt, settings.usage_from) == (
        "always",
        False,
        "last_call",
    )
    assert (settings.compaction, settings.honour_retry_after, settings.stream) == ("auto", True, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[settings]\n\ncompation = "off"', "c.toml:3: settings.compation: there is no such key; did you mean `compac"),
        ('[settings]\ncompaction = "of"', "c.toml:2: settings.compaction: invalid enum value 'of'"),
        ("[setings]\nx = 1", "c.toml:1: setings: there is no such key; did you mean `settings`?"),
        ('[[profiles]]\nid = "a"', "c.toml:1: profiles[0]: object missing required field `provider`"),
        ("[settings]\nstream = 1", "c.toml:2: settings.stream: expected `bool`, got `int`"),
        ('[model]\nprimary = "claude"', "c.toml:2: model.primary: `claude` should be PROVIDER/MODEL, as anthr"),
        ('[model]\nfallbacks = ["x"]', "c.toml:2: model.fallbacks: `x` should be PROVIDER/MODEL"),
        ("[cli.claude-cli]\ncomand = 'x'", "comand: there is no such key; did you mean `command`?"),
        ("[a\n", "c.toml:1: "),
        ("x = 1\nx = 2", "c.toml:2: "),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_and_the_nearest_right_word(text: str, says: str) -> None:
    with pytest.raises(ClawError) as error:
        parse_config(text, "c.toml")
    assert says in str(error.value)


def test_the_watchdog_keeps_within_its_limits() -> None:
    """Facts: fresh 0.8 of the time-out within 180 and 600 s, resumed 0.3 within 60 and 180 s, never the time-out."""
    fresh, resume = Watchdog(ratio=0.8, min_s=180, max_s=600), Watchdog(ratio=0.3, min_s=60, max_s=180)
    assert (fresh.seconds(172_800), fresh.seconds(500), fresh.seconds(200)) == (600, 400, 180)
    assert (resume.seconds(172_800), resume.seconds(100)) == (180, 60)
    assert (fresh.seconds(50), fresh.seconds(1)) == (49, 1)
