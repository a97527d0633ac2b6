import pytest

TEXT = "alpha\nbeta\ngamma\nbeta two\n"


@pytest.fixture
def edited(use, tmp_path):
    def made(*pairs, text=TEXT):
        (tmp_path / "f.txt").write_bytes(text.encode() if isinstance(text, str) else text)
        edits = [{"oldText": old, "newText": new} for old, new in pairs]
        outcome = use("edit", path="f.txt", edits=edits)
        return outcome, (tmp_path / "f.txt").read_bytes()

    return made


def test_every_edit_refers_to_the_file_as_it_was(edited):
    outcome, after = edited(("alpha", "gamma"), ("gamma", "alpha"))
    assert not outcome.is_error
    assert after == b"gamma\nbeta\nalpha\nbeta two\n"


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ([("delta", "x")], "edits[0].oldText does not occur in f.txt"),
        ([("alpha", "x"), ("beta", "y")], "edits[1].oldText occurs 2 times in f.txt"),
        ([("", "x")], "edits[0].oldText must not be empty"),
        ([("alpha\nbeta", "x"), ("beta\ngamma", "y")], "edits[0] and edits[1] overlap"),
        ([("alpha", "alpha")], "nothing in f.txt would change"),
    ],
)
def test_a_file_changes_once_or_not_at_all(edited, pairs, problem):
    outcome, after = edited(*pairs)
    assert outcome.is_error
    assert problem in outcome.text
    assert after == TEXT.encode()


def test_a_byte_order_mark_and_crlf_stay(edited):
    outcome, after = edited(("b\nc", "B\nC\nD"), text="\ufeffa\r\nb\r\nc\r\n")
    assert not outcome.is_error
    assert after.decode() == "\ufeffa\r\nB\r\nC\r\nD\r\n"


def test_bytes_that_are_no_text_are_left_alone(edited):
    outcome, after = edited(("a", "b"), text=b"a\xff")
    assert outcome.is_error
    assert after == b"a\xff"
