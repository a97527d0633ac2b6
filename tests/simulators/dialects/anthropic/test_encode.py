"""Answers on the wire, judged by the official SDK's own types."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from simulators.core.turn import ModelTurn, Tokens, ToolCall
from simulators.core.wire import Chunk
from simulators.dialects.anthropic import DIALECT
from tests.simulators.dialects.anthropic.asking import STAMP, accepted, user

TOKENS = Tokens(input=21, cache_read=1800, cache_write_5m=148, cache_write_1h=100, output=50, thinking=12)
FULL = ModelTurn(
    thinking="Let me look.",
    text='I will "read" it,\nthen say déjà vu.',
    tool_calls=(ToolCall(name="read", input={"path": "a/rather/long/path.md"}), ToolCall(name="now", input={})),
    stop="tool_use",
)
BLOCKS = ModelTurn(
    text="Searching.",
    blocks=(
        {"type": "server_tool_use", "id": "srvtoolu_01A", "name": "web_search", "input": {"query": "weather"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01A", "content": []},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
    ),
    stop="pause_turn",
)
TURNS = {
    "text": ModelTurn(text="Hello there.", stop="end_turn"),
    "full": FULL,
    "vendor blocks": BLOCKS,
    "nothing": ModelTurn(stop="end_turn"),
    "refusal": ModelTurn(text="No.", stop="refusal"),
    "cut call": ModelTurn(tool_calls=(ToolCall(name="read", input='{"path": "a/ra'),), stop="max_tokens"),
    "end of window": ModelTurn(text="and so", stop="context_window_exceeded"),
    "stop sequence": ModelTurn(text="one two", stop="stop_sequence", stop_sequence="three"),
}


def stream(turn: ModelTurn, tokens: Tokens = TOKENS, **fields: Any) -> list[Chunk]:
    call = accepted(user("hi"), stream=True, **fields)
    return list(DIALECT.encode_stream(call, turn, tokens, STAMP))


def data(chunk: Chunk) -> dict[str, Any]:
    """The JSON of an event, whose frame must be exactly two lines and a blank one."""
    name, line, *rest = chunk.data.decode().split("\n")
    assert rest == ["", ""]
    assert name == f"event: {chunk.event}"
    found: dict[str, Any] = json.loads(line.removeprefix("data: "))
    assert found["type"] == chunk.event
    return found


def whole(turn: ModelTurn, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DIALECT.encode_json(accepted(user("hi"), **fields), turn, TOKENS, STAMP))
    return found


def unknown_keys(model: Any, given: Any, path: str = "") -> Iterator[str]:
    """Keys that a pydantic model does not declare, at every depth."""
    for name, value in given.items():
        if name not in type(model).model_fields:
            yield f"{path}{name}"
            continue
        inner = getattr(model, name)
        if isinstance(value, dict) and hasattr(type(inner), "model_fields"):
            yield from unknown_keys(inner, value, f"{path}{name}.")
        elif isinstance(value, list):
            for number, (part, raw) in enumerate(zip(inner, value, strict=True)):
                if hasattr(type(part), "model_fields"):
                    yield from unknown_keys(part, raw, f"{path}{name}.{number}.")


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_every_event_is_one_that_the_sdk_declares(turn: ModelTurn) -> None:
    types = pytest.importorskip("anthropic.types", reason="anthropic is not installed: no judge for the events")
    from pydantic import TypeAdapter

    adapter = TypeAdapter[Any](types.RawMessageStreamEvent)
    judged = 0
    for chunk in stream(turn):
        event = data(chunk)
        if chunk.event != "ping":
            assert list(unknown_keys(adapter.validate_python(event), event)) == []
            judged += 1
    assert judged >= 3


@pytest.mark.parametrize(
    "turn", [t for n, t in TURNS.items() if n != "cut call"], ids=[n for n in TURNS if n != "cut call"]
)
def test_a_whole_message_is_one_that_the_sdk_declares(turn: ModelTurn) -> None:
    types = pytest.importorskip("anthropic.types", reason="anthropic is not installed: no judge for the message")
    body = whole(turn)
    message = types.Message.model_validate(body, strict=True)
    assert list(unknown_keys(message, body)) == []


def test_events_come_in_the_order_of_the_api() -> None:
    names = [chunk.event for chunk in stream(ModelTurn(thinking="Hm so", text="Hi you", stop="end_turn"))]
    assert names == [
        "message_start",
        "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_delta",
        "content_block_stop", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip


def test_deltas_are_words_and_pieces_of_sixteen() -> None:
    deltas = [data(chunk)["delta"] for chunk in stream(FULL) if chunk.event == "content_block_delta"]
    said = [delta["text"] for delta in deltas if delta["type"] == "text_delta"]
    assert said == ["I ", "will ", '"read" ', "it,\n", "then ", "say ", "déjà ", "vu."]
    pieces = [delta["partial_json"] for delta in deltas if delta["type"] == "input_json_delta"]
    assert pieces == ["", '{"path":"a/rathe', 'r/long/path.md"}', "", "{}"]


def test_figures_are_final_at_the_start_and_cumulative_at_the_end() -> None:
    chunks = stream(FULL)
    start, end = data(chunks[0])["message"], data(chunks[-2])
    assert start["usage"]["input_tokens"] == 21
    assert start["usage"]["cache_creation_input_tokens"] == 248
    assert start["usage"]["cache_creation"] == {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100}
    assert 1 <= start["usage"]["output_tokens"] <= 8
    assert end["usage"] == {
        "input_tokens": 21,
        "cache_creation_input_tokens": 248,
        "cache_read_input_tokens": 1800,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 12},
    }
    assert end["delta"] == {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None}


def test_the_stream_and_the_body_say_the_same() -> None:
    text = thinking = signature = ""
    given: dict[int, str] = {}
    for chunk in stream(FULL):
        event = data(chunk)
        if chunk.event == "content_block_delta":
            delta = event["delta"]
            text += delta.get("text", "")
            thinking += delta.get("thinking", "")
            signature += delta.get("signature", "")
            given[event["index"]] = given.get(event["index"], "") + delta.get("partial_json", "")
    body = whole(FULL)
    assert body["content"] == [
        {"type": "thinking", "thinking": thinking, "signature": signature},
        {"type": "text", "text": text},
        {
            "type": "tool_use",
            "id": "toolu_01" + STAMP.tool_ids[0],
            "name": "read",
            "input": json.loads(given[2]),
            "caller": {"type": "direct"},
        },
        {
            "type": "tool_use",
            "id": "toolu_01" + STAMP.tool_ids[1],
            "name": "now",
            "input": json.loads(given[3]),
            "caller": {"type": "direct"},
        },
    ]
    assert body["id"] == "msg_01" + STAMP.message_id


def test_thinking_that_is_omitted_leaves_its_signature() -> None:
    for fields in (
        {"model": "claude-sonnet-5-5"},
        {"model": "claude-sonnet-4-6", "thinking": {"type": "adaptive", "display": "omitted"}},
    ):
        kinds = [data(c)["delta"]["type"] for c in stream(ModelTurn(thinking="Hm so", stop="end_turn"), **fields) if c.event == "content_block_delta"]  # fmt: skip  # noqa: E501
        assert kinds == ["signature_delta"]
    shown = stream(
        ModelTurn(thinking="Hm"), model="claude-sonnet-5-5", thinking={"type": "adaptive", "display": "summarized"}
    )
    assert any(b"thinking_delta" in chunk.data for chunk in shown)


def test_a_prewarming_request_is_answered_with_nothing() -> None:
    body = whole(ModelTurn(text="never said"), max_tokens=0)
    assert body["content"] == []
    assert body["stop_reason"] == "max_tokens"
    assert body["usage"]["output_tokens"] == 0


def test_the_resolved_model_answers() -> None:
    assert whole(TURNS["text"], model="claude-sonnet-4-5")["model"] == "claude-sonnet-4-5-20250929"


def test_a_refusal_is_a_200_with_details() -> None:
    body = whole(TURNS["refusal"])
    assert body["stop_reason"] == "refusal"
    assert body["stop_details"] == {"type": "refusal", "category": None, "explanation": None}


def test_usage_of_the_journal_is_that_of_the_message() -> None:
    call = accepted(user("hi"))
    assert DIALECT.usage(call, TOKENS) == whole(TURNS["text"])["usage"]


def test_equal_calls_get_equal_bytes() -> None:
    assert [c.data for c in stream(FULL)] == [c.data for c in stream(FULL)]
    assert msgspec.json.decode(DIALECT.encode_count(accepted(user("x")), 7, STAMP)) == {"input_tokens": 7}


def test_padding_is_spaces_before_the_end_of_a_line_and_repeats() -> None:
    """As recorded: up to 15 of them, never in a ping, and the events say the same."""
    stamp = msgspec.structs.replace(STAMP, padding="seed")
    plain = list(DIALECT.encode_stream(accepted(user("hi"), stream=True), FULL, TOKENS, STAMP))
    padded = list(DIALECT.encode_stream(accepted(user("hi"), stream=True), FULL, TOKENS, stamp))
    assert padded == list(DIALECT.encode_stream(accepted(user("hi"), stream=True), FULL, TOKENS, stamp))
    assert [data(chunk) for chunk in padded] == [data(chunk) for chunk in plain]
    added = [len(one.data) - len(other.data) for one, other in zip(padded, plain, strict=True)]
    assert max(added) <= 15 and len(set(added)) > 5
    assert all(not more for more, chunk in zip(added, padded, strict=True) if chunk.event == "ping")


def test_a_refusal_says_what_the_script_says() -> None:
    turn = ModelTurn(stop="refusal", stop_details={"category": "cyber", "explanation": "no"})
    body = msgspec.json.decode(DIALECT.encode_json(accepted(user("hi")), turn, TOKENS, STAMP))
    assert body["stop_details"] == {"type": "refusal", "category": "cyber", "explanation": "no"}
