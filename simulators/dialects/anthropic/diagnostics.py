"""Cache diagnostics: how the prompt of a request differs from that of the earlier one which it names.

Requests are compared by structure, not by what the cache gave: model, then tools, system, other settings that change
the prompt, messages. Only requests that carry `diagnostics` are remembered (cache diagnostics page of the provider's
documentation, types of the `anthropic` package 2.14).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.turn import Block, ModelCall

FINGERPRINTS = "anthropic_fingerprints"  # a shelf of the account's store


class Fingerprint(msgspec.Struct, frozen=True):
    """A request as far as it is compared: model, digest and level of each block, tokens up to each, settings."""

    model: str
    digests: tuple[bytes, ...]
    levels: tuple[str, ...]
    ends: tuple[int, ...]
    settings: Mapping[str, str]

    @property
    def tokens(self) -> int:
        return self.ends[-1] if self.ends else 0

    def of(self, level: str) -> tuple[bytes, ...]:
        """The digests of one level."""
        return tuple(digest for digest, at in zip(self.digests, self.levels, strict=True) if at == level)


def fingerprint(model: str, call: ModelCall, counts: Sequence[int]) -> Fingerprint:
    """What is remembered of a request with these blocks and their tokens."""
    ends, total = [], 0
    for count in counts:
        total += count
        ends.append(total)
    blocks: Sequence[Block] = call.blocks
    return Fingerprint(
        model, tuple(b.digest for b in blocks), tuple(b.level for b in blocks), tuple(ends), dict(call.settings)
    )


def diagnose(now: Fingerprint, before: Fingerprint | None) -> dict[str, Any] | None:
    """The `diagnostics` of an answer: the first difference to the request it names; null if there is none."""
    if before is None:
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    kind = _first(before, now)
    if kind is None:
        return None
    reason: dict[str, Any] = {"type": kind}
    if kind != "unavailable":
        reason["cache_missed_input_tokens"] = before.tokens - (0 if kind == "model_changed" else _shared(before, now))
    return {"cache_miss_reason": reason}


def _first(before: Fingerprint, now: Fingerprint) -> str | None:
    if before.model != now.model:
        return "model_changed"
    for level in ("tools", "system"):
        if before.of(level) != now.of(level):
            return f"{level}_changed"
    if before.settings != now.settings:
        return "unavailable"
    old, new = before.of("messages"), now.of("messages")
    return None if new[: len(old)] == old else "messages_changed"


def _shared(before: Fingerprint, now: Fingerprint) -> int:
    """Tokens of the beginning that both have."""
    shared = 0
    for old, new, end in zip(before.digests, now.digests, before.ends, strict=False):
        if old != new:
            break
        shared = end
    return shared
