"""A small language of checks that words its refusals as the API's request models do.

A check is called with a value and its dotted path and refuses or returns. Order is that of the API: the declared
fields as declared, missing ones among them, then what nobody declared.
"""

from collections.abc import Callable, Mapping
from typing import Any

from simulators.dialects.anthropic.refusal import either, refuse

Check = Callable[[Any, str], None]


def at(path: str, name: str | int) -> str:
    return f"{path}.{name}" if path else str(name)


def anything(value: Any, path: str) -> None:
    """Accepts every value: fields that this simulator does not read."""


def string(value: Any, path: str) -> None:
    if type(value) is not str:
        refuse(f"{path}: Input should be a valid string")


def boolean(value: Any, path: str) -> None:
    if type(value) is not bool:
        refuse(f"{path}: Input should be a valid boolean")


def mapping(value: Any, path: str) -> None:
    if type(value) is not dict:
        refuse(f"{path}: Input should be a valid dictionary")


def integer(minimum: int | None = None) -> Check:
    def check(value: Any, path: str) -> None:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            refuse(f"{path}: Input should be a valid integer")
        if minimum is not None and value < minimum:
            refuse(f"{path}: Input should be greater than or equal to {minimum}")

    return check


def number(minimum: float, maximum: float) -> Check:
    def check(value: Any, path: str) -> None:
        if type(value) not in (int, float):
            refuse(f"{path}: Input should be a valid number")
        if value < minimum:
            refuse(f"{path}: Input should be greater than or equal to {minimum:g}")
        if value > maximum:
            refuse(f"{path}: Input should be less than or equal to {maximum:g}")

    return check


def literal(*options: str) -> Check:
    def check(value: Any, path: str) -> None:
        if value not in options:
            refuse(f"{path}: Input should be {either(options)}")

    return check


def pattern(expression: str, matches: Callable[[str], Any]) -> Check:
    """A string that `matches` accepts whole; `expression` is what the refusal quotes."""

    def check(value: Any, path: str) -> None:
        string(value, path)
        if not matches(value):
            refuse(f"{path}: String should match pattern '{expression}'")

    return check


def nullable(check: Check) -> Check:
    def checked(value: Any, path: str) -> None:
        if value is not None:
            check(value, path)

    return checked


def listing(item: Check, *, at_most: int | None = None) -> Check:
    def check(value: Any, path: str) -> None:
        if type(value) is not list:
            refuse(f"{path}: Input should be a valid list")
        if at_most is not None and len(value) > at_most:
            refuse(f"{path}: List should have at most {at_most} items after validation, not {len(value)}")
        for index, entry in enumerate(value):
            item(entry, f"{path}.{index}")

    return check


def text_or(items: Check) -> Check:
    """A string, or the list that `items` checks."""

    def check(value: Any, path: str) -> None:
        if type(value) is not str:
            items(value, path)

    return check


def record(*, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these fields and no others."""
    known = {**required, **(optional or {})}

    def check(value: Any, path: str) -> None:
        mapping(value, path)
        for name, field in known.items():
            if name in value:
                field(value[name], at(path, name))
            elif name in required:
                refuse(f"{at(path, name)}: Field required")
        for name in value:
            if name not in known:
                refuse(f"{at(path, name)}: Extra inputs are not permitted")

    return check


def tagged(variants: Mapping[str, Check], *, tag: str = "type", default: str | None = None) -> Check:
    """An object whose `type` chooses the check; the chosen tag becomes part of the path, as the API writes it."""

    def check(value: Any, path: str) -> None:
        mapping(value, path)
        chosen = value.get(tag)
        if chosen is None:
            chosen = default
        if chosen is None:
            refuse(f"{at(path, tag)}: Field required")
        variant = variants.get(chosen) if type(chosen) is str else None
        if variant is None:
            expected = ", ".join(f"'{name}'" for name in sorted(variants))
            refuse(
                f"{path}: Input tag '{chosen}' found using '{tag}' does not match any of the expected tags: {expected}"
            )
        variant(value, at(path, chosen))

    return check
