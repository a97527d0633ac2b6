"""Headers of every answer: request id, organisation, processing time, and where the rate limits stand."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from simulators.core.turn import Stamp
from simulators.core.wire import Headers
from simulators.dialects._openai.profile import DEFAULT, Profile, fill
from simulators.dialects._openai.words import duration, organization, request_id

# What an account without limits is shown: those of the provider's highest tier, never used up.
_UNLIMITED = (30_000, 180_000_000)


def answer_headers(limits: Mapping[str, Any], stamp: Stamp, profile: Profile) -> Headers:
    """`limits` by name, each with `limit`, `remaining` and `reset` (Unix seconds); of tokens the reserved bucket."""
    requests = _shown(limits.get("requests"), stamp.now, _UNLIMITED[0], 1)
    tokens = _shown(limits.get("tokens") or limits.get("input_tokens"), stamp.now, _UNLIMITED[1], 16)
    if profile.name == DEFAULT:
        return (
            ("x-request-id", request_id(stamp)),
            ("openai-organization", organization(stamp)),
            ("openai-project", f"proj_{organization(stamp)[4:]}"),
            ("openai-processing-ms", "142"),
            ("openai-version", "2020-10-01"),
            *_limits(requests, tokens),
        )
    values = {
        "request_id": request_id(stamp), "id": stamp.request_id, "org": organization(stamp),
        "limit_requests": requests[0], "remaining_requests": requests[1], "reset_requests": requests[2],
        "limit_tokens": tokens[0], "remaining_tokens": tokens[1], "reset_tokens": tokens[2],
        "reset_epoch_ms": round(stamp.now * 1000),
    }  # fmt: skip
    given = {**profile.headers, **(profile.rate_headers if limits or profile.rate_headers else {})}
    return tuple((name, str(fill(value, values))) for name, value in given.items())


def _shown(state: Any, now: float, limit: int, used: int) -> tuple[int, int, str]:
    if state is None:
        return limit, limit - used, duration(used * 60 / limit)
    return state.limit, max(0, state.remaining), duration(max(0.0, state.reset - now))


@lru_cache(maxsize=256)
def _limits(requests: tuple[int, int, str], tokens: tuple[int, int, str]) -> Headers:
    found = []
    for at, name in enumerate(("limit", "remaining", "reset")):
        found += [
            (f"x-ratelimit-{name}-requests", str(requests[at])),
            (f"x-ratelimit-{name}-tokens", str(tokens[at])),
        ]
    return tuple(found)
