"""`usage: {context_tokens, …}` - figures that the runtime reports of its last main call (null: unknown)."""

import msgspec

from claw.lab.checks._params import Figure, Figures, compare_all
from claw.lab.evidence import Evidence, Finding, Which, join, nothing, unknown

STEP: Which = "last"


class Params(Figures, frozen=True):
    input: Figure = msgspec.UNSET
    cache_read: Figure = msgspec.UNSET
    cache_write_5m: Figure = msgspec.UNSET
    cache_write_1h: Figure = msgspec.UNSET
    output: Figure = msgspec.UNSET
    reasoning: Figure = msgspec.UNSET
    context_tokens: Figure = msgspec.UNSET
    context_window: Figure = msgspec.UNSET
    context_percent: Figure = msgspec.UNSET


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """The `usage` object of each selected prompt's report."""
    return reported("usage", params, evidence, step)


def reported(key: str, params: Figures, evidence: Evidence, step: Which) -> Finding:
    """Compare the object `key` of each selected report, field by field, as far as the runtime reports it."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt was answered in step {step}")
    reports = [played.outcome.report for played in steps if played.outcome and played.outcome.report is not None]
    figures = [dict(report[key]) for report in reports if report.get(key) is not None]
    told = [part for figure in figures for part in compare_all(params, figure)]
    return join(told) if told else unknown(f"this runtime reports no {', '.join(params.given())}")
