"""`-c key=value`: a dotted path, and a value that is TOML or else the bare word."""

import tomllib
from typing import Any


class OverrideError(ValueError):
    """A word without `=`."""


def override(word: str) -> tuple[list[str], Any]:
    """The path and the value of one `-c` word. Raises `OverrideError`."""
    key, equals, text = word.partition("=")
    if not equals:
        raise OverrideError(f"Error parsing -c overrides: Invalid override (missing '='): {word}")
    return key.strip().split("."), value(text.strip())


def value(text: str) -> Any:
    """TOML if it is, else the text itself without quotes around it."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip("\"'")


def lay(config: dict[str, Any], path: list[str], item: Any) -> None:
    """Put a value at a dotted path, tables made on the way."""
    *tables, last = path
    for name in tables:
        inner = config.get(name)
        if not isinstance(inner, dict):
            inner = config[name] = {}
        config = inner
    config[last] = item


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Two tables, the upper one's values winning, tables merged."""
    found = dict(below)
    for key, item in above.items():
        old = found.get(key)
        found[key] = merged(old, item) if isinstance(old, dict) and isinstance(item, dict) else item
    return found
