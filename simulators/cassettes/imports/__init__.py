"""Readers of what other tools keep, one module each, found by its name in this folder; a leading underscore is none.

A module `NAME` has `ABOUT` (one line) and `read(data: bytes, *, source: str) -> Cassette`, which raises `CassetteError`
with the place of what is wrong. The command line writes dashes for underscores.
"""

import importlib
import pkgutil
from difflib import get_close_matches

from simulators.cassettes.format import Cassette, CassetteError


def names() -> list[str]:
    """The kinds that can be imported."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def abouts() -> dict[str, str]:
    """{kind: what it is}."""
    return {_shown(name): str(_module(name).ABOUT) for name in names()}


def read(kind: str, data: bytes, *, source: str) -> Cassette:
    """A cassette out of a file of this kind, not scrubbed yet. Raises `CassetteError`."""
    name = kind.replace("-", "_")
    if name not in names():
        known = [_shown(one) for one in names()]
        near = get_close_matches(kind, known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
        raise CassetteError(f"{source}: nothing reads `{kind}`; {hint}")
    made: Cassette = _module(name).read(data, source=source)
    made.claw = {"origin": "imported", **made.claw, "by": f"claw cassette import {_shown(name)}"}
    if not made.exchanges:
        raise CassetteError(f"{source}: there is no exchange with a provider in it")
    return made


def _shown(name: str) -> str:
    return name.replace("_", "-")


def _module(name: str):  # type: ignore[no-untyped-def]
    return importlib.import_module(f"{__name__}.{name}")
