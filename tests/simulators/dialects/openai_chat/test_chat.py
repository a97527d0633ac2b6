"""Chat Completions: what is refused, in which words, and what an answer looks like."""

from typing import Any

import pytest

from tests.simulators.dialects._openai.asking import CHAT, Asker, calling, function, told, user

REFUSED: dict[str, tuple[dict[str, Any], tuple[str, str | None, str | None]]] = {
    "no model": ({"model": None}, ("you must provide a model parameter", None, None)),
    "no messages": (
        {"messages": None},
        ("Missing required parameter: 'messages'.", "messages", "missing_required_parameter"),
    ),
    "a role": (
        {"messages": [{"role": "robot", "content": "x"}]},
        (
            "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
            "'developer'.",
            "messages[0].role",
            "invalid_value",
        ),
    ),
    "content": (
        {"messages": [{"role": "user", "content": 1}]},
        (
            "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an integer "
            "instead.",
            "messages[0].content",
            "invalid_type",
        ),
    ),
    "a stranger": ({"nonsense": 1}, ("Unrecognized request argument supplied: nonsense", None, None)),
    "temperature": (
        {"temperature": 3},
        (
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
            "temperature",
            "decimal_above_max_value",
        ),
    ),
    "max_tokens of a model that reasons": (
        {"model": "gpt-5.5", "max_tokens": 10},
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
    ),
    "temperature of a model that reasons": (
        {"model": "gpt-5", "temperature": 0.2},
        (
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is "
            "supported.",
            "temperature",
            "unsupported_value",
        ),
    ),
    "stream_options alone": (
        {"stream_options": {"include_usage": True}},
        ("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options", None),
    ),
    "a schema": (
        {"tools": [function("x", parameters={"type": "array"})]},
        (
            "Invalid schema for function 'x': schema must be a JSON Schema of 'type: \"object\"', got 'type: "
            '"array"\'.',
            "tools[0].function.parameters",
            "invalid_function_parameters",
        ),
    ),
    "too long": (
        {"messages": [user("x" * 10_485_761)]},
        (
            "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760, but got a "
            "string with length 10485761 instead.",
            "messages[0].content",
            "string_above_max_length",
        ),
    ),
    "calls without answers": (
        {"messages": [user("go"), calling("call_1", "call_2"), user("well?")]},
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: call_1, call_2",
            "messages.[2].role",
            None,
        ),
    ),
    "an answer without a call": (
        {"messages": [user("go"), {"role": "assistant", "content": "x"}, told("call_1")]},
        (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            "messages.[2].role",
            None,
        ),
    ),
}


@pytest.mark.parametrize(("fields", "said"), REFUSED.values(), ids=REFUSED)
def test_refusals(fields: dict[str, Any], said: tuple[str, str | None, str | None]) -> None:
    refused = Asker().chat(**fields)
    error = refused.error
    assert refused.status == 400
    assert (error["message"], error["param"], error["code"]) == said
    assert error["type"] == "invalid_request_error"
    assert refused.headers["x-should-retry"] == "false"


def test_what_is_right_is_taken() -> None:
    asker = Asker()
    history = [user("go"), calling("call_1", "call_2"), told("call_2"), told("call_1")]
    tools = [function()]
    assert asker.chat(*history, tools=tools, parallel_tool_calls=True, logprobs=True, top_logprobs=2).status == 200
    # it does not reason unless it is asked to
    assert asker.chat(model="gpt-5.4", temperature=0.5).status == 200
    assert asker.chat(model="gpt-5.5", max_completion_tokens=10, reasoning_effort="low").status == 200
    assert asker.chat(model="sim-any", max_tokens=10, temperature=0.3, reasoning_effort="high").status == 200


def test_statuses_of_key_path_and_method() -> None:
    asker = Asker()
    none = asker.send(CHAT, {}, authorization="")
    assert (none.status, none.error["code"]) == (401, None)
    assert none.error["message"].startswith("You didn't provide an API key")
    assert asker.send("/v1/embeddings", {}).error["message"] == "Invalid URL (POST /v1/embeddings)"
    assert asker.send(CHAT, b"{").error["message"].startswith("We could not parse the JSON body")
    missing = asker.chat(model="gpt-x")
    assert (missing.status, missing.error["code"]) == (404, "model_not_found")
    assert missing.error["message"] == "The model `gpt-x` does not exist or you do not have access to it."


def test_overflow_has_figures_and_tells_tools_apart() -> None:
    asker = Asker(models={"gpt-4o": {"context_window": 10}})
    assert asker.chat(user("w " * 11)).error == {
        "message": "This model's maximum context length is 10 tokens. However, your messages resulted in 11 tokens. "
        "Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
    with_tools = asker.chat(user("w " * 9), tools=[function(description="two words")])
    parts = "11 tokens (9 in the messages, 2 in the functions). Please reduce the length of the messages or functions."
    assert parts in with_tools.error["message"]
    both = asker.chat(user("w " * 8), max_tokens=5)
    assert "However, you requested 13 tokens (8 in the messages, 5 in the completion)" in both.error["message"]
    configured = Asker(models={"gpt-5.4-mini": {"features": {"max_input": 10}}})
    assert (
        configured.chat(user("w " * 11), model="gpt-5.4-mini")
        .error["message"]
        .startswith("Input tokens exceed the configured limit of 10 tokens. Your messages resulted in 11 tokens.")
    )


def test_a_stream_has_the_recorded_order() -> None:
    turn = {"text": "one two", "tool_calls": [{"name": "read", "input": {"path": "a long path, longer"}}]}
    said = Asker(turns=[turn]).chat(stream=True, stream_options={"include_usage": True}, tools=[function()])
    first, *middle, last, usage = said.events
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    fragments = [c["choices"][0]["delta"]["tool_calls"][0] for c in middle if "tool_calls" in c["choices"][0]["delta"]]
    assert fragments[0]["function"] == {"name": "read", "arguments": ""}
    assert "".join(f["function"]["arguments"] for f in fragments) == '{"path":"a long path, longer"}'
    assert all("id" not in fragment for fragment in fragments[1:])
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert (usage["choices"], last["usage"]) == ([], None)
    assert said.data.endswith(b"data: [DONE]\n\n")
    assert all("obfuscation" in chunk for chunk in said.events)


def test_usage_counts_inclusively() -> None:
    asker = Asker()
    long = [{"role": "system", "content": "w " * 2000}, user("hi")]
    asker.chat(*long)
    usage = asker.chat(*long, {"role": "assistant", "content": "yes"}, user("more")).body["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]) == (2003, 1920)
    booked = asker.account.journal.exchanges[-1].tokens
    assert (booked.input, booked.cache_read) == (83, 1920)


@pytest.mark.parametrize(
    ("turn", "fields", "reason"),
    [
        ({"text": "a b c d"}, {"max_tokens": 2}, "length"),
        ({"text": "No.", "stop": "refusal"}, {}, "stop"),
        ({"stop": "refusal"}, {}, "content_filter"),
        ({"text": "a STOP b"}, {"stop": ["STOP"]}, "stop"),
    ],
)
def test_finish_reasons(turn: dict[str, Any], fields: dict[str, Any], reason: str) -> None:
    assert Asker(turns=[turn]).chat(**fields).body["choices"][0]["finish_reason"] == reason


def test_stored_completions() -> None:
    asker = Asker()
    made = asker.chat(store=True, metadata={"a": "1"}).body
    asker.chat()
    path = f"{CHAT}/{made['id']}"
    assert asker.send(path, method="GET").body["choices"] == made["choices"]
    assert [one["id"] for one in asker.send(CHAT, method="GET").body["data"]] == [made["id"]]
    assert asker.send(path, {"metadata": {"b": "2"}}).body["metadata"] == {"b": "2"}
    assert asker.send(f"{path}/messages", method="GET").body["data"][0]["content"] == "hi"
    assert asker.send(path, method="DELETE").body["deleted"] is True
    assert asker.send(path, method="GET").status == 404
