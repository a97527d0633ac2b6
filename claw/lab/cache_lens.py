"""What a journal says about the prompt cache: what was read, what could have been, what the difference cost.

Read from exchanges alone (the dicts of a journal), the same for every runtime. Side calls are paid for, too, but only
main calls are compared with the ideal: a title has nothing to read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.models import catalogue
from simulators.core.turn import ModelInfo

PROMPT = ("input", "cache_read", "cache_write_5m", "cache_write_1h")


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """A main call that read less than it could: `n` of its exchange, place, cause, tokens paid again, USD for them."""

    n: int
    at: str
    why: str
    lost_tokens: int
    cost_usd: float


class Lens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and USD of the answered calls. A ratio is None where there was nothing to divide by."""

    requests: int
    prompt_tokens: int
    read_tokens: int
    ideal_tokens: int
    hit_ratio: float | None  # of all prompt tokens of main calls
    hit_of_ideal: float | None  # of the tokens that a perfect cache would have given
    cost_usd: float
    ideal_cost_usd: float
    breaks: tuple[Break, ...]


def look(exchanges: Sequence[Mapping[str, Any]], *, models: Mapping[str, ModelInfo] | None = None) -> Lens:
    """The cache's record over a journal. `models` have the prices; those of the catalogue if none are given."""
    known: Mapping[str, ModelInfo] = catalogue() if models is None else models
    answered = [raw for raw in exchanges if raw.get("tokens")]
    main = [raw for raw in answered if raw.get("kind") == "main" and raw.get("cache")]
    prompt = sum(_prompt(raw["tokens"]) for raw in main)
    read = sum(raw["tokens"]["cache_read"] for raw in main)
    ideal = sum(raw["cache"]["ideal_read"] for raw in main)
    cost = sum(raw.get("cost_usd") or 0.0 for raw in answered)
    return Lens(
        requests=len(answered),
        prompt_tokens=prompt,
        read_tokens=read,
        ideal_tokens=ideal,
        hit_ratio=read / prompt if prompt else None,
        hit_of_ideal=read / ideal if ideal else None,
        cost_usd=cost,
        ideal_cost_usd=cost - sum(_overpaid(raw, known) for raw in main),
        breaks=tuple(_break(raw, known) for raw in main if (raw["cache"].get("miss") or {}).get("lost_tokens")),
    )


def describe(lens: Lens) -> str:
    """One line for people."""
    if not lens.requests:
        return "cache: no call was answered"
    if lens.hit_of_ideal is None:
        return f"cache: nothing to read over {lens.requests} call{'s' if lens.requests > 1 else ''}"
    text = f"cache: read {lens.read_tokens:,} of {lens.ideal_tokens:,} tokens that it could ({lens.hit_of_ideal:.0%})"
    if lens.breaks:
        first = max(lens.breaks, key=lambda b: b.lost_tokens)
        count = f"{len(lens.breaks)} break{'s' if len(lens.breaks) > 1 else ''}"
        text += f"; {count}, the worst at {first.at} in request {first.n} ({first.why}, {first.lost_tokens:,} tokens)"
    return text


def _prompt(tokens: Mapping[str, int]) -> int:
    return sum(tokens[name] for name in PROMPT)


def _overpaid(raw: Mapping[str, Any], models: Mapping[str, ModelInfo]) -> float:
    """What a call cost more because it did not read all that it could: that part was written anew, or was input."""
    return _dearer(raw, max(raw["cache"]["ideal_read"] - raw["tokens"]["cache_read"], 0), models)


def _dearer(raw: Mapping[str, Any], missed: int, models: Mapping[str, ModelInfo]) -> float:
    """USD by which `missed` tokens of this call were dearer than a read; dearest tokens first."""
    info = models.get(str(raw.get("model") or ""))
    if info is None or not missed:
        return 0.0
    tokens, total = raw["tokens"], 0.0
    for name, price in (
        ("cache_write_1h", info.cache_write_1h),
        ("cache_write_5m", info.cache_write_5m),
        ("input", info.input),
    ):
        part = min(missed, tokens[name])
        total += part * max(price - info.cache_read, 0.0)
        missed -= part
    return total / 1_000_000


def _break(raw: Mapping[str, Any], models: Mapping[str, ModelInfo]) -> Break:
    miss = raw["cache"]["miss"]
    lost = miss["lost_tokens"]
    return Break(n=raw["n"], at=miss["at"], why=miss["why"], lost_tokens=lost, cost_usd=_dearer(raw, lost, models))
