"""`requests: {count, main, summary, max}` - how many calls reached the provider (token counts left out)."""

import msgspec

from claw.lab.checks._params import Figure, Figures, compare_all
from claw.lab.compare import comparison
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing

STEP: Which = "all"


class Params(Figures, frozen=True):
    count: Figure = msgspec.UNSET
    main: Figure = msgspec.UNSET
    summary: Figure = msgspec.UNSET
    max: int | msgspec.UnsetType = msgspec.UNSET


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """Counts over the selected steps. No request at all is nothing to look at, unless 0 is what was asked for."""
    if not evidence.select(step):
        return nothing(f"there is no step {step}")
    calls = evidence.calls(step)
    asked_for_none = any(comparison(getattr(params, name)).holds(0) for name in params.given() if name != "max")
    if not calls and not (asked_for_none and isinstance(params.max, msgspec.UnsetType)):
        return nothing("no request was made")
    by_kind = {kind: sum(call.get("kind") == kind for call in calls) for kind in ("main", "summary")}
    parts = compare_all(params, {"count": len(calls), **by_kind})
    if not isinstance(params.max, msgspec.UnsetType):
        parts.append(found(len(calls) <= params.max, f"{len(calls)} requests, at most {params.max}"))
    return join(parts)
