"""Values of expectations: equality, or an operator and a number with or without a unit."""

from typing import Any

import pytest

from claw.lab.compare import comparison, holds


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (85501, 85501),
        (0.1 + 0.2, 0.3),
        (">= 0.95", 0.95),
        (">=7s", 7.0),
        ("<= 5m", 300),
        ("> 43%", 44),
        ("< $0.05", 0.049),
        ("!= end_turn", "max_tokens"),
        ("!= 3", 4),
        ("!= 3", None),
        ("7s", 7.0),
        ("1,000", 1000),
        (">= 1,000", 1000),
        ("end_turn", "end_turn"),
        (None, None),
        (True, True),
    ],
)
def test_holds(expected: Any, actual: Any) -> None:
    assert holds(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (85501, 85001),
        (1, True),
        (True, 1),
        (0, None),
        (">= 0", None),
        (">= 1", "2"),
        ("!= 3", 3),
        ("> 7s", 7),
        ("end_turn", None),
        (None, 0),
    ],
)
def test_does_not_hold(expected: Any, actual: Any) -> None:
    assert not holds(expected, actual)


@pytest.mark.parametrize("text", [">= many", "=> 3", "== 3", "~ 3", "<", ">= nan"])
def test_what_compares_with_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        comparison(text)
