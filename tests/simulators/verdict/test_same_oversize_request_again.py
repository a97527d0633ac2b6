"""What was too large is not sent again as it was."""

from tests.simulators.verdict.story import SYSTEM, Story, says, status, user

CHECK = "same_oversize_request_again"
LONG, MORE = user("long " * 500), user("more " * 500)


def too_large(**more: object) -> Story:
    return Story().refused(LONG, says("ok"), MORE, kind="context_overflow", answered_by="overflow", **more)


def test_sent_again_unchanged() -> None:
    story = too_large().ask(LONG, says("ok"), MORE).ask(LONG, says("ok"), MORE)
    assert status(story, CHECK) == ("bad", (1, 2, 3))


def test_a_clock_in_the_instructions_makes_it_no_smaller() -> None:
    assert status(too_large().ask(LONG, says("ok"), MORE, system=SYSTEM + "\n10:05"), CHECK)[0] == "bad"


def test_a_lower_max_tokens_helps_an_output_budget_and_nothing_else() -> None:
    story = Story().refused(LONG, kind="output_budget", answered_by="overflow", max_tokens=9000)
    assert status(story.ask(LONG, max_tokens=4000), CHECK)[0] == "ok"


def test_compacted_first() -> None:
    story = too_large().ask(LONG, user("Summarise."), kind="summary").ask(user("Summary: …"), MORE)
    assert status(story, CHECK) == ("ok", (1,))


def test_tools_left_out_is_a_remedy() -> None:
    tools = {"tools": [{"name": f"t{i}", "description": "x" * 200} for i in range(9)]}
    assert status(too_large(body=tools).ask(LONG, says("ok"), MORE), CHECK)[0] == "ok"


def test_a_model_with_another_window_may_take_it() -> None:
    assert status(too_large().ask(LONG, says("ok"), MORE, model="claude-opus-5-5"), CHECK)[0] == "ok"


def test_the_same_after_another_kind_of_refusal_is_not_this_check() -> None:
    story = Story().refused(LONG, kind="rate_limited", status=429).ask(LONG)
    assert status(story, CHECK)[0] == "not_checked"
