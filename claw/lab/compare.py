"""Values in expectations: `3`, `end_turn`, or `OP VALUE` with OP one of `>= <= > < !=`.

Numbers may carry a unit: a duration (`7s`, `5m`), a percentage (`43%`, which is the number 43) or dollars (`$0.05`).
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import msgspec

from claw.lab.schema import duration

Value = bool | int | float | str | None
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


class Comparison(msgspec.Struct, frozen=True):
    """`op` is "" for equality; then `value` is as it was written."""

    op: str
    value: Value

    def holds(self, actual: Any) -> bool:
        """Whether `actual` is as it should be. A missing figure (None) satisfies only null and `!=`."""
        expected: Any = self.value
        if is_number(actual) and isinstance(expected, str):
            expected = number(expected)
        if self.op in ("", "!="):
            same = equal(expected, actual)
            return same if self.op == "" else not same
        return is_number(actual) and is_number(expected) and bool(OPERATORS[self.op](actual, expected))


def comparison(value: Value) -> Comparison:
    """Read what a scenario says. Raises `ValueError` when an ordering has no number (`>= many`)."""
    if not isinstance(value, str):
        return Comparison("", value)
    text = value.strip()
    for op in OPERATORS:
        if text.startswith(op):
            rest = text.removeprefix(op).strip()
            figure = number(rest)
            if op == "!=":
                return Comparison(op, rest if figure is None else figure)
            if figure is None:
                raise ValueError(f"`{value}` compares with no number; write `{op} 7`, `{op} 7s` or `{op} 43%`")
            return Comparison(op, figure)
    if text.startswith(("=", "!", "~")):
        raise ValueError(f"`{value}`: an operator is one of {' '.join(OPERATORS)}; equality is the plain value")
    return Comparison("", value)


def holds(expected: Value, actual: Any) -> bool:
    """Whether `actual` satisfies what a scenario wrote."""
    return comparison(expected).holds(actual)


def number(text: str) -> float | None:
    """The number in `7`, `1,000`, `7s`, `43%` or `$0.05`; None if it is none."""
    plain = text.strip().removeprefix("$").removesuffix("%").strip().replace(",", "").replace("_", "")
    try:
        figure = float(plain)
    except ValueError:
        try:
            return duration(text)
        except ValueError:
            return None
    return figure if math.isfinite(figure) else None


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(expected: Any, actual: Any) -> bool:
    """Numbers by value (a float within one part in 10⁹), everything else by type and value."""
    if is_number(expected) and is_number(actual):
        return math.isclose(expected, actual, rel_tol=1e-9, abs_tol=1e-12)
    return type(expected) is type(actual) and bool(expected == actual)
