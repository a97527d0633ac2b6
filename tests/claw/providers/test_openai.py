"""The Responses adapter: what it asks, and what it reads."""

import json

import pytest

from claw.core.errors import ClawError
from claw.core.messages import ThinkingPart, ToolCallPart, assistant, user
from claw.core.usage import Usage
from tests.claw.providers.served import HISTORY, served, sse

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {
        "cached_tokens": 60,
        "cache_write_tokens": 30,
        "cache_write_tokens_details": {"ttl_30m_tokens": 20, "ttl_12h_tokens": 10},
    },
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 8},
    "total_tokens": 120,
}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
REASONING["encrypted_content"] = "CIPHER"
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path":"/a"}'}
TEXT = {"type": "message", "id": "msg_1", "role": "assistant"}
TEXT["content"] = [{"type": "output_text", "text": "Hello", "annotations": []}]


def response(status="completed", output=(), **more):
    return {
        "id": "resp_1", "object": "response", "model": "gpt-5.6", "status": status, "output": list(output),
        "usage": USAGE, "incomplete_details": None, "error": None, **more,
    }  # fmt: skip


def events(*items):
    """Numbered, as the API does it, after the one that begins a response."""
    first = {"type": "response.created", "response": response("in_progress", usage=None)}
    return [{**event, "sequence_number": n} for n, event in enumerate([first, *items])]


def item(at, whole, *deltas):
    empty = {**whole, "arguments": "", "content": [], "summary": []}
    return [
        {"type": "response.output_item.added", "output_index": at, "item": empty},
        *({"output_index": at, "item_id": "x", **delta} for delta in deltas),
        {"type": "response.output_item.done", "output_index": at, "item": whole},
    ]


def text_delta(text, content=0):
    return {"type": "response.output_text.delta", "content_index": content, "delta": text, "logprobs": []}


def end(type="response.completed", **more):
    return {"type": type, "response": response(**more)}


def call(*items, **asked):
    return served("openai", "gpt-5.6", sse(*events(*items), names=True), **asked)


ANSWER = [
    *item(0, REASONING, {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": "Hm."}),
    *item(1, TEXT, text_delta("Hel"), text_delta("lo")),
    *item(2, CALL, *({"type": "response.function_call_arguments.delta", "delta": d} for d in ('{"path":', '"/a"}'))),
    end(),
]


def test_a_stream_is_thinking_text_and_calls_with_disjoint_figures():
    turn = call(*ANSWER).turn
    thinking, text, tool = turn.message.parts
    assert (thinking.text, text.text, tool) == ("Hm.", "Hello", ToolCallPart("call_1", "read", {"path": "/a"}))
    assert json.loads(thinking.signature.removeprefix("openai:")) == {
        "id": "rs_1", "encrypted_content": "CIPHER", "summary": [{"type": "summary_text", "text": "Hm."}],
    }  # fmt: skip
    assert turn.stop == "tool_use"
    assert turn.usage == Usage(input=10, cache_read=60, cache_write_5m=20, cache_write_1h=10, output=20, reasoning=8)


def test_an_answer_in_one_piece_is_the_same_turn():
    body = json.dumps(response(output=[REASONING, TEXT, CALL])).encode()
    whole = served("openai", "gpt-5.6", body, content_type="application/json", stream=False).turn
    assert whole == call(*ANSWER).turn


def test_items_that_were_not_streamed_are_told_when_they_are_done():
    turn = call(*item(0, TEXT), *item(1, CALL), end()).turn
    assert turn.message.text == "Hello"
    assert turn.message.tool_calls == (ToolCallPart("call_1", "read", {"path": "/a"}),)


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "max_tokens"), ("content_filter", "refusal"), ("steered", "pause_turn")]
)
def test_an_incomplete_answer_says_why(reason, stop):
    ending = end("response.incomplete", status="incomplete", incomplete_details={"reason": reason})
    assert call(*item(0, TEXT, text_delta("Hello")), ending).turn.stop == stop


def test_a_refusal_is_one():
    refusal = {**TEXT, "content": [{"type": "refusal", "refusal": "No."}]}
    turn = call(*item(0, refusal, {"type": "response.refusal.delta", "content_index": 0, "delta": "No."}), end()).turn
    assert (turn.stop, turn.message.text) == ("refusal", "No.")


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "server_error", "message": "boom", "param": None}, "server_error"),
        ({"type": "error", "error": {"type": "x", "code": "server_is_overloaded", "message": "Busy"}}, "overloaded"),
        (
            end("response.failed", status="failed", error={"code": "rate_limit_exceeded", "message": "slow"}),
            "rate_limited",
        ),
        (
            end("response.failed", status="failed", error={"code": "context_length_exceeded", "message": "x"}),
            "context_overflow",
        ),
    ],
)
def test_an_error_among_the_events_is_told_and_what_was_said_before_it(event, kind):
    early = call(event)
    assert (early.failure.kind.value, early.failure.replay_safe) == (kind, True)
    late = call(*item(0, TEXT, text_delta("Hel"))[:2], event)
    assert (late.failure.kind.value, late.failure.replay_safe, late.delivered) == (kind, False, True)


def test_a_stream_without_its_end_is_truncated():
    cut = call(*ANSWER[:-1])
    assert (cut.failure.kind.value, cut.failure.replay_safe) == ("truncated", False)


def test_an_event_that_comes_twice_is_read_once_and_one_out_of_order_makes_no_sense():
    numbered = events(*item(0, TEXT, text_delta("Hel"), text_delta("lo")), end())
    twice = [event for event in numbered for _ in range(2)]
    assert served("openai", "m", sse(*twice, names=True)).turn.message.text == "Hello"
    swapped = [*numbered[:2], numbered[3], numbered[2], *numbered[4:]]
    assert served("openai", "m", sse(*swapped, names=True)).failure.kind == "transport"


def test_arguments_that_are_no_json_are_kept_as_they_came():
    broken = {**CALL, "arguments": '{"path": '}
    assert call(*item(0, broken), end()).turn.message.tool_calls[0].broken == '{"path": '


def test_a_refused_request_is_classified():
    body = json.dumps({"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}).encode()
    failure = served(
        "openai", "m", body, status=429, content_type="application/json", headers={"retry-after": "7"}
    ).failure
    assert (failure.kind.value, failure.retry_after, failure.status) == ("rate_limited", 7.0, 429)


def test_a_page_instead_of_a_stream_is_none_of_the_vendors():
    assert served("openai", "m", b"<html>Sign in</html>", content_type="text/html").failure.kind == "server_error"


# -- what is asked ---------------------------------------------------------------------------


def test_a_conversation_as_items_stored_nowhere():
    sent = call(end(), history=HISTORY, thinking="low").sent
    assert (sent["store"], sent["instructions"], sent["prompt_cache_key"]) == (False, "SYS", "s1")
    assert sent["reasoning"] == {"effort": "low", "summary": "auto"}
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert sent["tools"][0]["name"] == "read"
    assert [i.get("role", i["type"]) for i in sent["input"]] == [
        "user", "assistant", "function_call", "function_call_output", "user",
    ]  # fmt: skip
    assert sent["input"][2]["call_id"] == sent["input"][3]["call_id"] == "toolu_0"
    assert [part["type"] for part in sent["input"][3]["output"]] == ["input_text", "input_image"]


def test_reasoning_goes_back_as_it_came_and_a_foreign_vendors_stays_here():
    turn = call(*ANSWER).turn
    sent = call(end(), history=(user("go"), turn.message)).sent["input"]
    assert sent[1] == REASONING
    sent = call(end(), history=(user("go"), assistant(ThinkingPart("T", "gemini:QUFB")), user("on"))).sent["input"]
    assert [i["role"] for i in sent] == ["user", "user"]


@pytest.mark.parametrize(
    ("model", "cache", "expected"),
    [
        ("gpt-5.6", "short", {"prompt_cache_key": "s1"}),
        ("gpt-5.6", "long", {"prompt_cache_key": "s1", "prompt_cache_options": {"ttl": "12h"}}),
        ("gpt-4.1", "long", {"prompt_cache_key": "s1", "prompt_cache_retention": "24h"}),
        ("gpt-5.6", "none", {}),
    ],
)
def test_how_long_a_prompt_is_kept(model, cache, expected):
    sent = served("openai", model, sse(*events(end()), names=True), cache=cache).sent
    assert {name: value for name, value in sent.items() if name.startswith("prompt_cache")} == expected


def test_configured_parameters_are_added_and_may_not_replace_what_claw_builds():
    assert call(end(), params={"service_tier": "flex"}).sent["service_tier"] == "flex"
    with pytest.raises(ClawError, match="must not set input"):
        call(end(), params={"input": []})
