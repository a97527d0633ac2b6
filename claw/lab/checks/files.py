"""`files: {notes.md: {contains, equals, exists}}` - the workspace afterwards; a plain text means `equals`."""

import msgspec

from claw.lab.checks._params import Options, Texts, listed, text_findings
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, short

STEP: Which = "all"


class Wanted(Options, frozen=True):
    contains: Texts | msgspec.UnsetType = msgspec.UNSET
    not_contains: Texts | msgspec.UnsetType = msgspec.UNSET
    equals: str | msgspec.UnsetType = msgspec.UNSET
    exists: bool | msgspec.UnsetType = msgspec.UNSET


Params = dict[str, str | Wanted]


def look(params: dict[str, str | Wanted], evidence: Evidence, step: Which) -> Finding:
    """Looks at the end of the play, whatever the step."""
    if not params:
        return nothing("no file was named")
    parts: list[Finding] = []
    for name, wanted in params.items():
        parts += _one(name, Wanted(equals=wanted) if isinstance(wanted, str) else wanted, evidence.files.get(name))
    return join(parts)


def _one(name: str, wanted: Wanted, data: bytes | None) -> list[Finding]:
    text = None if data is None else data.decode("utf-8", "replace")
    parts = []
    if not isinstance(wanted.exists, msgspec.UnsetType):
        parts.append(
            found((text is not None) is wanted.exists, f"{name} is {'there' if text is not None else 'not there'}")
        )
    if set(wanted.given()) <= {"exists"}:
        return parts
    if text is None:
        return [*parts, found(False, f"{name} is not there")]
    if not isinstance(wanted.equals, msgspec.UnsetType):
        parts.append(found(text == wanted.equals, f"{name} is {short(text)!r}"))
    return parts + text_findings(name, text, contains=listed(wanted.contains), not_contains=listed(wanted.not_contains))
