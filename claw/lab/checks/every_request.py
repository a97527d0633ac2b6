"""`every_request: {instructions_contain, …}` - what holds for every main request (or those of `kind`)."""

from claw.lab.checks._request import Conditions, unmet
from claw.lab.evidence import Evidence, Finding, Which, found, nothing

STEP: Which = "all"
Params = Conditions


def look(params: Conditions, evidence: Evidence, step: Which) -> Finding:
    """Summaries, titles and probes are left out unless `kind` says otherwise: they have instructions of their own."""
    kind = params.wanted("main")
    calls = evidence.calls(step, kind)
    if not calls:
        return nothing(f"no {kind or 'request'} request was made")
    for exchange in calls:
        missing = unmet(params, exchange)
        if missing:
            return found(False, f"request {exchange.get('n')}: {'; '.join(missing)}")
    return found(True, f"{len(calls)} requests, all so")
