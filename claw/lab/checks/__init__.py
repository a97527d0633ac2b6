"""The checks that `expect:` can name: one module each, named like its check, found by listing this folder.

A module has `Params` (the type of what a scenario writes), `STEP` (the steps it looks at when none is said) and
`look(params, evidence, step) -> Finding`. It looks at evidence alone and never at a runtime.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

from claw.lab.evidence import Evidence, Finding, Which


class Check(Protocol):
    """The names that a module of this folder defines."""

    Params: Any
    STEP: Which

    def look(self, params: Any, evidence: Evidence, step: Which) -> Finding: ...


@cache
def names() -> tuple[str, ...]:
    """Every check there is, sorted."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_")))


def load(name: str) -> Check:
    """The check of this name. Raises `KeyError`."""
    if name not in names():
        raise KeyError(name)
    module: Any = import_module(f"{__name__}.{name}")
    return module  # type: ignore[no-any-return]
