"""The Chat Completions adapter: what it asks of which server, and what it reads."""

import json

import pytest

from claw.core.errors import ClawError
from claw.core.messages import ToolCallPart
from claw.core.usage import Usage
from claw.providers import SERVERS, load
from tests.claw.providers.served import HISTORY, served, sse

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 8},
}


def chunk(finish=None, usage=None, **delta):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": choices, "usage": usage}


def piece(arguments, index=0, **more):
    call = {"index": index, "function": {"arguments": arguments, **more.pop("function", {})}, **more}
    return chunk(tool_calls=[call])


TAIL = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": USAGE}
BEGIN = {"id": "call_1", "type": "function", "function": {"name": "read"}}
ANSWER = [
    chunk(role="assistant", content="Hel"),
    chunk(content="lo"),
    piece("", **BEGIN),
    piece('{"path":'),
    piece('"/a"}'),
]


def call(*chunks, provider="openai-chat", model="gpt-4.1", **asked):
    return served(provider, model, sse(*chunks, "[DONE]"), **asked)


def test_a_stream_is_text_and_calls_with_disjoint_figures():
    turn = call(*ANSWER, chunk("tool_calls"), TAIL).turn
    assert turn.message.text == "Hello"
    assert turn.message.tool_calls == (ToolCallPart("call_1", "read", {"path": "/a"}),)
    assert turn.stop == "tool_use"
    assert turn.usage == Usage(input=40, cache_read=60, output=20, reasoning=8)


def test_an_answer_in_one_piece_is_the_same_turn():
    tool = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"/a"}'}}
    message = {"role": "assistant", "content": "Hello", "tool_calls": [tool]}
    body = {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    whole = served(
        "openai-chat", "m", json.dumps({**body, "usage": USAGE}).encode(), content_type="application/json", stream=False
    ).turn
    assert whole == call(*ANSWER, chunk("tool_calls"), TAIL).turn


def test_calls_side_by_side_and_two_with_the_same_index_stay_apart():
    second = {"id": "call_2", "function": {"name": "read"}}
    for index in (1, 0):
        turn = call(piece('{"path":"a"}', **BEGIN), piece('{"path":"b"}', index, **second), chunk("tool_calls")).turn
        assert [c.input["path"] for c in turn.message.tool_calls] == ["a", "b"]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_that_other_servers_stream_is_thinking(name):
    thinking, text = call(chunk(**{name: "Hm"}), chunk(content="Hi"), chunk("stop")).turn.message.parts
    assert (thinking.text, text.text) == ("Hm", "Hi")


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("sensitive", "refusal"),
     ("model_context_window_exceeded", "context_window_exceeded"), ("something new", "end_turn")],
)  # fmt: skip
def test_why_it_stopped(reason, stop):
    assert call(chunk(content="Hi"), chunk(reason)).turn.stop == stop


def test_a_server_that_says_stop_after_calls_means_calls():
    assert call(piece("{}", **BEGIN), chunk("stop")).turn.stop == "tool_use"


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        ({"error": {"message": "Overloaded", "code": 502, "metadata": {"error_type": "overloaded"}}}, "overloaded"),
        (chunk("error"), "server_error"),
        (chunk("insufficient_system_resource"), "overloaded"),
    ],
)
def test_an_answer_that_failed_on_the_way(ending, kind):
    found = call(chunk(content="Hel"), ending)
    assert (found.failure.kind.value, found.failure.replay_safe) == (kind, False)


def test_a_stream_without_a_reason_to_stop_is_truncated_and_one_without_figures_is_not():
    assert call(*ANSWER).failure.kind == "truncated"
    assert call(chunk(content="Hi"), chunk("stop")).turn.usage == Usage()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 2872, "completion_tokens": 5, "prompt_cache_hit_tokens": 2816},
         Usage(input=56, cache_read=2816, output=5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}, Usage(input=6, cache_read=4, output=5)),
        ({"prompt_tokens": 10, "completion_tokens": 5,
          "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}},
         Usage(input=3, cache_read=4, cache_write_5m=3, output=5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 22,
          "completion_tokens_details": {"reasoning_tokens": 7}}, Usage(input=10, output=12, reasoning=7)),
    ],
    ids=["deepseek", "kimi", "openrouter", "xai"],
)  # fmt: skip
def test_figures_of_other_servers(usage, expected):
    assert (
        call(chunk(content="Hi"), chunk("stop"), {**TAIL, "usage": {"total_tokens": 15, **usage}}).turn.usage
        == expected
    )


# -- what is asked ---------------------------------------------------------------------------


def test_a_conversation_as_messages():
    sent = call(chunk("stop"), history=HISTORY).sent
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user", "user"]
    assert sent["messages"][2]["content"] == "A"  # thinking is never glued to text
    assert sent["messages"][3] == {"role": "tool", "tool_call_id": "toolu_0", "content": "R"}
    assert sent["messages"][4]["content"][1]["type"] == "image_url"
    assert sent["stream_options"] == {"include_usage": True}


def test_each_server_is_asked_in_its_own_way():
    def sent(provider, model="gpt-5.1"):
        return call(chunk("stop"), provider=provider, model=model, thinking="low").sent

    own = sent("openai-chat")
    assert own["messages"][0]["role"] == "developer"
    assert (own["max_completion_tokens"], own["store"], own["prompt_cache_key"]) == (3000, False, "s1")
    assert own["reasoning_effort"] == "low"
    other = sent("vllm")
    assert other["messages"][0]["role"] == "system"
    assert other["max_tokens"] == 3000
    assert not {"store", "prompt_cache_key", "reasoning_effort", "max_completion_tokens"} & set(other)
    assert "stream_options" not in sent("mistral")


@pytest.mark.parametrize("name", SERVERS)
def test_every_known_server_can_be_asked(name):
    assert call(chunk(content="Hi"), chunk("stop"), provider=name).turn.message.text == "Hi"


def test_a_server_of_ones_own_needs_an_address_and_a_known_api():
    facts = lambda model: None  # noqa: E731
    with pytest.raises(ClawError, match=r"\[providers\.mine\]"):
        load("mine", "openai-chat").connect(base_url=None, key="k", http_client=None, facts=facts)
    with pytest.raises(ClawError, match=r"providers\.mine: there is no api `opnai`; did you mean `openai`"):
        load("mine", "opnai")
    with pytest.raises(ClawError, match="GROQ_API_KEY"):
        load("groq").connect(base_url=None, key="", http_client=None, facts=facts)
