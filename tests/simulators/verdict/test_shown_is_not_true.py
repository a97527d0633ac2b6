"""The figures a client shows are those of the wire."""

from tests.simulators.verdict.story import Story, status, user

CHECK = "shown_is_not_true"
STORY = (
    Story().ask(user("a")).ask(user("b"), tokens={"input": 1, "cache_read": 85_000, "cache_write_5m": 500, "output": 7})
)


def report(context: int | None, cost: float | None = None) -> dict:
    return {"usage": {"context_tokens": context}, "cost_usd": cost}


def test_the_sum_of_all_calls_is_not_the_context() -> None:
    assert status(STORY, CHECK, report=report(2_052_024)) == ("bad", (2,))


def test_cached_tokens_belong_to_the_context() -> None:
    assert status(STORY, CHECK, report=report(1))[0] == "bad"
    assert status(STORY, CHECK, report=report(85_501)) == ("ok", (2,))


def test_the_cost_is_that_of_all_calls() -> None:
    assert status(STORY, CHECK, report=report(None, 0.01)) == ("bad", (1, 2))
    assert status(STORY, CHECK, report=report(85_501, 0.0201))[0] == "ok"  # rounded for display


def test_nothing_shown_proves_nothing() -> None:
    assert status(STORY, CHECK)[0] == "not_checked"
    assert status(STORY, CHECK, report=report(None))[0] == "not_checked"


def test_a_side_call_after_the_answer_is_not_the_context() -> None:
    story = Story().ask(user("a"), tokens={"input": 500}).ask(user("t"), kind="title", tokens={"input": 3})
    assert status(story, CHECK, report=report(500))[0] == "ok"
