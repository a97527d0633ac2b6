"""Token figures of model calls, as five disjoint counters, and what they cost.

`input`, `cache_read`, `cache_write_5m` and `cache_write_1h` sum to the whole prompt (Anthropic's three counters are
disjoint: their documentation, their SDK's docstring and Claude Code's own `pre_tokens` agree). Adapters of vendors
whose input *includes* cached tokens subtract them before they get here.
"""

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
