"""Faults: one module each, found by listing this folder. A name with a leading underscore is none."""

import importlib
import pkgutil
from typing import cast

from simulators.core.fault import FaultKind


def load() -> dict[str, FaultKind]:
    """Every kind of fault by its name; the module itself is the `FaultKind`."""
    found: dict[str, FaultKind] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            kind = cast(FaultKind, importlib.import_module(f"{__name__}.{module.name}"))
            found[kind.KIND] = kind
    return found
