"""Token and money arithmetic of the CLI: what it adds up, and over what.

`result.usage` sums the main-loop calls of one turn (the call that writes a summary is left out); `modelUsage` and
`total_cost_usd` cover every call of the run, or of the whole session in versions that restore it on resume.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulators.cli.claude.models import Model, lookup
from simulators.cli.claude.versions import Version


@dataclass(slots=True)
class Counts:
    """Tokens of one call or of several. `write` includes both TTLs; `write_1h` is the part of it that lasts an hour."""

    input: int = 0
    write: int = 0
    read: int = 0
    output: int = 0
    write_1h: int = 0
    thinking: int = 0

    @property
    def total(self) -> int:
        """What the conversation holds after the call, as the CLI counts for compaction."""
        return self.input + self.write + self.read + self.output

    def add(self, other: "Counts") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def subtract(self, other: "Counts") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) - getattr(other, name))

    def cost(self, model: Model) -> float:
        """USD."""
        millionths = (
            self.input * model.price_input
            + self.output * model.price_output
            + self.read * model.price_read
            + (self.write - self.write_1h) * model.price_write_5m
            + self.write_1h * model.price_write_1h
        )
        return millionths / 1_000_000


def counts(usage: Mapping[str, Any] | None) -> Counts:
    """The counts in a vendor's usage object."""
    usage = usage or {}
    long = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    details = usage.get("output_tokens_details") or {}
    return Counts(
        input=usage.get("input_tokens") or 0,
        write=usage.get("cache_creation_input_tokens") or 0,
        read=usage.get("cache_read_input_tokens") or 0,
        output=usage.get("output_tokens") or 0,
        write_1h=long,
        thinking=details.get("thinking_tokens") or 0,
    )


def merge(start: Mapping[str, Any], delta: Mapping[str, Any]) -> dict[str, Any]:
    """Usage of a finished stream: what `message_start` said, overridden by `message_delta` where that is not zero."""
    said = {key: value for key, value in delta.items() if value or key == "output_tokens"}
    return {**start, **said}


def usage_object(total: Counts, version: Version, *, service: str = "standard", geo: str = "") -> dict[str, Any]:
    """`usage` of a result event. `geo` is what the provider last said about the place of inference."""
    cache = {
        "ephemeral_1h_input_tokens": total.write_1h,
        "ephemeral_5m_input_tokens": total.write - total.write_1h,
    }
    made: dict[str, Any] = {
        "input_tokens": total.input,
        "cache_creation_input_tokens": total.write,
        "cache_read_input_tokens": total.read,
        "output_tokens": total.output,
    }
    if version.rich_events:
        made["output_tokens_details"] = {"thinking_tokens": total.thinking}
    made["server_tool_use"] = {"web_search_requests": 0, "web_fetch_requests": 0}
    made |= {"service_tier": service, "cache_creation": cache}
    if version.rich_events:
        made |= {"inference_geo": geo, "iterations": [], "speed": "standard", "fallback_credit": None}
    return made


@dataclass(slots=True)
class Ledger:
    """What was spent, by model."""

    models: dict[str, Counts] = field(default_factory=dict)

    def add(self, model: str, spent: Counts) -> None:
        self.models.setdefault(model, Counts()).add(spent)  # a fresh one each: `spent` stays the caller's

    @property
    def cost(self) -> float:
        """USD."""
        return sum(spent.cost(lookup(model)) for model, spent in self.models.items())

    def report(self, version: Version) -> dict[str, Any]:
        """`modelUsage` of a result event."""
        return {model: _model_usage(model, spent, version) for model, spent in self.models.items()}

    def state(self) -> dict[str, Any]:
        """`modelUsage` of the transcript's `cost-state`."""
        return {
            model: {
                "inputTokens": c.input,
                "outputTokens": c.output,
                "thinkingTokens": c.thinking,
                "cacheReadInputTokens": c.read,
                "cacheCreationInputTokens": c.write,
                "cacheCreationEphemeral5mInputTokens": c.write - c.write_1h,
                "cacheCreationEphemeral1hInputTokens": c.write_1h,
                "webSearchRequests": 0,
                "costUSD": c.cost(lookup(model)),
            }
            for model, c in self.models.items()
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> "Ledger":
        """A ledger from a `cost-state` row's `modelUsage`; what is damaged counts as nothing."""
        ledger = cls()
        for model, said in state.items():
            if isinstance(said, Mapping):
                ledger.models[model] = Counts(
                    input=said.get("inputTokens", 0),
                    write=said.get("cacheCreationInputTokens", 0),
                    read=said.get("cacheReadInputTokens", 0),
                    output=said.get("outputTokens", 0),
                    write_1h=said.get("cacheCreationEphemeral1hInputTokens", 0),
                    thinking=said.get("thinkingTokens", 0),
                )
        return ledger


def _model_usage(name: str, c: Counts, version: Version) -> dict[str, Any]:
    model = lookup(name)
    made: dict[str, Any] = {
        "inputTokens": c.input,
        "outputTokens": c.output,
        "cacheReadInputTokens": c.read,
        "cacheCreationInputTokens": c.write,
        "webSearchRequests": 0,
        "costUSD": c.cost(model),
        "contextWindow": model.window,
        "maxOutputTokens": version.reported_max_output or model.max_output,
    }
    if version.rich_events:
        made |= {
            "thinkingTokens": c.thinking,
            "cacheCreationEphemeral5mInputTokens": c.write - c.write_1h,
            "cacheCreationEphemeral1hInputTokens": c.write_1h,
            "canonicalModel": name,
            "provider": "firstParty",
            "costBasis": "list",
        }
    return made


def estimate(text: str) -> int:
    """Tokens of a text that was never sent, as the CLI guesses them: four characters each, rounded to the nearest."""
    return (len(text) + 2) // 4
