"""What must hold of a command's requests: the checks of scenarios, in a file with `expect:` alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from claw.lab import checks
from claw.lab.evidence import Evidence, Outcome, Played
from claw.lab.loader import Plan, plans_of
from simulators.core.document import Document, load_yaml


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One expectation: `status` pass, fail or not_checked (never counted as passed), and what was seen."""

    check: str
    status: str
    saw: str


def read_expectations(path: Path) -> Plan:
    """The `expect:` of a file. Raises `DocumentError` with the line and the nearest right word, or `OSError`."""
    document = load_yaml(path.read_bytes(), source=str(path))
    if not isinstance(document.data, Mapping) or set(document.data) != {"expect"}:
        raise document.error("", "a file of expectations is a mapping with the one key `expect`, a list of checks")
    whole = {"about": "A command.", "area": "session", "steps": [{"prompt": "run"}], "expect": document.data["expect"]}
    return plans_of(Document(whole, source=document.source, text=document.text), path)[0]


def look(plan: Plan, exchanges: Sequence[Mapping[str, Any]], *, exit: int) -> list[Held]:
    """Check them against what a command sent and how it ended; its output is its own and is not looked at."""
    times = [raw["at"] for raw in exchanges]
    step = Played(
        n=1,
        kind="prompt",
        prompt="run",
        outcome=Outcome(exit=exit),
        exchanges=list(exchanges),
        began=min(times, default=0.0),
        ended=max(times, default=0.0),
    )
    evidence = Evidence(scenario=plan.scenario, runtime="command", steps=[step], exchanges=list(exchanges))
    held = []
    for expected in plan.expectations:
        found = checks.load(expected.check).look(expected.params, evidence, expected.step)
        held.append(Held(check=expected.check, status=found.status, saw=found.saw))
    return held
