"""`stop: end_turn` - the stop reason of a run, in claw's words."""

from claw.lab.checks._params import compared
from claw.lab.compare import Value
from claw.lab.evidence import Evidence, Finding, Which, join, nothing, unknown

STEP: Which = "last"
Params = Value


def look(params: Value, evidence: Evidence, step: Which) -> Finding:
    """The stop reason of each selected prompt."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt was answered in step {step}")
    if all(played.outcome and played.outcome.stop is None for played in steps):
        return unknown("this runtime tells no stop reason")
    return join([compared("stop", params, played.outcome.stop) for played in steps if played.outcome])
