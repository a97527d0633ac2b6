"""`spawns: {count, argv_contains, argv_not_contains}` - how a runtime on the CLI path started its CLI.

`argv_contains` holds for every start: arguments that must be there (an argument as a whole).
"""

import msgspec

from claw.lab.checks._params import Figure, Options, Texts, compared, listed
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, short, unknown

STEP: Which = "all"


class Params(Options, frozen=True):
    count: Figure = msgspec.UNSET
    argv_contains: Texts | msgspec.UnsetType = msgspec.UNSET
    argv_not_contains: Texts | msgspec.UnsetType = msgspec.UNSET

    def values(self) -> list[str]:
        return [name for name in self.given() if name == "count"]


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """The CLI's starts in the selected steps; tools are not counted."""
    if "cli" not in evidence.capabilities:
        return unknown("this runtime drives no CLI")
    spawns = [spawn for played in evidence.select(step) for spawn in played.spawns if spawn.cli]
    if not spawns and isinstance(params.count, msgspec.UnsetType):
        return nothing("the CLI was not started")
    parts = []
    if not isinstance(params.count, msgspec.UnsetType):
        parts.append(compared("starts", params.count, len(spawns)))
    for number, spawn in enumerate(spawns, 1):
        saw = f"start {number}: {short(' '.join(spawn.argv))}"
        parts += [found(argument in spawn.argv, saw) for argument in listed(params.argv_contains)]
        parts += [found(argument not in spawn.argv, saw) for argument in listed(params.argv_not_contains)]
    return join(parts)
