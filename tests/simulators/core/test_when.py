"""Conditions on a call."""

from typing import Any

import pytest

from simulators.core.account_file import WhenTable
from simulators.core.document import Document, DocumentError
from simulators.core.turn import ModelCall, ToolDecl
from simulators.core.when import When, compile_when

CALL = ModelCall(
    dialect="plain", operation="generate", model="claude-sonnet-4-5", path="/v1/messages", last_user="Please Deploy it",
    system="You are kind.", headers=(("x-purpose", "title"),), tool_results=("read_file",), stream=True, kind="title",
    tools=(ToolDecl("read_file"),),
)  # fmt: skip


def when(**keys: Any) -> When:
    return compile_when(WhenTable(**keys), Document({}, source="x"), "rules[0].when")


@pytest.mark.parametrize(
    ("key", "fits", "misses"),
    [
        ("call", 3, 4),
        ("call", [1, 3], [1, 2]),
        ("kind", "title", "main"),
        ("kind", "side", "summary"),
        ("model", "claude-*", "gpt-*"),
        ("path", "/v1/*", "/v2/*"),
        ("last_user", "(?i)deploy", "deploy"),
        ("system", "kind", "cruel"),
        ("header", "x-purpose: ti", "x-purpose: su"),
        ("header", {"X-Purpose": "^title$"}, {"x-purpose": "^it"}),
        ("header", {"x-purpose": "title"}, {"x-other": "title"}),
        ("tool_result_for", "read_*", "write_*"),
        ("has_tools", True, False),
        ("stream", True, False),
    ],
)
def test_every_key(key: str, fits: Any, misses: Any) -> None:
    assert when(**{key: fits}).matches(CALL, 3)
    assert not when(**{key: misses}).matches(CALL, 3)


def test_every_key_must_fit_and_those_that_do_not_are_told() -> None:
    condition = when(model="claude-*", stream=False, last_user="undo")
    assert condition.keys == ("model", "last_user", "stream")
    assert not condition.matches(CALL, 1)
    assert condition.misses(CALL, 1) == ["last_user", "stream"]


def test_no_key_fits_every_call() -> None:
    assert when().matches(CALL, 1)


def test_a_bad_pattern_names_its_place() -> None:
    with pytest.raises(DocumentError, match=r"x: rules\[0\].when.system: not a regular expression"):
        when(system="(")
