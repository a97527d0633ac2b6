"""A retry does not run a tool again."""

from tests.simulators.verdict.story import CUT, Story, back, calls, status, user

CHECK = "tool_repeated_after_retry"
DO = user("pay the bill")
PAY = {"name": "pay", "amount": 5}


def test_one_call_with_two_results() -> None:
    story = Story().ask(DO).ask(DO, calls("t1", **PAY), back("t1", "receipt 1"), status=500)
    assert status(story.ask(DO, calls("t1", **PAY), back("t1", "receipt 2")), CHECK) == ("bad", (2, 3))


def test_the_same_result_again_is_how_it_should_be() -> None:
    story = Story().ask(DO).ask(DO, calls("t1", **PAY), back("t1", "receipt 1"), status=500)
    assert status(story.ask(DO, calls("t1", **PAY), back("t1", "receipt 1")), CHECK) == ("ok", (2,))


def test_a_result_cut_down_because_it_was_too_large_was_not_run_again() -> None:
    long = "line\n" * 900
    for failure in ({"kind": "context_overflow", "answered_by": "overflow"}, {"kind": "server_error", "status": 500}):
        story = Story().ask(DO).refused(DO, calls("t1", **PAY), back("t1", long), **failure)
        assert status(story.ask(DO, calls("t1", **PAY), back("t1", long[:200] + "[cut]")), CHECK)[0] != "bad"


def test_a_result_taken_out_because_of_its_size_was_not_run_again() -> None:
    story = Story().ask(DO).refused(DO, calls("t1", **PAY), back("t1", "x" * 900), kind="context_overflow")
    assert status(story.ask(DO, calls("t1", **PAY), back("t1", "[removed]")), CHECK)[0] == "ok"


def test_both_answers_to_a_question_asked_twice_were_run() -> None:
    story = Story().ask(DO, **CUT).ask(DO)
    story.ask(DO, calls("t1", **PAY), back("t1", "ok"), calls("t2", **PAY), back("t2", "ok"))
    assert status(story, CHECK)[0] == "ok"  # the second may be the model's own wish
    both = Story().ask(DO, **CUT).ask(DO)
    pair = {"role": "assistant", "content": [*calls("t1", **PAY)["content"], *calls("t2", **PAY)["content"]]}
    results = {"role": "user", "content": [*back("t1", "ok")["content"], *back("t2", "ok")["content"]]}
    assert status(both.ask(DO, pair, results), CHECK) == ("bad", (3, 3)[:1])


def test_a_run_that_failed_after_its_tool_was_begun_anew() -> None:
    story = Story().ask(DO).ask(DO, calls("t1", **PAY), back("t1", "ok"), status=500)
    story.ask(DO).ask(DO, calls("t9", **PAY), back("t9", "ok"))
    assert status(story, CHECK) == ("bad", (2, 4))


def test_a_run_begun_anew_that_does_something_else_repeats_nothing() -> None:
    story = Story().ask(DO).ask(DO, calls("t1", **PAY), back("t1", "ok"), status=500)
    story.ask(DO).ask(DO, calls("t9", name="status"), back("t9", "paid"))
    assert status(story, CHECK)[0] == "ok"


def test_two_runs_of_one_question_that_both_went_well_are_two_runs() -> None:
    story = Story()
    for id in ("t1", "t9"):
        story.ask(DO).ask(DO, calls(id, **PAY), back(id, "ok"))
    assert status(story, CHECK)[0] == "not_checked"


def test_a_refusal_before_any_tool_ran_shows_nothing() -> None:
    story = Story().ask(DO, status=429).ask(DO).ask(DO, calls("t1", **PAY), back("t1", "ok"))
    assert status(story, CHECK)[0] == "not_checked"
