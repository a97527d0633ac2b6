# ruff: noqa: E501 - a message of the vendor is one string
"""What is no request at all is refused in the words and at the place of the API's own request models."""

import typing

import pytest

from simulators.dialects.anthropic.shape import BLOCKS, check_shape
from tests.simulators.dialects.anthropic.asking import (
    NEW,
    OLD,
    body,
    refusal_of,
    refused,
    request,
    text,
    tool,
    use,
    user,
)

USE_WITHOUT_ID = {"type": "tool_use", "name": "read", "input": {}}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": None}, "messages: Field required"),
        ({"model": None}, "model: Field required"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"reasoning_effort": "high"}, "reasoning_effort: Extra inputs are not permitted"),
        ({"max_tokens": "many"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"temperature": 1.5}, "temperature: Input should be less than or equal to 1"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"system": 7}, "system: Input should be a valid list"),
        ({"stop_sequences": ["\n"]}, "stop_sequences: each stop sequence must contain non-whitespace"),
        ({"messages": [{"role": "tool", "content": "x"}]}, 'messages: Unexpected role "tool". Allowed roles are "user" or "assistant".'),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        ({"messages": [user([USE_WITHOUT_ID])]}, "messages.0.content.0.tool_use.id: Field required"),
        ({"messages": [user([use("a b")])]}, "messages.0.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
        ({"messages": [user([text("x", colour="red")])]}, "messages.0.content.0.text.colour: Extra inputs are not permitted"),
        ({"messages": [user([{"text": "x"}])]}, "messages.0.content.0.type: Field required"),
        ({"messages": [user([text("x", cache_control={"type": "forever"})])]}, "messages.0.content.0.text.cache_control.type: Input should be 'ephemeral'"),
        ({"messages": [user([text("x", cache_control={"type": "ephemeral", "ttl": "2h"})])]}, "messages.0.content.0.text.cache_control.ttl: Input should be '5m' or '1h'"),
        ({"tools": [{"name": "x"}]}, "tools.0.custom.input_schema: Field required"),
        ({"tools": [tool("no blanks")]}, "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.tool.name: Field required"),
    ],
)  # fmt: skip
def test_the_first_thing_that_is_wrong_is_named_with_its_place(fields: dict[str, object], message: str) -> None:
    assert refused(**fields) == message


def test_an_unknown_block_is_refused_with_the_blocks_that_there_are() -> None:
    message = refused(user([{"type": "input_audio"}]))
    assert message.startswith("messages.0.content.0: Input tag 'input_audio' found using 'type' does not match any of")
    assert "'text'" in message
    assert "'tool_result'" in message


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"a": tru}', "invalid character: line 1 column 11 (char 10)"),
        (b'{"text": "cut \\ud83d"}', "no low surrogate in string: line 1 column 15 (char 14)"),
        (b'{"model":', "unexpected end of data: line 1 column 10 (char 9)"),
    ],
)
def test_a_body_that_is_no_json_is_refused_with_line_and_column(raw: bytes, message: str) -> None:
    assert refusal_of(request(raw)) == f"The request body is not valid JSON: {message}"


def test_a_model_that_nobody_knows_is_a_404() -> None:
    assert refused(model="claude-sonet-4-5") == "404 not_found_error: model: claude-sonet-4-5"
    assert refused(model="gpt-5") == "404 not_found_error: model: gpt-5"
    assert refused(model="sim-anything") == "accepted"


def test_beta_fields_need_a_beta() -> None:
    asked = body(context_management={"edits": []})
    assert refusal_of(request(asked)) == "context_management: Extra inputs are not permitted"
    assert refusal_of(request(asked, anthropic_beta="context-management-2025-06-27")) == "accepted"


def test_an_unknown_beta_is_refused() -> None:
    message = refusal_of(request(body(), anthropic_beta="foo"))
    assert message.startswith("Unexpected value(s) `foo` for the `anthropic-beta` header.")


def test_sampling_parameters_ended_with_the_old_version() -> None:
    asked = body(temperature=0.5)
    assert refusal_of(request(asked, version=OLD)) == "accepted"
    assert refusal_of(request(asked, version=NEW)) == "temperature: Extra inputs are not permitted"


def test_counting_needs_no_max_tokens() -> None:
    assert refusal_of(request(body(max_tokens=None), path="/v1/messages/count_tokens")) == "accepted"


def test_every_block_and_field_of_the_sdk_is_known() -> None:
    """The parameter types of the official package are the list of what clients may send."""
    params = pytest.importorskip("anthropic.types.beta.message_create_params", reason="anthropic is not installed")
    from anthropic.types.beta.beta_content_block_param import BetaContentBlockParam

    kinds = set()
    for block in typing.get_args(BetaContentBlockParam):
        if "type" in getattr(block, "__annotations__", {}):
            kinds |= set(typing.get_args(typing.get_type_hints(block)["type"]))
    assert len(kinds) > 15
    assert kinds <= set(BLOCKS)
    fields = set(typing.get_type_hints(params.MessageCreateParamsBase)) - {"betas", "workspace_id"}
    assert len(fields) > 20
    for field in sorted(fields - {"stream", "output_format"}):
        try:
            check_shape({"model": "m", "max_tokens": 1, "messages": [user("x")], field: None}, lambda: None, beta=True, counting=False, sampling=True)  # fmt: skip
        except Exception as error:
            assert "Extra inputs" not in str(error), field


def test_a_scope_of_cached_blocks_needs_its_beta() -> None:
    """Claude Code sends it to the vendor itself; behind other base URLs it does not."""
    scoped = {"type": "ephemeral", "scope": "global"}
    for place, fields in {
        "system.0.text": {"system": [text("Be brief.", cache_control=scoped)]},
        "tools.0.custom": {"tools": [tool("read", cache_control=scoped)]},
        "messages.0.content.0.text": {"messages": [user([text("hi", cache_control=scoped)])]},
    }.items():
        asked = body(**fields) if "messages" not in fields else body(*fields["messages"])
        said = f"{place}.cache_control.ephemeral.scope: Extra inputs are not permitted"
        assert refusal_of(request(asked)) == said
        assert refusal_of(request(asked, anthropic_beta="prompt-caching-scope-2026-01-05")) == "accepted"
