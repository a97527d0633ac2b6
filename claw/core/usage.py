"""Token figures of model calls, as five disjoint counters, and what they cost.

`input`, `cache_read`, `cache_write_5m` and `cache_write_1h` sum to the whole prompt (Anthropic's three counters are
disjoint: their documentation, their SDK's docstring and Claude Code's own `pre_tokens` agree). Adapters of vendors
whose input *includes* cached tokens subtract them before they get here.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one call, or a sum over calls. `reasoning` is the part of `output` that the vendor calls so."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def context_tokens(self) -> int:
        """Size of the prompt. Meaningful for one call, not for a sum: the last main call's is the context."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """USD per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write_5m: float = 0.0
    cache_write_1h: float = 0.0

    def cost(self, usage: Usage) -> float:
        """What `usage` costs, in USD."""
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
        ) / 1_000_000


_NAMES: Mapping[str, tuple[str, ...]] = {
    "input": ("input_tokens", "input", "inputTokens", "prompt_tokens", "promptTokens", "promptTokenCount"),
    "output": ("output_tokens", "output", "outputTokens", "completion_tokens", "completionTokens"),
    "read": (
        "cache_read_input_tokens", "cacheRead", "cache_read", "cacheReadInputTokens", "cached_tokens",
        "prompt_cache_hit_tokens", "cachedContentTokenCount", "cached_content_token_count",
    ),
    "write": (
        "cache_creation_input_tokens", "cacheWrite", "cache_write", "cacheWriteInputTokens", "cache_write_tokens",
    ),
}  # fmt: skip
_INCLUSIVE = ("prompt_tokens", "promptTokens", "promptTokenCount", "input_tokens_details", "prompt_tokens_details")


def spelled(counters: Mapping[str, Any] | None) -> Usage | None:
    """A vendor's usage object, in whatever vendor's words, as disjoint counters; None when it counts nothing.

    Figures that include what the cache held (OpenAI's, Gemini's) are told by their names. Cache writes of an unknown
    lifetime count as the short one.
    """
    if not counters:
        return None
    details = [counters.get(name) for name in ("input_tokens_details", "prompt_tokens_details")]
    places = [counters, *(place for place in details if isinstance(place, Mapping))]
    found = {
        what: next((n for place in places for name in names if _is_count(n := place.get(name))), None)
        for what, names in _NAMES.items()
    }
    if "candidatesTokenCount" in counters:
        found["output"] = sum(counters.get(name) or 0 for name in ("candidatesTokenCount", "thoughtsTokenCount"))
    if all(value is None for value in found.values()):
        return None
    read, write = found["read"] or 0, found["write"] or 0
    held = read + write if any(name in counters for name in _INCLUSIVE) else 0
    return Usage(
        input=max(0, (found["input"] or 0) - held), cache_read=read, cache_write_5m=write, output=found["output"] or 0
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
