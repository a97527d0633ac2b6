"""Settings files and memory files: which are read, and what of them counts here.

`$HOME/.claude/settings.json` (user), `.claude/settings.json` (project), `.claude/settings.local.json` (local), and what
--settings names (a file or JSON). --setting-sources picks among the first three. CLAUDE.md files stand beside them.
"""

import json
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from simulators.cli.claude.hooks import merge_hooks
from simulators.cli.effects import Effect, ReadFile

if TYPE_CHECKING:
    from simulators.cli.claude.context import Context

_SOURCES = ("user", "project", "local")


class BadSettings(Exception):
    """--settings that cannot be read; `str()` is for stderr."""


def read_settings(context: "Context") -> Generator[Effect, Any, None]:
    """Take over hooks, permission rules and the permission mode. Raises `BadSettings`."""
    options = context.options
    parts: list[Mapping[str, Any]] = []
    if not options.bare:
        for source, path in _places(context):
            if source in sources(context):
                found = _object((yield ReadFile(path)))
                parts += [found] if found is not None else []
    if options.settings:
        parts.append((yield from _named(context, options.settings)))
    context.hook_settings = {} if _switched_off(parts) else merge_hooks(parts)
    for part in parts:
        permissions = part.get("permissions")
        if isinstance(permissions, Mapping):
            context.allowed_rules += [str(r) for r in permissions.get("allow") or ()]
            context.denied_rules += [str(r) for r in permissions.get("deny") or ()]
            if options.permission_mode is None and permissions.get("defaultMode"):
                options.permission_mode = str(permissions["defaultMode"])
        if options.model is None and isinstance(part.get("model"), str) and part["model"]:
            context.model_setting = part["model"]


def sources(context: "Context") -> tuple[str, ...]:
    """The sources that --setting-sources leaves."""
    asked = context.options.setting_sources
    if asked is None:
        return _SOURCES
    return tuple(s.strip() for s in asked.split(",") if s.strip() in _SOURCES)


def memory(context: "Context") -> Generator[Effect, Any, list[tuple[str, str]]]:
    """(path, text) of the CLAUDE.md files that a conversation is told of: the user's, then those of the project."""
    home, cwd = context.home, context.start.cwd
    places: list[tuple[str, str]] = [("user", f"{home}/.claude/CLAUDE.md")]
    folder = ""
    for part in ["", *[p for p in cwd.split("/") if p]]:
        folder = f"{folder}/{part}" if part else folder
        for name in ("CLAUDE.md", ".claude/CLAUDE.md"):
            if f"{folder}/{name}" != places[0][1]:
                places.append(("project", f"{folder}/{name}"))
        places.append(("local", f"{folder}/CLAUDE.local.md"))
    found = []
    for source, path in places:
        if source in sources(context) and not context.options.bare:
            data = yield ReadFile(path)
            if data:
                found.append((path, data.decode("utf-8", "replace")))
    return found


def _places(context: "Context") -> list[tuple[str, str]]:
    folder = f"{context.start.cwd}/.claude"
    return [
        ("user", f"{context.home}/.claude/settings.json"),
        ("project", f"{folder}/settings.json"),
        ("local", f"{folder}/settings.local.json"),
    ]


def _named(context: "Context", text: str) -> Generator[Effect, Any, Mapping[str, Any]]:
    if text.lstrip().startswith("{"):
        found = _object(text.encode())
        if found is None:
            raise BadSettings("Error: Invalid JSON provided to --settings")
        return found
    path = text if text.startswith("/") else f"{context.start.cwd}/{text}"
    data = yield ReadFile(path)
    if data is None:
        raise BadSettings(f"Error: Settings file not found: {path}")
    found = _object(data)
    if found is None:
        raise BadSettings(f"Error: Failed to process settings: {path} is no JSON object")
    return found


def _object(data: bytes | None) -> Mapping[str, Any] | None:
    """A broken settings file is passed over, as the CLI does in print mode."""
    if data is None:
        return None
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _switched_off(parts: list[Mapping[str, Any]]) -> bool:
    return any(part.get("disableAllHooks") is True for part in parts)
