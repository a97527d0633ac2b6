"""`cache: {hit_of_ideal, read, breaks, break_at}` - how the prompt cache fared over main requests.

`hit_of_ideal` is Σ cache_read ÷ Σ ideal_read; `read` tokens; `breaks` the requests whose prefix moved; `break_at` a
place where one did (`system[0]`, or a pattern such as `messages*`).
"""

from fnmatch import fnmatchcase

import msgspec

from claw.lab.checks._params import Figure, Options, compared
from claw.lab.evidence import Evidence, Exchange, Finding, Which, found, join, nothing

STEP: Which = "all"


class Params(Options, frozen=True):
    hit_of_ideal: Figure = msgspec.UNSET
    read: Figure = msgspec.UNSET
    breaks: Figure = msgspec.UNSET
    break_at: str | msgspec.UnsetType = msgspec.UNSET

    def values(self) -> list[str]:
        return [name for name in self.given() if name != "break_at"]


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """Over the answered main requests of the selected steps."""
    calls = [call for call in evidence.calls(step, "main") if call.get("status") == 200]
    if not calls:
        return nothing("no main request was answered")
    return join([_one(name, params, calls) for name in params.given()])


def _one(name: str, params: Params, calls: list[Exchange]) -> Finding:
    breaks = [call["cache"]["miss"] for call in calls if (call["cache"].get("miss") or {}).get("lost_tokens")]
    read = sum(call["tokens"]["cache_read"] for call in calls)
    if name == "hit_of_ideal":
        ideal = sum(call["cache"]["ideal_read"] for call in calls)
        if not ideal:
            return nothing(f"{len(calls)} requests had nothing to read from the cache")
        return compared(f"hit of ideal ({read:,} of {ideal:,} tokens)", params.hit_of_ideal, read / ideal)  # type: ignore[arg-type]
    if name == "read":
        return compared("tokens read from the cache", params.read, read)  # type: ignore[arg-type]
    if name == "breaks":
        places = ", ".join(sorted({miss["at"] for miss in breaks}))
        return compared(f"breaks ({places})" if places else "breaks", params.breaks, len(breaks))  # type: ignore[arg-type]
    if not breaks:
        return nothing("the prefix never moved, so there is no place")
    places = ", ".join(dict.fromkeys(miss["at"] for miss in breaks))
    return found(any(fnmatch(miss["at"], str(params.break_at)) for miss in breaks), f"the prefix moved at {places}")


def fnmatch(place: str, pattern: str) -> bool:
    """A place is matched literally or with `*`; its square brackets are no pattern."""
    return place == pattern or fnmatchcase(place, pattern.replace("[", "[[]"))
