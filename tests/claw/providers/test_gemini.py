"""The Gemini adapter: what it asks, and what it reads."""

import base64
import json
import re

import pytest

from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, assistant, user
from claw.core.usage import Usage
from tests.claw.providers.served import HISTORY, served, sse

SIGNATURE = base64.b64encode(b"signed").decode()
USAGE = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 60,
    "candidatesTokenCount": 12,
    "thoughtsTokenCount": 8,
    "toolUsePromptTokenCount": 5,
    "totalTokenCount": 125,
}


def chunk(*parts, finish=None, usage=None, **more):
    candidate = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    made = {"candidates": [candidate | ({"finishReason": finish} if finish else {})], "responseId": "r1"}
    return made | {"modelVersion": "m"} | ({"usageMetadata": usage} if usage else {}) | more


def call(*chunks, model="gemini-3.8-flash", **asked):
    return served("gemini", model, sse(*chunks), **asked)


def camel(value):
    """The SDK spells some keys one way and some the other; the API takes both."""
    if isinstance(value, dict):
        return {re.sub("_(.)", lambda found: found[1].upper(), key): camel(inner) for key, inner in value.items()}
    return [camel(inner) for inner in value] if isinstance(value, list) else value


ANSWER = [
    chunk({"text": "Hm", "thought": True}),
    chunk({"text": "Hel"}),
    chunk({"text": "lo"}),
    chunk({"functionCall": {"name": "read", "args": {"path": "/a"}}, "thoughtSignature": SIGNATURE}),
    chunk({"functionCall": {"name": "read", "args": {"path": "/b"}}}, finish="STOP", usage=USAGE),
]


def test_a_stream_is_thoughts_text_and_calls_with_disjoint_figures():
    turn = call(*ANSWER).turn
    thought, text, signature, first, second = turn.message.parts
    assert (thought.text, text.text, signature) == ("Hm", "Hello", ThinkingPart("", f"gemini:{SIGNATURE}"))
    assert (first.input, second.input) == ({"path": "/a"}, {"path": "/b"})
    assert first.id != second.id
    assert turn.stop == "tool_use"
    assert turn.usage == Usage(input=45, cache_read=60, output=20, reasoning=8)


def test_an_answer_in_one_piece_is_the_same_but_for_pieces():
    parts = [{"text": "Hello"}, {"functionCall": {"name": "read", "args": {"path": "/a"}}}]
    body = json.dumps(chunk(*parts, finish="STOP", usage=USAGE)).encode()
    whole = served("gemini", "m", body, content_type="application/json", stream=False).turn
    assert (whole.message.text, whole.message.tool_calls[0].input, whole.stop) == ("Hello", {"path": "/a"}, "tool_use")


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("STOP", "end_turn"), ("MAX_TOKENS", "max_tokens"), ("SAFETY", "refusal"), ("OTHER", "end_turn")],
)
def test_why_it_stopped(reason, stop):
    assert call(chunk({"text": "Hi"}, finish=reason)).turn.stop == stop


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (chunk(finish="MALFORMED_FUNCTION_CALL"), "empty_response"),
        (chunk(finish="MISSING_THOUGHT_SIGNATURE"), "poisoned_history"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "refused"),
        ({"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}}, "overloaded"),
    ],
)
def test_an_answer_that_is_none(ending, kind):
    assert call(ending).failure.kind.value == kind


def test_a_stream_that_only_ends_is_truncated():
    assert call(*ANSWER[:-1]).failure.kind == "truncated"
    assert call().failure.kind == "truncated"


def test_a_quota_tells_how_long_to_wait():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22s"}]
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota"}
    body = json.dumps({"error": {**error, "details": details}}).encode()
    failure = served("gemini", "m", body, status=429, content_type="application/json").failure
    assert (failure.kind.value, failure.retry_after) == ("rate_limited", 22.0)


# -- what is asked ---------------------------------------------------------------------------


def test_a_conversation_as_contents_results_of_one_turn_together():
    sent = call(chunk(finish="STOP"), history=HISTORY).sent
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]
    told = sent["contents"][2]["parts"]
    assert told[0]["functionResponse"] == {"id": "toolu_0", "name": "read", "response": {"output": "R"}}
    assert [next(iter(part)) for part in told] == ["functionResponse", "inlineData", "text"]
    assert sent["systemInstruction"]["parts"] == [{"text": "SYS"}]
    assert camel(sent)["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["type"] == "object"


def test_a_signature_goes_back_with_its_part_and_another_models_call_says_that_it_has_none():
    sent = call(chunk(finish="STOP"), history=(user("go"), call(*ANSWER).turn.message)).sent
    own = sent["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in own] == [None, SIGNATURE, None]
    foreign = call(chunk(finish="STOP"), history=HISTORY).sent["contents"][1]["parts"]
    assert base64.b64decode(foreign[1]["thoughtSignature"]) == b"skip_thought_signature_validator"
    older = call(chunk(finish="STOP"), history=HISTORY, model="gemini-2.5-flash").sent["contents"][1]["parts"]
    assert "thoughtSignature" not in older[1]


def test_a_failed_tool_says_so():
    result = Message("tool", (ToolResultPart("c", "read", (TextPart("no"), ImagePart("image/png", "QUFB")), True),))
    sent = call(chunk(finish="STOP"), history=(user("go"), assistant(ToolCallPart("c", "read", {})), result)).sent
    assert sent["contents"][2]["parts"][0]["functionResponse"]["response"] == {"error": "no"}


@pytest.mark.parametrize(
    ("model", "level", "expected"),
    [
        ("gemini-3.8-flash", "off", {"thinkingLevel": "MINIMAL", "includeThoughts": False}),
        ("gemini-3.8-flash", "medium", {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
        ("gemini-3-pro-preview", "medium", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 2048, "includeThoughts": True}),
        ("gemini-2.5-pro", "off", None),
        ("gemini-2.0-flash", "high", None),
    ],
)
def test_how_hard_it_thinks(model, level, expected):
    sent = call(chunk(finish="STOP"), model=model, thinking=level).sent
    assert camel(sent)["generationConfig"].get("thinkingConfig") == expected
