"""`tools: {name, count, ok}` - which tools were run, and how often; `count` is at least 1 when not said."""

import msgspec

from claw.lab.checks._params import Figure, Options, compared
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, unknown

STEP: Which = "all"


class Params(Options, frozen=True):
    name: str | msgspec.UnsetType = msgspec.UNSET
    count: Figure = msgspec.UNSET
    ok: bool | msgspec.UnsetType = msgspec.UNSET

    def values(self) -> list[str]:
        return [name for name in self.given() if name == "count"]


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """Looks at the tool calls that the runtime reports for the selected prompts."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt was answered in step {step}")
    reports = [played.outcome.report for played in steps if played.outcome and played.outcome.report is not None]
    if not any("tool_calls" in report for report in reports):
        return unknown("this runtime reports no tool calls")
    runs = [run for report in reports for run in report.get("tool_calls") or ()]
    mine = [run for run in runs if params.name in (msgspec.UNSET, run.get("name"))]
    wanted = ">= 1" if isinstance(params.count, msgspec.UnsetType) else params.count
    what = "tool runs" if isinstance(params.name, msgspec.UnsetType) else f"runs of {params.name}"
    parts = [compared(what, wanted, len(mine))]
    if not isinstance(params.ok, msgspec.UnsetType):
        bad = [run for run in mine if run.get("ok") is not params.ok]
        parts.append(found(not bad, f"{len(mine) - len(bad)} of {len(mine)} with ok: {str(params.ok).lower()}"))
    return join(parts)
