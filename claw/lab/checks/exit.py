"""`exit: 0` - the exit code of the runtime's command for a prompt."""

from claw.lab.checks._params import compared
from claw.lab.compare import Value
from claw.lab.evidence import Evidence, Finding, Which, join, nothing, unknown

STEP: Which = "last"
Params = Value


def look(params: Value, evidence: Evidence, step: Which) -> Finding:
    """The exit code of each selected prompt."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt was answered in step {step}")
    if all(played.outcome and played.outcome.exit is None for played in steps):
        return unknown("this runtime has no exit code for a prompt")
    return join([compared("exit", params, played.outcome.exit) for played in steps if played.outcome])
