"""Arguments that did not arrive whole are not run."""

import pytest

from tests.simulators.verdict.story import CUT, Story, back, calls, says, status, user

CHECK = "cut_tool_arguments_run"
DO = user("clean up")
RAN = (calls("t1", command="rm -rf /tm"), back("t1", "done"))
REFUSED = (calls("t1", command="rm -rf /tm"), back("t1", "arguments are cut off", failed=True))


@pytest.mark.parametrize("how", [CUT, {"faults": ["partial_tool_json"]}, {"faults": ["invalid_tool_json"]}])
def test_run_though_the_answer_was_broken(how: dict) -> None:
    assert status(Story().ask(DO, **how).ask(DO, *RAN), CHECK) == ("bad", (1, 2))
    assert status(Story().ask(DO, **how).ask(DO, *REFUSED), CHECK)[0] == "ok"


def test_run_though_max_tokens_ended_the_answer() -> None:
    full = {"tokens": {"input": 9, "output": 64}, "max_tokens": 64}
    assert status(Story().ask(DO, **full).ask(DO, *RAN, max_tokens=64), CHECK) == ("bad", (1, 2))
    room = {"tokens": {"input": 9, "output": 63}, "max_tokens": 64}
    assert status(Story().ask(DO, **room).ask(DO, *RAN, max_tokens=64), CHECK)[0] == "not_checked"


def test_asked_again_and_run_from_the_whole_answer() -> None:
    assert status(Story().ask(DO, **CUT).ask(DO).ask(DO, *RAN), CHECK)[0] == "ok"


def test_a_call_of_a_later_answer_is_not_the_broken_one() -> None:
    story = Story().ask(DO, **CUT).ask(DO, says("I'll"), user("go on"), *RAN)
    assert status(story, CHECK)[0] == "ok"


def test_where_no_flag_says_that_a_result_is_an_error_its_words_do() -> None:
    def chat(*messages: dict) -> dict:
        return {"path": "/v1/chat/completions", "body": {"messages": [DO, *messages]}, "system": None}

    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "exec", "arguments": '{"a"'}}]}
    for text, expected in (("3 files removed", "bad"), ("Invalid JSON in arguments", "ok")):
        story = Story().ask(**CUT, **chat()).ask(**chat(call, {"role": "tool", "tool_call_id": "c", "content": text}))
        assert status(story, CHECK)[0] == expected
