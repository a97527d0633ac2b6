"""The wire: the whole verdict that the simulators read from a journal, for any runtime."""

from collections.abc import Mapping, Sequence
from typing import Any

from claw.lab.evidence import Evidence, Exchange, Finding, Status
from simulators import verdict

NAMES: Sequence[str] = verdict.checks()
STATUS: dict[str, Status] = {"ok": "pass", "bad": "fail", "not_checked": "not_checked"}


def look(evidence: Evidence) -> list[Finding]:
    """Each check of the verdict, over the whole play."""
    return [
        Finding(name=seen.check, status=STATUS[seen.status], saw=seen.why or "nothing of the kind")
        for seen in findings(evidence.exchanges, report=told(evidence))
    ]


def findings(exchanges: Sequence[Exchange], *, report: Mapping[str, Any] | None = None) -> Sequence[verdict.Finding]:
    """The verdict itself: findings with `check`, `status` (ok, bad, not_checked), `exchanges` and `why`."""
    return verdict.judge(exchanges, report=report)


def told(evidence: Evidence) -> Mapping[str, Any] | None:
    """What the runtime itself says at the end: of its last prompt, and of the cost of all of them."""
    last = evidence.steps[-1].outcome if evidence.steps else None
    if last is None or last.killed:
        return None
    made: dict[str, Any] = {"failure": {"kind": last.failure.kind} if last.failure else None}
    if last.exit is not None:
        made["exit"] = last.exit
    if last.report is not None:
        made["usage"] = last.report.get("usage")
        costs = [(step.outcome.report or {}).get("cost_usd") for step in evidence.steps if step.outcome]
        if all(isinstance(cost, int | float) for cost in costs):
            made["cost_usd"] = sum(cost for cost in costs if cost is not None)
    return made
