"""Saved journals in their three forms."""

import json

import pytest

from claw.core.errors import ClawError
from claw.lab.journal_file import read_journal

ONE, TWO = {"n": 1, "path": "/v1/messages"}, {"n": 2, "path": "/v1/messages"}


@pytest.mark.parametrize(
    "text",
    [json.dumps({"exchanges": [ONE, TWO], "dropped": 0}, indent=2), json.dumps([ONE, TWO]),
     json.dumps(ONE) + "\n\n" + json.dumps(TWO) + "\n"],
)  # fmt: skip
def test_an_object_a_list_and_lines(text: str) -> None:
    assert read_journal(text.encode(), source="j") == [ONE, TWO]


def test_one_line_is_a_journal_too() -> None:
    assert read_journal(json.dumps(ONE).encode(), source="j") == [ONE]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no exchange"), ('{"exchanges": []}', "no exchange"), ("{nope", "j:1: not JSON"),
     ("[1]", r"exchanges\[0\]: no `n`"),
     ('[{"n": 1}]', "no `path`"), ('[{"n": "1", "path": "/"}]', r"exchanges\[0\].n"),
     ('{"exchanges": 3}', "a list is needed"),
     ('{"n": 1, "path": "/"}\n{oops\n', "j:2: not JSON"), ("7", "a list is needed")],
)  # fmt: skip
def test_what_is_no_journal_says_where_and_why(text: str, said: str) -> None:
    with pytest.raises(ClawError, match=said):
        read_journal(text.encode(), source="j")
