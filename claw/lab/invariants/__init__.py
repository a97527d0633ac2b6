"""What must hold in every play, unasked: one module a scope, found by listing this folder.

A module has `NAMES` (its invariants) and `look(evidence) -> list[Finding]`, each finding named. An invariant that
cannot be looked at for a runtime is `not_checked`, never passed.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

from claw.lab.evidence import Evidence, Finding


class Scope(Protocol):
    """The names that a module of this folder defines."""

    NAMES: Sequence[str]

    def look(self, evidence: Evidence) -> list[Finding]: ...


@cache
def scopes() -> tuple[str, ...]:
    """wire, process, session, …, sorted."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_")))


def load(scope: str) -> Scope:
    module: Any = import_module(f"{__name__}.{scope}")
    return module  # type: ignore[no-any-return]


@cache
def names() -> tuple[str, ...]:
    """Every invariant of every scope."""
    return tuple(name for scope in scopes() for name in load(scope).NAMES)


def look(evidence: Evidence) -> list[Finding]:
    """Every invariant but those that the scenario ignores with a reason."""
    ignored = evidence.scenario.ignore
    return [seen for scope in scopes() for seen in load(scope).look(evidence) if seen.name not in ignored]
