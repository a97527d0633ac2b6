"""`verdict: {prefix_moved: bad}` - a check of the wire verdict, expected to come out so."""

from typing import Literal

from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, unknown
from claw.lab.invariants.wire import findings

STEP: Which = "all"
Params = dict[str, Literal["ok", "bad", "not_checked"]]


def look(params: dict[str, Literal["ok", "bad", "not_checked"]], evidence: Evidence, step: Which) -> Finding:
    """Over the requests of the selected steps."""
    exchanges = [exchange for played in evidence.select(step) for exchange in played.exchanges]
    if not exchanges or not params:
        return nothing("no request was made" if params else "no check of the verdict was named")
    seen = {finding.check: finding for finding in findings(exchanges)}
    parts = []
    for name, wanted in params.items():
        if name not in seen:
            return found(False, f"the verdict has no check `{name}`; it has {', '.join(sorted(seen))}")
        status, why = seen[name].status, seen[name].why
        if status == "not_checked" and wanted != "not_checked":
            parts.append(unknown(f"{name}: {why}"))
        else:
            parts.append(found(status == wanted, f"{name} is {status}" + (f": {why}" if why else "")))
    return join(parts)
