"""A client does not go in circles."""

from tests.simulators.verdict.story import Story, back, calls, says, status, user

CHECK = "no_progress_loop"
DO = user("wait for the build")


def rounds(count: int, *, result: str = "not yet", **input: object) -> list[dict]:
    return [m for i in range(count) for m in (calls(f"t{i}", command="poll", **input), back(f"t{i}", result.format(i)))]


def test_ten_times_the_same_with_the_same_result() -> None:
    assert status(Story().ask(DO, *rounds(10)), CHECK) == ("bad", (1,))


def test_nine_times_is_patience() -> None:
    assert status(Story().ask(DO, *rounds(9)), CHECK)[0] == "ok"


def test_results_that_change_are_progress() -> None:
    assert status(Story().ask(DO, *rounds(30, result="{} %")), CHECK)[0] == "ok"


def test_something_else_in_between() -> None:
    assert status(Story().ask(DO, *rounds(9), calls("x", name="read"), back("x", "a"), *rounds(9)), CHECK)[0] == "ok"


def test_each_prompt_begins_afresh() -> None:
    """Who is asked for the same thing every day runs the same tool every day."""
    day = [DO, *rounds(6), says("not yet")]
    assert status(Story().ask(*day, *day, DO, *rounds(6)), CHECK)[0] == "ok"


def test_without_tools_there_is_nothing_to_see() -> None:
    assert status(Story().ask(DO, says("ok"), DO), CHECK)[0] == "not_checked"
