"""How hard a model is asked to think."""

import pytest

from claw.core.thinking import clamp, effort, fallback, level, offered, supported


def test_words_for_levels() -> None:
    assert [level(w) for w in ("HIGH", "ultrathink", "think-hard", "auto", "on", "x_high", "nonsense", "")] == [
        "high", "high", "low", "adaptive", "low", "xhigh", None, None,
    ]  # fmt: skip


def test_the_next_higher_level_else_the_next_lower() -> None:
    assert clamp("minimal", ("off", "medium", "high")) == "medium"
    assert clamp("max", ("off", "low", "high")) == "high"
    assert clamp("adaptive", ("low", "high")) == "high"
    assert clamp("high", ()) == "off"


def test_the_highest_levels_exist_only_where_they_are_mapped() -> None:
    assert supported(reasons=False) == ("off",)
    assert "xhigh" not in supported(reasons=True)
    assert "max" in supported(reasons=True, mapped={"max": "max"})
    assert supported(reasons=True, mapped={"minimal": None, "low": None}) == ("off", "medium", "high")


@pytest.mark.parametrize(
    ("model", "wanted", "said"),
    [
        ("gpt-5", "off", "minimal"),
        ("gpt-5", "xhigh", "high"),
        ("gpt-5.1", "off", "none"),
        ("openai/gpt-5.6", "xhigh", "xhigh"),
        ("o3", "minimal", "low"),
        ("o3", "adaptive", None),
        ("grok-4", "medium", "medium"),
    ],
)
def test_openais_word_for_a_level(model: str, wanted: str, said: str | None) -> None:
    assert effort(model, wanted) == said  # type: ignore[arg-type]


def test_what_a_refusal_offers() -> None:
    text = 'Unsupported value: "xhigh". Supported values are: "low", "medium", and "high".'
    assert offered(text) == ("low", "medium", "high")
    assert fallback(text, ("low",)) == "medium"
    assert offered("Reasoning is mandatory for this endpoint and cannot be disabled") == ("minimal", "low")
    assert offered("thinking level not supported") == ("off",)
    assert offered("streaming is not supported") == ()
    assert fallback("boom", ()) is None
