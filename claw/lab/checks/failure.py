"""`failure: null`, `failure: billing` or `failure: {kind, message}` - whether and why a run failed.

`message` is a piece of text that the failure's message must have.
"""

import msgspec

from claw.lab.checks._params import Figure, Options, compared
from claw.lab.compare import Value
from claw.lab.evidence import Evidence, Finding, Problem, Which, found, join, nothing, short, unknown

STEP: Which = "last"


class Named(Options, frozen=True):
    kind: Figure = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET

    def values(self) -> list[str]:
        return [name for name in self.given() if name == "kind"]


Params = str | Named | None


def look(params: str | Named | None, evidence: Evidence, step: Which) -> Finding:
    """The failure of each selected prompt."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt came to an end in step {step}")
    return join([part for played in steps if played.outcome for part in _one(params, played.outcome.failure)])


def _one(params: str | Named | None, failure: Problem | None) -> list[Finding]:
    if failure is not None and not failure.kind and (isinstance(params, str) or _kind_asked(params)):
        return [unknown(f"this runtime does not say why it failed: {short(failure.message)}")]
    kind: Value = failure.kind if failure else None
    said = f" ({short(failure.message)})" if failure and failure.message else ""
    if not isinstance(params, Named):
        part = compared("failure", params, kind)
        return [msgspec.structs.replace(part, saw=part.saw + said)]
    parts = []
    if not isinstance(params.kind, msgspec.UnsetType):
        parts.append(compared("failure", params.kind, kind))
    if not isinstance(params.message, msgspec.UnsetType):
        message = failure.message if failure else ""
        parts.append(found(params.message in message, f"its message is {short(message)!r}"))
    return parts


def _kind_asked(params: str | Named | None) -> bool:
    return isinstance(params, Named) and not isinstance(params.kind, msgspec.UnsetType)
