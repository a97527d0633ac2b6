"""Runtimes under test: one module each, found by listing this folder; each has `NAME` and `make()`.

`claw` is the embedded path in process, `claw:claude` the CLI path over the fake `claude`. Any other runtime is a
command that a YAML file describes (`_file.py`); the library has some, by name.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from claw.lab import library
from claw.lab.runtimes.base import Kind, Runtime

DEFAULT = ("claw", "claw:claude")

__all__ = ["DEFAULT", "Kind", "Runtime", "kinds", "named", "presets"]


@cache
def kinds() -> dict[str, Kind]:
    """Every runtime by its name."""
    found = {}
    for module in sorted(iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("_") and module.name != "base":
            runtime = import_module(f"{__name__}.{module.name}")
            found[runtime.NAME] = Kind(name=runtime.NAME, make=runtime.make)
    return found


def presets() -> dict[str, Path]:
    """The runtimes that the library describes in files, by name."""
    try:
        return {path.stem: path for path in sorted((library.folder() / "runtimes").glob("*.yaml"))}
    except FileNotFoundError:
        return {}


def named(name: str) -> Kind:
    """A runtime by its name or by the file that describes it.

    Raises `KeyError` if there is none, `DocumentError` for a file that is wrong.
    """
    if name in kinds():
        return kinds()[name]
    path = presets().get(name, Path(name))
    if path.suffix in (".yaml", ".yml") and path.is_file():
        from claw.lab.runtimes._file import load

        return load(path)
    raise KeyError(name)
