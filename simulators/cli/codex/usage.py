"""Token figures as codex keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FIELDS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")


@dataclass(frozen=True, slots=True)
class Usage:
    """`input` includes what was cached or written to the cache; `output` includes reasoning."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0
    total: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.written + other.written,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.total + other.total,
        )

    def figures(self) -> tuple[int, int, int, int, int]:
        """The five, without the total."""
        return self.input, self.cached, self.written, self.output, self.reasoning

    def public(self) -> dict[str, int]:
        """As `turn.completed` has it."""
        return dict(zip(FIELDS, self.figures(), strict=True))

    def recorded(self) -> dict[str, int]:
        """As the rollout has it."""
        return {**self.public(), "total_tokens": self.total}

    def camel(self) -> dict[str, int]:
        """As app-server tells it."""
        return {
            "totalTokens": self.total,
            "inputTokens": self.input,
            "cachedInputTokens": self.cached,
            "cacheWriteInputTokens": self.written,
            "outputTokens": self.output,
            "reasoningOutputTokens": self.reasoning,
        }


NOTHING = Usage()


def of_response(usage: Mapping[str, Any] | None) -> Usage | None:
    """The `usage` of a response; None if it had none."""
    if not usage:
        return None
    into = usage.get("input_tokens_details") or {}
    out = usage.get("output_tokens_details") or {}
    total = usage.get("total_tokens", usage.get("input_tokens", 0) + usage.get("output_tokens", 0))
    return Usage(
        usage.get("input_tokens", 0),
        into.get("cached_tokens") or 0,
        into.get("cache_write_tokens") or 0,
        usage.get("output_tokens", 0),
        out.get("reasoning_tokens") or 0,
        total,
    )


def of_record(data: Mapping[str, Any]) -> Usage:
    """As it stands in a rollout."""
    return Usage(*(int(data.get(name, 0)) for name in (*FIELDS, "total_tokens")))
