"""Wire dialects: one module or package each, found by listing this folder. A name with a leading underscore is none."""

import importlib
import pkgutil

from simulators.core.turn import Dialect


def load() -> dict[str, Dialect]:
    """Every dialect by its name: what each module calls `DIALECT`."""
    found: dict[str, Dialect] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            dialect: Dialect = importlib.import_module(f"{__name__}.{module.name}").DIALECT
            found[dialect.name] = dialect
    return found
