"""A small language of checks that words its refusals as OpenAI's API does.

A check is called with a value and its path (`messages[0].content`) and refuses or returns. Wording and codes are those
of recorded 400s and of the provider's error guide.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulators.dialects._openai.refusal import refuse

Check = Callable[[Any, str], None]
LONGEST_STRING = 10_485_760
_NAMES = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    list: "an array",
    dict: "an object",
}


def anything(value: Any, path: str) -> None:
    """Accepts every value: fields that this simulator does not read."""


def kind_of(value: Any) -> str:
    """How the API names the type of a value."""
    if value is None:
        return "null"
    if type(value) is list and value and type(value[0]) is dict:
        return "an array of objects"
    return _NAMES.get(type(value), "an object")


def wrong_type(expected: str, value: Any, path: str) -> None:
    refuse(
        f"Invalid type for '{path}': expected {expected}, but got {kind_of(value)} instead.",
        param=path,
        code="invalid_type",
    )


def missing(path: str) -> None:
    refuse(f"Missing required parameter: '{path}'.", param=path, code="missing_required_parameter")


def string(value: Any, path: str) -> None:
    if type(value) is not str:
        wrong_type("a string", value, path)
    if len(value) > LONGEST_STRING:
        too_long(value, path, LONGEST_STRING)


def too_long(value: str, path: str, limit: int) -> None:
    refuse(
        f"Invalid '{path}': string too long. Expected a string with maximum length {limit}, but got a string with "
        f"length {len(value)} instead.",
        param=path,
        code="string_above_max_length",
    )


def short_string(limit: int) -> Check:
    def check(value: Any, path: str) -> None:
        string(value, path)
        if len(value) > limit:
            too_long(value, path, limit)

    return check


def boolean(value: Any, path: str) -> None:
    if type(value) is not bool:
        wrong_type("a boolean", value, path)


def mapping(value: Any, path: str) -> None:
    if type(value) is not dict:
        wrong_type("an object", value, path)


def integer(minimum: int | None = None, maximum: int | None = None) -> Check:
    def check(value: Any, path: str) -> None:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            wrong_type("an integer", value, path)
        _bounds(value, path, minimum, maximum, "integer")

    return check


def number(minimum: float, maximum: float) -> Check:
    def check(value: Any, path: str) -> None:
        if type(value) not in (int, float):
            wrong_type("a decimal", value, path)
        _bounds(value, path, minimum, maximum, "decimal")

    return check


def _bounds(value: float, path: str, minimum: float | None, maximum: float | None, kind: str) -> None:
    if minimum is not None and value < minimum:
        refuse(
            f"Invalid '{path}': {kind} below minimum value. Expected a value >= {minimum:g}, but got {value:g} "
            "instead.",
            param=path,
            code=f"{kind}_below_min_value",
        )
    if maximum is not None and value > maximum:
        refuse(
            f"Invalid '{path}': {kind} above maximum value. Expected a value <= {maximum:g}, but got {value:g} "
            "instead.",
            param=path,
            code=f"{kind}_above_max_value",
        )


def literal(*options: str) -> Check:
    def check(value: Any, path: str) -> None:
        if value not in options:
            if type(value) is not str:
                wrong_type("a string", value, path)
            not_among(value, options, path)

    return check


def not_among(value: Any, options: Sequence[str], path: str) -> None:
    refuse(f"Invalid value: '{value}'. Supported values are: {listed(options)}.", param=path, code="invalid_value")


def listed(options: Sequence[str]) -> str:
    """`'a', 'b', and 'c'`."""
    quoted = [f"'{o}'" for o in options]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def nullable(check: Check) -> Check:
    def checked(value: Any, path: str) -> None:
        if value is not None:
            check(value, path)

    return checked


def listing(item: Check, *, at_least: int = 0, at_most: int | None = None, of: str = "an array") -> Check:
    def check(value: Any, path: str) -> None:
        if type(value) is not list:
            wrong_type(of, value, path)
        if len(value) < at_least:
            refuse(
                f"Invalid '{path}': empty array. Expected an array with minimum length {at_least}, but got an empty "
                "array instead.",
                param=path,
                code="empty_array",
            )
        if at_most is not None and len(value) > at_most:
            refuse(
                f"Invalid '{path}': array too long. Expected an array with maximum length {at_most}, but got an array "
                f"with length {len(value)} instead.",
                param=path,
                code="array_above_max_length",
            )
        for index, entry in enumerate(value):
            item(entry, f"{path}[{index}]")

    return check


def record(*, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these fields and no others."""
    known = {**required, **(optional or {})}

    def check(value: Any, path: str) -> None:
        mapping(value, path)
        fields(value, known, required, path)

    return check


def fields(value: Mapping[str, Any], known: Mapping[str, Check], required: Mapping[str, Check], path: str = "") -> None:
    """The fields of an object: missing ones first, then each that is there, then those that nobody knows."""
    lead = f"{path}." if path else ""
    for name in required:
        if name not in value:
            missing(lead + name)
    for name, given in value.items():
        check = known.get(name)
        if check is None:
            refuse(f"Unknown parameter: '{lead}{name}'.", param=lead + name, code="unknown_parameter")
        else:
            check(given, lead + name)


def one_of(checks: Mapping[type, Check], expected: str) -> Check:
    """The check that goes with the type of the value."""

    def check(value: Any, path: str) -> None:
        chosen = checks.get(type(value))
        if chosen is None:
            wrong_type(expected, value, path)
        else:
            chosen(value, path)

    return check


def tagged(variants: Mapping[str, Check], *, tag: str = "type") -> Check:
    """An object whose `type` chooses the check."""

    def check(value: Any, path: str) -> None:
        mapping(value, path)
        chosen = value.get(tag)
        if chosen is None:
            missing(f"{path}.{tag}")
        variant = variants.get(chosen) if type(chosen) is str else None
        if variant is None:
            not_among(chosen, list(variants), f"{path}.{tag}")
        else:
            variant(value, path)

    return check
