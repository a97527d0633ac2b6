"""CLIs under claw's control, one file each. A module here that has a `BACKEND` is one; names with `_` are helpers."""

from importlib import import_module
from pkgutil import iter_modules

from claw.core.calls import CliBackend


def load() -> dict[str, CliBackend]:
    """Every back end by name (`claude-cli`), found by listing this folder. Nothing is started."""
    names = sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found: list[CliBackend] = [module.BACKEND for module in modules]
    return {backend.name: backend for backend in found}
