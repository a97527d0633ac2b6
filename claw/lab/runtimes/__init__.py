"""Runtimes under test: one module each, found by listing this folder; each has `NAME` and `make()`.

`claw` is the embedded path in process, `claw:claude` the CLI path over the fake `claude`.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from claw.lab.runtimes.base import Kind, Runtime

DEFAULT = ("claw", "claw:claude")

__all__ = ["DEFAULT", "Kind", "Runtime", "kinds", "named"]


@cache
def kinds() -> dict[str, Kind]:
    """Every runtime by its name."""
    found = {}
    for module in sorted(iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("_") and module.name != "base":
            runtime = import_module(f"{__name__}.{module.name}")
            found[runtime.NAME] = Kind(name=runtime.NAME, make=runtime.make)
    return found


def named(name: str) -> Kind:
    """The runtime of this name. Raises `KeyError`."""
    return kinds()[name]
