"""Faults in what is said and in what is reported."""

import json

from simulators.core.turn import ModelTurn, Tokens, ToolCall
from simulators.core.wire import Chunk
from simulators.dialects.anthropic import DIALECT
from tests.simulators.faults.trouble import READ, STAMP, TOKENS, answer, body, context, shaped

CALLS = ModelTurn(text="Reading.", tool_calls=(READ, ToolCall(name="list", input={"path": "."})), stop="tool_use")


def test_the_last_call_breaks_off() -> None:
    turn = shaped("partial_tool_json", CALLS).turn
    assert turn.tool_calls[0] == READ
    assert turn.tool_calls[1].input == '{"path'
    assert turn.stop == "max_tokens"


def test_input_that_is_complete_and_no_json() -> None:
    for call in shaped("invalid_tool_json", CALLS).turn.tool_calls:
        assert isinstance(call.input, str)
        try:
            json.loads(call.input)
        except json.JSONDecodeError:
            continue
        raise AssertionError(call.input)


def test_two_calls_under_one_id() -> None:
    both = shaped("duplicate_tool_ids", CALLS).turn.tool_calls
    assert [call.name for call in both] == ["read", "list"]
    assert both[0].id == both[1].id
    assert both[0].id
    alone = shaped("duplicate_tool_ids", ModelTurn(tool_calls=(READ,))).turn.tool_calls
    assert [call.name for call in alone] == ["read", "read"]
    assert alone[0].id == alone[1].id


def test_calls_without_a_name() -> None:
    assert [call.name for call in shaped("empty_tool_name", CALLS).turn.tool_calls] == ["", ""]


def test_figures_that_are_not_true() -> None:
    turn = ModelTurn(text="x")
    assert shaped("usage_zero", turn).tokens == Tokens()
    assert shaped("usage_doubled", turn).tokens == Tokens(input=20, cache_read=10, output=14)


def test_figures_that_are_missing() -> None:
    rewrite = shaped("usage_missing", ModelTurn(text="x")).rewrite
    assert rewrite is not None
    for stream in (True, False):
        events = [event for event in answer(stream=stream) if isinstance(event, Chunk)]
        assert b'"usage"' in body(events)
        told = b"".join(rewrite(event.data) for event in events)
        assert b'"usage"' not in told
        assert b"message" in told


def test_another_model_answers() -> None:
    rewrite = shaped("wrong_model", ModelTurn(text="x"), model="claude-lite").rewrite
    assert rewrite is not None
    whole = DIALECT.encode_json(context().call, ModelTurn(text='the "model" says'), TOKENS, STAMP)
    told = json.loads(rewrite(whole))
    assert told["model"] == "claude-lite"
    assert told["content"] == [{"type": "text", "text": 'the "model" says'}]
    first = rewrite(body(answer()[1:2]))
    assert b'"model":"claude-lite"' in first


def test_a_turn_without_calls_is_left_alone() -> None:
    turn = ModelTurn(text="x", stop="end_turn")
    for kind in ("partial_tool_json", "invalid_tool_json", "duplicate_tool_ids", "empty_tool_name"):
        assert shaped(kind, turn).turn == turn
