"""Headers of every answer: request id, organisation, and where the rate limits stand."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from math import ceil
from typing import Any

from simulators.core.turn import Stamp
from simulators.core.wire import Headers
from simulators.dialects.anthropic.failures import request_id

_NO_ORGANIZATION = "00000000-0000-4000-8000-000000000000"
_NAMES = {"requests": "requests", "input_tokens": "input-tokens", "output_tokens": "output-tokens"}
# What an account without limits is shown: generous ones of the provider's highest tier, never used up.
_UNLIMITED = {"requests": 4_000, "input_tokens": 2_000_000, "output_tokens": 400_000}


def fast_headers(limits: Mapping[str, Any], stamp: Stamp) -> Headers:
    """What a request in fast mode is told besides: limits of its own, here as large as the others."""
    found: list[tuple[str, str]] = []
    for name in ("input_tokens", "output_tokens"):
        state = limits.get(name)
        limit, left, reset = (_UNLIMITED[name],) * 2 + (stamp.now,)
        if state is not None:
            limit, left, reset = state.limit, max(0, state.remaining), state.reset
        found += _limit(_NAMES[name], limit, round(left / 1000) * 1000, rfc3339(reset), family="fast")
    return tuple(found)


def answer_headers(limits: Mapping[str, Any], stamp: Stamp) -> Headers:
    """`limits`: for requests, input_tokens and output_tokens each an object with `limit`, `remaining` and `reset`
    (Unix seconds). Remaining tokens are rounded to thousands; `tokens` shows the limit that is nearest."""
    organization = stamp.organization or _NO_ORGANIZATION
    mine = (
        ("request-id", request_id(stamp)),
        ("anthropic-organization-id", organization),
        ("anthropic-workspace-id", f"wrkspc_01{organization.replace('-', '')[:22]}"),
    )
    if not limits:
        return mine + _unlimited(rfc3339(stamp.now))
    found: list[tuple[str, str]] = list(mine)
    nearest: tuple[float, int, int, str] | None = None
    for name, label in _NAMES.items():
        state = limits.get(name)
        if state is None:
            limit = remaining = _UNLIMITED[name]
            reset = rfc3339(stamp.now)
        else:
            limit, remaining, reset = state.limit, max(0, state.remaining), rfc3339(state.reset)
        if name != "requests":
            share = remaining / limit
            remaining = round(remaining / 1000) * 1000
            if nearest is None or (state is not None and share < nearest[0]):
                nearest = (share, limit, remaining, reset)
        found += _limit(label, limit, remaining, reset)
    if nearest is not None:
        found += _limit("tokens", *nearest[1:])
    return tuple(found)


@lru_cache(maxsize=64)
def _unlimited(reset: str) -> Headers:
    """The headers of an account without limits, at one second."""
    found: list[tuple[str, str]] = []
    for name, label in _NAMES.items():
        found += _limit(label, _UNLIMITED[name], _UNLIMITED[name], reset)
    return tuple(found + _limit("tokens", _UNLIMITED["input_tokens"], _UNLIMITED["input_tokens"], reset))


def _limit(label: str, limit: int, remaining: int, reset: str, *, family: str = "ratelimit") -> list[tuple[str, str]]:
    head = f"anthropic-{family}-{label}-"
    return [(f"{head}limit", str(limit)), (f"{head}remaining", str(remaining)), (f"{head}reset", reset)]


def rfc3339(at: float) -> str:
    """A Unix time as `2026-01-01T00:00:07Z`, rounded up to the second."""
    return _second(ceil(at - 1e-6))


@lru_cache(maxsize=64)
def _second(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC).replace(tzinfo=None).isoformat()}Z"
