"""`session: {valid, holds}` - the session on disk afterwards: it opens, and it has these texts."""

import msgspec

from claw.lab.checks._params import Options, Texts, listed
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, short, unknown
from claw.lab.invariants.session import tree_problem

STEP: Which = "all"


class Params(Options, frozen=True):
    valid: bool | msgspec.UnsetType = msgspec.UNSET
    holds: Texts | msgspec.UnsetType = msgspec.UNSET


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """Looks at the end of the play, whatever the step."""
    state = evidence.session
    if state is None:
        return unknown("this runtime's sessions cannot be read")
    if not state.entries and state.problem is None:
        return nothing("there is no session entry")
    parts = []
    if not isinstance(params.valid, msgspec.UnsetType):
        problem = state.problem or tree_problem(state)
        parts.append(found((problem is None) is params.valid, problem or f"{len(state.entries)} entries, a sound tree"))
    for piece in listed(params.holds):
        ok = any(piece in entry.text for entry in state.entries)
        parts.append(found(ok, f"the session {'has' if ok else 'lacks'} `{short(piece, 40)}`"))
    return join(parts)
