"""A text that a regular expression accepts, for `pattern` in a schema."""

import re
from typing import Any

from simulators.responders._dice import Dice

# The parser of `re` is not documented and has kept this shape since Python 2; a test runs it on every version.
_parse: Any = re._parser.parse  # type: ignore[attr-defined]
_CHOICES = "abcdefghijklmnopqrstuvwxyz0123456789"
_CLASSES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_WORD": _CHOICES, "CATEGORY_SPACE": " "}
_MORE = 8  # repetitions beyond the least


def example(pattern: str, dice: Dice) -> str:
    """A text in which `pattern` is found; a plain word for one that is beyond this (look-around, back references)."""
    try:
        text = "".join(_one(op, given, dice) for op, given in _parse(pattern))
        if re.search(pattern, text):
            return text
    except (re.error, KeyError, IndexError, OverflowError):
        pass
    return "example"


def _one(op: Any, given: Any, dice: Dice) -> str:
    name = str(op)
    if name == "LITERAL":
        return chr(given)
    if name == "NOT_LITERAL":
        return next(letter for letter in _CHOICES if ord(letter) != given)
    if name == "ANY":
        return dice.pick(_CHOICES)
    if name == "IN":
        return dice.pick(_letters(given))
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = given
        times = dice.between(least, min(int(most), least + _MORE))
        return "".join(_one(o, g, dice) for _ in range(times) for o, g in inner)
    if name == "SUBPATTERN":
        return "".join(_one(o, g, dice) for o, g in given[3])
    if name == "BRANCH":
        return "".join(_one(o, g, dice) for o, g in dice.pick(given[1]))
    if name == "AT":
        return ""
    raise KeyError(name)


def _letters(parts: Any) -> str:
    """The characters that a class allows, as far as they can be typed."""
    negated, allowed = False, set[str]()
    for op, given in parts:
        name = str(op)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            allowed.add(chr(given))
        elif name == "RANGE":
            allowed |= {chr(code) for code in range(given[0], min(given[1], given[0] + 200) + 1)}
        elif name == "CATEGORY":
            allowed |= set(_CLASSES[str(given)])
    if negated:
        return "".join(letter for letter in _CHOICES if letter not in allowed)
    return "".join(sorted(allowed))
