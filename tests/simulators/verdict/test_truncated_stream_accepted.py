"""Half an answer is not an answer."""

import pytest

from tests.simulators.verdict.story import CUT, Story, says, status, user

CHECK = "truncated_stream_accepted"
HI, NEXT = user("hi"), user("and then?")


@pytest.mark.parametrize("how", [CUT, {"ended": "cut", "faults": ["cut"]}, {"faults": ["missing_end"]}])
def test_the_conversation_goes_on_with_the_half_answer(how: dict) -> None:
    assert status(Story().ask(HI, **how).ask(HI, says("Hel"), NEXT), CHECK) == ("bad", (1, 2))


def test_asked_again() -> None:
    assert status(Story().ask(HI, **CUT).ask(HI).ask(HI, says("Hello"), NEXT), CHECK)[0] == "ok"


def test_the_half_answer_is_dropped() -> None:
    assert status(Story().ask(HI, **CUT).ask(HI, NEXT), CHECK)[0] == "ok"


def test_the_model_is_asked_to_go_on_from_where_it_was_cut() -> None:
    assert status(Story().ask(HI, **CUT).ask(HI, says("Hel")), CHECK)[0] == "ok"


def test_nothing_was_sent_after_it() -> None:
    """Only the client's own word tells whether it took the answer for whole."""
    story = Story().ask(HI, **CUT)
    assert status(story, CHECK) == ("not_checked", (1,))
    assert status(story, CHECK, report={"exit": 0}) == ("bad", (1,))
    assert status(story, CHECK, report={"exit": 1})[0] == "ok"
    assert status(story, CHECK, report={"exit": 0, "failure": {"kind": "truncated"}})[0] == "ok"


def test_tried_three_times_and_given_up() -> None:
    story = Story().ask(HI, **CUT).ask(HI, **CUT).ask(HI, **CUT)
    assert status(story, CHECK, report={"exit": 1})[0] == "ok"


def test_a_client_that_left_was_not_cut_off() -> None:
    assert status(Story().ask(HI, ended="client_gone").ask(HI, says("Hel"), NEXT), CHECK)[0] == "not_checked"


def test_side_calls_do_not_count() -> None:
    assert status(Story().ask(HI, kind="title", **CUT).ask(HI, says("x"), NEXT), CHECK)[0] == "not_checked"


@pytest.mark.parametrize("text", ["[The answer was interrupted.]", "Hel\n[cut off: connection lost]"])
def test_a_visible_marker_says_that_it_is_not_whole(text: str) -> None:
    assert status(Story().ask(HI, **CUT).ask(HI, says(text), NEXT), CHECK)[0] == "ok"
