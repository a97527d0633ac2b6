"""`usage_total: {input, output, …}` - the sum over all calls of a run, as the runtime reports it."""

import msgspec

from claw.lab.checks._params import Figure, Figures
from claw.lab.checks.usage import reported
from claw.lab.evidence import Evidence, Finding, Which

STEP: Which = "last"


class Params(Figures, frozen=True):
    input: Figure = msgspec.UNSET
    cache_read: Figure = msgspec.UNSET
    cache_write_5m: Figure = msgspec.UNSET
    cache_write_1h: Figure = msgspec.UNSET
    output: Figure = msgspec.UNSET
    reasoning: Figure = msgspec.UNSET


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """The `usage_total` object of each selected prompt's report."""
    return reported("usage_total", params, evidence, step)
