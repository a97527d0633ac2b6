"""Which tools there are: every file of this folder that has a `TOOL`."""

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

from claw import tools as folder
from claw.tools.base import Tool, pick

ALIASES = {"bash": "exec", "shell": "exec"}  # as other runtimes call them


def names() -> list[str]:
    """The names of all tools, sorted."""
    return sorted(_all())


def load(names: Iterable[str] | None = None) -> dict[str, Tool]:
    """The tools asked for, by name, sorted so that a request is always the same; None means all of them.

    Raises `ClawError` for a name that does not exist.
    """
    tools = _all()
    if names is None:
        return dict(sorted(tools.items()))
    wanted = {ALIASES.get(name.lower(), name) for name in names}
    return {name: pick(tools, name) for name in sorted(wanted)}


def _all() -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for module in iter_modules(folder.__path__):
        if module.name not in ("base", "registry"):
            tool: Tool | None = getattr(import_module(f"{folder.__name__}.{module.name}"), "TOOL", None)
            if tool is not None:
                found[tool.spec.name] = tool
    return found
