"""The wire: the whole verdict that the simulators read from a journal, for any runtime."""

from collections.abc import Sequence
from pkgutil import iter_modules
from typing import Any

from claw.lab.evidence import Evidence, Exchange, Finding, Status
from simulators import verdict

NAMES: Sequence[str] = tuple(
    sorted(module.name for module in iter_modules(verdict.__path__) if not module.name.startswith("_"))
)
STATUS: dict[str, Status] = {"ok": "pass", "bad": "fail", "not_checked": "not_checked"}


def look(evidence: Evidence) -> list[Finding]:
    """Each check of the verdict, over the whole play."""
    return [
        Finding(name=seen.check, status=STATUS[seen.status], saw=_saw(seen)) for seen in findings(evidence.exchanges)
    ]


def findings(exchanges: Sequence[Exchange]) -> Sequence[Any]:
    """The verdict itself: findings with `check`, `status` (ok, bad, not_checked), `exchanges` and `why`."""
    seen: Sequence[Any] = verdict.judge(exchanges)
    return seen


def _saw(seen: Any) -> str:
    return str(seen.why) or "nothing of the kind"
