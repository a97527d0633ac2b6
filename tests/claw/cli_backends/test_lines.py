"""JSON objects come out of stdout whatever a pipe did to it."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.cli_backends._lines import JsonLines

A, B, C = {"type": "a", "text": 'brace } and "quote" \\'}, {"type": "b", "n": [1, {"x": {}}]}, {"type": "c", "ü": "é"}


def read(*pieces: bytes, max_line: int = 1 << 20) -> tuple[list[dict], int]:
    lines = JsonLines(max_line=max_line)
    found = [record for piece in pieces for record in lines.feed(piece)]
    return found + lines.close(), lines.damaged


def line(*objects: dict) -> bytes:
    return b"".join(json.dumps(o, ensure_ascii=False).encode() for o in objects)


@given(st.lists(st.integers(0, 120)))
def test_cut_anywhere(cuts: list[int]) -> None:
    whole = line(A) + b"\r\n\n" + line(B) + b"\n" + line(C)  # no newline at the end
    edges = [0, *sorted(min(c, len(whole)) for c in cuts), len(whole)]
    assert read(*(whole[a:b] for a, b in pairwise(edges))) == ([A, B, C], 0)


def test_objects_glued_on_one_line_are_told_apart() -> None:
    assert read(line(A, B, C) + b"\n") == ([A, B, C], 0)


def test_a_log_line_before_after_and_between_is_left_out_and_counted() -> None:
    found, damaged = read(b"warning: {not json " + line(A) + b" done" + line(B) + b"\nplain noise\n" + line(C) + b"\n")
    assert found == [A, B, C]
    assert damaged == 2


def test_an_object_spread_over_two_lines_is_joined() -> None:
    whole = line(A)
    assert read(whole[:9] + b"\n" + whole[9:] + b"\n" + line(B) + b"\n") == ([A, B], 0)


def test_a_torn_object_does_not_take_the_next_line_with_it() -> None:
    assert read(line(A)[:9] + b"\n" + line(B) + b"\n") == ([B], 1)


def test_bytes_that_are_no_utf8_spoil_their_character_only() -> None:
    found, damaged = read(b'{"type":"a","text":"x\xff\xfey"}\n' + line(B) + b"\n")
    assert found == [{"type": "a", "text": "x\ufffd\ufffdy"}, B]
    assert damaged == 0


def test_an_array_of_events_is_its_events() -> None:
    assert read(b"[" + line(A) + b"," + line(B) + b"]\n") == ([A, B], 0)


def test_a_huge_line_is_dropped_and_the_next_one_read() -> None:
    huge = b'{"text":"' + b"x" * 5000 + b'"}'
    assert read(huge[:3000], huge[3000:] + b"\n" + line(B) + b"\n", max_line=4000) == ([B], 1)


def test_memory_stays_bounded_while_no_newline_comes() -> None:
    lines = JsonLines(max_line=1000)
    for _ in range(100):
        lines.feed(b"y" * 900)
    assert sum(map(len, lines._pieces)) <= 1900


@pytest.mark.parametrize("poison", [b"{", b'{"', b'{"a":'])
def test_a_line_that_opens_and_never_closes_costs_no_more_than_a_few_readings(poison: bytes) -> None:
    assert read(poison * 100_000 + b"\n" + line(B) + b"\n") == ([B], 1)
