"""Identifiers."""

import re

from simulators.core.ids import identifier, uuid


def test_they_look_like_a_vendors_and_repeat() -> None:
    made = identifier(1, 2, "message")
    assert re.fullmatch(r"[1-9A-HJ-NP-Za-km-z]{22}", made)
    assert made == identifier(1, 2, "message") != identifier(1, 3, "message")
    assert len(identifier(1, 2, "x", 64)) == 64


def test_a_uuid_is_one() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}", uuid(1, 0, "organization"))


def test_none_comes_twice() -> None:
    assert len({identifier(1, n, "tool:0") for n in range(2000)}) == 2000
