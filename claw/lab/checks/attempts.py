"""`attempts: {count, kinds, actions}` - the tries of a run: how many, how each failed, what was done about it.

`kinds` and `actions` are whole lists, null where a try did not fail or nothing was done.
"""

import msgspec

from claw.lab.checks._params import Figure, Options, compared
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, unknown

STEP: Which = "last"
Words = list[str | None]


class Params(Options, frozen=True):
    count: Figure = msgspec.UNSET
    kinds: Words | msgspec.UnsetType = msgspec.UNSET
    actions: Words | msgspec.UnsetType = msgspec.UNSET
    profiles: Words | msgspec.UnsetType = msgspec.UNSET

    def values(self) -> list[str]:
        return [name for name in self.given() if name == "count"]


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """The attempts of the selected prompts, one after the other."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt was answered in step {step}")
    reports = [played.outcome.report for played in steps if played.outcome and played.outcome.report is not None]
    if not any("attempts" in report for report in reports):
        return unknown("this runtime reports no attempts")
    tries = [attempt for report in reports for attempt in report.get("attempts") or ()]
    if not tries:
        return nothing("no attempt was reported")
    parts = []
    for name in params.given():
        if name == "count":
            parts.append(compared("attempts", getattr(params, name), len(tries)))
        else:
            seen = [attempt.get(name.removesuffix("s")) for attempt in tries]
            parts.append(found(seen == getattr(params, name), f"{name} {_words(seen)}"))
    return join(parts)


def _words(values: list[str | None]) -> str:
    return "[" + ", ".join(value or "null" for value in values) + "]"
