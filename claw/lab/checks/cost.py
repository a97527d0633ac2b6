"""`cost: "<= 0.05"` - what the provider would have charged, in USD, by the simulator's own prices."""

from claw.lab.checks._params import compared
from claw.lab.compare import Value
from claw.lab.evidence import Evidence, Finding, Which, nothing

STEP: Which = "all"
Params = Value


def look(params: Value, evidence: Evidence, step: Which) -> Finding:
    """The sum over the requests of the selected steps."""
    calls = evidence.calls(step)
    if not calls:
        return nothing("no request was made")
    return compared("USD", params, round(sum(call.get("cost_usd") or 0.0 for call in calls), 10))
