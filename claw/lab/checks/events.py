"""`events: {in_order, contains, not_contains, count}` - what the runtime streamed, by event type.

`in_order` need not be adjacent; `count` maps a type to a value.
"""

import msgspec

from claw.lab.checks._params import Options, Texts, compared, listed
from claw.lab.compare import Value
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing, unknown

STEP: Which = "all"
TYPES = (
    "run_start", "message_start", "part_start", "part_delta", "part_end", "message_end", "tool_start", "tool_end",
    "attempt", "compaction_start", "compaction_end", "queued", "approval", "run_end",
)  # fmt: skip


class Params(Options, frozen=True):
    in_order: list[str] | msgspec.UnsetType = msgspec.UNSET
    contains: Texts | msgspec.UnsetType = msgspec.UNSET
    not_contains: Texts | msgspec.UnsetType = msgspec.UNSET
    count: dict[str, Value] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        named = [*listed(self.in_order), *listed(self.contains), *listed(self.not_contains)]
        if not isinstance(self.count, msgspec.UnsetType):
            named += self.count
        for name in named:
            if name not in TYPES:
                raise ValueError(f"there is no event `{name}`; there are {', '.join(TYPES)}")


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """The event types of the selected prompts, in the order in which they came."""
    steps = [played for played in evidence.select(step) if played.outcome]
    if not steps:
        return nothing(f"nothing was asked in step {step}")
    streams = [played.outcome.events for played in steps if played.outcome and played.outcome.events is not None]
    if not streams:
        return unknown("this runtime streams no events")
    types = [str(event.get("type")) for stream in streams for event in stream]
    if not types:
        return nothing("no event was streamed")
    parts = [found(name in types, f"{name} came {types.count(name)} times") for name in listed(params.contains)]
    parts += [
        found(name not in types, f"{name} came {types.count(name)} times") for name in listed(params.not_contains)
    ]
    if not isinstance(params.in_order, msgspec.UnsetType):
        rest = iter(types)
        missing = next((name for name in params.in_order if name not in rest), None)
        parts.append(found(missing is None, f"{missing} did not come in its place" if missing else "came in order"))
    if not isinstance(params.count, msgspec.UnsetType):
        parts += [compared(name, value, types.count(name)) for name, value in params.count.items()]
    return join(parts)
