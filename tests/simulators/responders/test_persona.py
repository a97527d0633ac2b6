# ruff: noqa: E501 - a schema is read best on a line
"""The persona: prose of the size that was asked for, and calls that fit the schemas of the tools."""

import re
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from simulators.responders._dice import Dice
from simulators.responders._patterns import example
from simulators.responders._values import value_for
from tests.simulators.responders.asked import ask, call, responder, tool

PERSONA = {"responder": "persona"}
WORDS = ("alpha", "beta", "gamma")
READ = tool("read", properties={"path": {"type": "string"}}, required=["path"])
SCHEMAS: dict[str, dict[str, Any]] = {
    "required and optional": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    "bounds": {
        "properties": {
            "n": {"type": "integer", "minimum": 5, "maximum": 7},
            "x": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "m": {"type": "integer", "multipleOf": 5, "minimum": 3, "maximum": 22},
            "s": {"type": "string", "minLength": 30, "maxLength": 40},
        },
        "required": ["n", "x", "m", "s"],
    },
    "choices": {
        "properties": {
            "e": {"enum": ["r", "w"]},
            "c": {"const": 3},
            "u": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^[A-Z]{3}-\\d{2,4}$"}]},
            "t": {"type": ["string", "null"]},
        },
        "required": ["e", "c", "u", "t"],
    },
    "arrays": {
        "properties": {
            "list": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False},
        },
        "required": ["list", "pair"],
    },
    "references": {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}, "required": ["v"]}},
        "properties": {"head": {"$ref": "#/$defs/node"}},
        "required": ["head"],
    },
    "all of": {
        "properties": {"o": {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]}},
        "required": ["o"],
    },
    "formats": {"properties": {"when": {"type": "string", "format": "date-time"}, "who": {"type": "string", "format": "email"}}, "required": ["when", "who"]},
    "undeclared": {"required": ["anything"], "additionalProperties": {"type": "integer"}},
    "nothing": {},
}  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_input_fits_the_schema(schema: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: no judge for the input")
    whole = {"type": "object", **schema}
    for seed in range(40):
        jsonschema.Draft202012Validator(whole).validate(value_for(whole, Dice(seed / 40), WORDS))


def test_a_runtime_that_carries_it_out_does_no_harm() -> None:
    schema = {"properties": {n: {"type": "string"} for n in ("command", "file_path", "url")}, "required": ["command", "file_path", "url"]}  # fmt: skip
    made = value_for({"type": "object", **schema}, Dice(0.3), WORDS)
    assert re.fullmatch(r"echo \w+", made["command"])
    assert re.fullmatch(r"sim-\w+\.md", made["file_path"])
    assert made["url"].startswith("https://example.com/")


@pytest.mark.parametrize("pattern", ["^[a-z]+$", r"\d{4}-\d{2}", "^(foo|bar)+baz?$", r"^[^\s/]{2,5}$", "x|y", "^.{3}$"])
def test_patterns_are_met(pattern: str) -> None:
    for seed in range(20):
        assert re.search(pattern, example(pattern, Dice(seed / 20)))


def test_a_pattern_beyond_it_gets_a_word() -> None:
    assert example(r"^(?=.*\d)(?!x)[a-z]+$", Dice(0.5)) == "example"


@pytest.mark.parametrize(
    ("asked", "words"), [("Tell me in 200 words.", 200), ("3 sentences, please", 36), ("1,000 words", 1000)]
)
def test_prose_has_the_size_that_was_asked_for(asked: str, words: int) -> None:
    turn = ask(responder(PERSONA), call(asked))
    assert turn is not None
    assert turn.text is not None
    assert len(turn.text.split()) == words


def test_titles_are_short_and_summaries_long() -> None:
    title, summary = (ask(responder(PERSONA), call(kind=kind)) for kind in ("title", "summary"))
    assert title is not None
    assert summary is not None
    assert len((title.text or "").split()) <= 6
    assert len((summary.text or "").split()) >= 150


def test_a_tool_that_is_named_is_called_and_its_result_answered_with_prose() -> None:
    turn = ask(responder(PERSONA), call("use the read tool", tools=(tool("list"), READ)))
    assert turn is not None
    assert [c.name for c in turn.tool_calls] == ["read"]
    after = ask(responder(PERSONA), call("", tools=(READ,), tool_results=("read",)))
    assert after is not None
    assert after.tool_calls == ()
    assert after.text


@pytest.mark.parametrize(("choice", "called"), [("any", {"read", "list"}), ("tool:list", {"list"}), ("none", set())])
def test_the_choice_of_the_request_is_kept(choice: str, called: set[str]) -> None:
    seen = set()
    for seed in range(20):
        asked = call("use read or list", tools=(READ, tool("list")), tool_choice=choice)
        turn = ask(responder(PERSONA), asked, seed=seed)
        assert turn is not None
        seen |= {c.name for c in turn.tool_calls}
    assert seen == called


def test_the_same_call_gets_the_same_answer_and_another_seed_another() -> None:
    one, again, other = (ask(responder(PERSONA), call("hi"), seed=seed) for seed in (1, 1, 2))
    assert one == again != other


def test_faker_is_not_imported_before_it_is_needed() -> None:
    code = "import sys; from simulators import responders; responders.names(); print('faker' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "False"


def test_where_json_is_wanted_the_answer_is_json_that_fits() -> None:
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}, "why": {"type": "string"}},
        "required": ["score", "why"],
    }
    for number in range(1, 20):
        turn = ask(responder(PERSONA), call(answer_schema=schema), n=number)
        assert turn is not None
        value = msgspec.json.decode(turn.text or "")
        assert 1 <= value["score"] <= 5
        assert isinstance(value["why"], str)


def test_json_without_a_schema_is_an_object() -> None:
    turn = ask(responder(PERSONA), call(answer_schema={}))
    assert turn is not None
    assert isinstance(msgspec.json.decode(turn.text or ""), dict)
