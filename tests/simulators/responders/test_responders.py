"""Script, rules and echo: who answers which call."""

import pytest

from simulators import responders
from simulators.core.document import DocumentError
from tests.simulators.responders.asked import ask, call, responder

TWO = [{"text": "one"}, {"text": "two"}]


def test_turns_are_consumed_in_order_and_then_there_are_none() -> None:
    script = responder({"turns": TWO})
    assert script.unused() == ["turns[0]", "turns[1]"]
    first = ask(script)
    assert first is not None
    assert (first.text, first.answered_by) == ("one", "turns[0]")
    assert script.unused() == ["turns[1]"]
    ask(script)
    assert ask(script) is None
    assert script.unused() == []
    assert script.nearest(call()) == {"script": "all 2 turns are used up"}


@pytest.mark.parametrize(("otherwise", "said"), [("repeat", "two"), ("echo", "and now?")])
def test_what_comes_when_the_turns_are_used_up(otherwise: str, said: str) -> None:
    script = responder({"turns": TWO, "otherwise": otherwise})
    for _ in range(2):
        ask(script)
    turn = ask(script, call("and now?"))
    assert turn is not None
    assert turn.text == said


def test_a_persona_may_follow_the_script() -> None:
    script = responder({"turns": TWO, "otherwise": "persona"})
    for _ in range(2):
        ask(script)
    turn = ask(script)
    assert turn is not None
    assert turn.answered_by == "persona"


def test_rules_are_looked_at_first_and_as_often_as_they_match() -> None:
    both = responder(
        {
            "rules": [
                {"when": {"kind": "side"}, "reply": {"text": "A title"}},
                {"when": {"last_user": "(?i)deploy"}, "reply": {"text": "Deploying."}},
            ],
            "turns": TWO,
        }
    )
    said = [ask(both, call(kind="title")), ask(both, call("please DEPLOY")), ask(both), ask(both, call("deploy"))]
    assert [(turn.text, turn.answered_by) for turn in said if turn] == [
        ("A title", "rules[0]"),
        ("Deploying.", "rules[1]"),
        ("one", "turns[0]"),
        ("Deploying.", "rules[1]"),
    ]
    assert both.unused() == ["turns[1]"]


def test_for_a_call_that_nothing_answers_the_nearest_rule_is_named() -> None:
    rules = responder(
        {
            "rules": [
                {"when": {"model": "gpt-*", "last_user": "deploy"}, "reply": {"text": "x"}},
                {"when": {"model": "claude-*", "last_user": "deploy"}, "reply": {"text": "y"}},
            ]
        }
    )
    asked = call("build it")
    assert ask(rules, asked) is None
    assert rules.nearest(asked) == {
        "rule": "rules[1]",
        "does_not_fit": "last_user",
        "saw": "last_user='build it'",
        "script": "no turns",
    }


def test_headers_are_named_and_never_shown() -> None:
    rules = responder({"rules": [{"when": {"header": "x-app: cli"}, "reply": {"text": "x"}}]})
    asked = call(headers=(("x-api-key", "sk-secret"),))
    assert ask(rules, asked) is None
    assert "sk-secret" not in str(rules.nearest(asked))


def test_an_echo_says_what_was_asked() -> None:
    echo = responder({"responder": "echo"})
    turn = ask(echo, call("say this"))
    assert turn is not None
    assert (turn.text, turn.answered_by) == ("say this", "echo")


def test_responders_are_found_by_name() -> None:
    assert {"echo", "persona", "script"} <= set(responders.names())
    assert not any(name.startswith("_") for name in responders.names())


def test_one_that_is_not_there_is_named() -> None:
    if "cassette" in responders.names():
        pytest.skip("there is a cassette responder: nothing is missing")
    with pytest.raises(DocumentError, match="there is no responder `cassette`"):
        responder({"responder": "cassette", "cassette": "tape.yaml"})


def test_each_account_has_a_script_of_its_own() -> None:
    one, other = responder({"turns": TWO}), responder({"turns": TWO})
    ask(one)
    turn = ask(other)
    assert turn is not None
    assert turn.text == "one"
