"""`no_request: {body_contains, …}` - what no request does (all conditions together), whatever its kind."""

from claw.lab.checks._request import Conditions, unmet
from claw.lab.evidence import Evidence, Finding, Which, found, nothing

STEP: Which = "all"
Params = Conditions


def look(params: Conditions, evidence: Evidence, step: Which) -> Finding:
    """A request that meets every condition is the failure. `kind` narrows the requests looked at."""
    calls = evidence.calls(step, params.wanted("all"))
    if not calls:
        return nothing("no request was made")
    for exchange in calls:
        if not unmet(params, exchange):
            return found(False, f"request {exchange.get('n')} is one")
    return found(True, f"{len(calls)} requests, none so")
