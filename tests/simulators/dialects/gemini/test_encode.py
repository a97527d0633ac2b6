"""Answers on the wire: parts, endings, usage, and how a stream is cut into responses."""

from typing import Any

import msgspec
import pytest

from tests.simulators.dialects.gemini.asking import Reply, account, ask, body, function, generate, request, tools, user

READ = tools(function("read"))
TWO_CALLS = {"tool_calls": [{"name": "read", "input": {"n": 1}}, {"name": "read", "input": {"n": 2}}]}
THINKS = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def whole(turn: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The body that answers one scripted turn."""
    reply = generate(account({"turns": [turn]}), user("a b c"), **fields)
    assert reply.status == 200, reply.body
    found: dict[str, Any] = reply.json
    return found


def streamed(turn: dict[str, Any], *, model: str = "gemini-3.8-flash", **fields: Any) -> list[dict[str, Any]]:
    asked = request(body(user("a b c"), **fields), model=model, method="streamGenerateContent", query=(("alt", "sse"),))
    found: list[dict[str, Any]] = ask(account({"turns": [turn]}), asked).chunks
    return found


def parts(response: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = response["candidates"][0]["content"].get("parts", [])
    return found


def texts(chunks: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for chunk in chunks for part in parts(chunk) if "text" in part]


class TestEndings:
    @pytest.mark.parametrize(
        ("stop", "reason"),
        [
            ("end_turn", "STOP"),
            ("stop_sequence", "STOP"),
            ("pause_turn", "STOP"),
            ("max_tokens", "MAX_TOKENS"),
            ("context_window_exceeded", "MAX_TOKENS"),
            ("refusal", "SAFETY"),
        ],
    )
    def test_finish_reasons(self, stop: str, reason: str) -> None:
        assert whole({"text": "x", "stop": stop})["candidates"][0]["finishReason"] == reason

    def test_a_tool_call_ends_with_stop(self) -> None:
        (candidate,) = whole(TWO_CALLS, tools=READ)["candidates"]
        assert candidate["finishReason"] == "STOP"
        assert candidate["finishMessage"] == "Model generated function call(s)."

    def test_a_finish_reason_can_be_scripted(self) -> None:
        block = {"finishReason": "RECITATION", "finishMessage": "Too close."}
        (candidate,) = whole({"text": "x", "blocks": [block]})["candidates"]
        assert (candidate["finishReason"], candidate["finishMessage"]) == ("RECITATION", "Too close.")

    def test_a_blocked_prompt_has_no_candidate(self) -> None:
        answer = whole({"blocks": [{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}]})
        assert "candidates" not in answer
        assert answer["promptFeedback"] == {"blockReason": "PROHIBITED_CONTENT"}
        assert answer["usageMetadata"]["promptTokenCount"] == answer["usageMetadata"]["totalTokenCount"] == 3

    def test_safety_ratings_stand_on_the_candidate(self) -> None:
        ratings = [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW", "blocked": True}]
        (candidate,) = whole({"stop": "refusal", "blocks": [{"safetyRatings": ratings}]})["candidates"]
        assert (candidate["content"], candidate["finishReason"], candidate["safetyRatings"]) == ({}, "SAFETY", ratings)

    @pytest.mark.parametrize("broken", ['{"n": ', "[1]", "nothing"])
    def test_arguments_that_are_no_object_never_leave(self, broken: str) -> None:
        (candidate,) = whole({"tool_calls": [{"name": "read", "input": broken}]}, tools=READ)["candidates"]
        assert candidate["finishReason"] == "MALFORMED_FUNCTION_CALL"
        assert candidate["finishMessage"].startswith("Malformed function call: print(default_api.read(")
        assert candidate["content"] == {}

    def test_a_call_cut_off_by_the_budget_is_not_sent(self) -> None:
        turn = {"tool_calls": [{"name": "read", "input": '{"n": '}], "stop": "max_tokens"}
        (candidate,) = whole(turn, tools=READ)["candidates"]
        assert (candidate["content"], candidate["finishReason"]) == ({}, "MAX_TOKENS")


class TestParts:
    def test_thoughts_are_shown_when_asked_for_and_counted_anyhow(self) -> None:
        turn = {"thinking": "one two", "text": "three"}
        assert [part.get("thought") for part in parts(whole(turn, **THINKS))] == [True, None]
        hidden = whole(turn)
        assert [part["text"] for part in parts(hidden)] == ["three"]
        assert hidden["usageMetadata"]["thoughtsTokenCount"] == 2

    @pytest.mark.parametrize(
        ("model", "signed"),
        [
            ("gemini-3.8-flash", [True, False]),
            ("gemini-2.5-pro", [True, False]),
            ("gemini-2.0-flash", [False, False]),
        ],
    )
    def test_the_first_of_parallel_calls_is_signed(self, model: str, signed: list[bool]) -> None:
        calls = parts(whole(TWO_CALLS, tools=READ, model=model))
        assert ["thoughtSignature" in part for part in calls] == signed

    @pytest.mark.parametrize(
        ("model", "thinking", "functions", "signed"),
        [
            ("gemini-3.8-flash", None, False, True),
            ("gemini-2.5-pro", "hm", True, True),
            ("gemini-2.5-pro", "hm", False, False),
            ("gemini-2.5-pro", None, True, False),
            ("gemini-2.0-flash", None, True, False),
        ],
    )
    def test_when_a_text_is_signed(self, model: str, thinking: str | None, functions: bool, signed: bool) -> None:
        turn = {"text": "x", "thinking": thinking}
        answer = whole(turn, model=model, tools=READ if functions else None)
        assert ("thoughtSignature" in parts(answer)[-1]) == signed

    def test_only_models_from_three_on_give_ids(self) -> None:
        ids = [part["functionCall"].get("id") for part in parts(whole(TWO_CALLS, tools=READ))]
        assert len(set(ids)) == 2
        assert all(call_id and len(call_id) == 8 for call_id in ids)
        assert all("id" not in p["functionCall"] for p in parts(whole(TWO_CALLS, tools=READ, model="gemini-2.5-pro")))

    def test_what_built_in_tools_did_is_passed_through(self) -> None:
        code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
        output = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
        grounding = {"groundingMetadata": {"webSearchQueries": ["one"]}}
        used = {"usageMetadata": {"toolUsePromptTokenCount": 40}}
        answer = whole({"text": "One.", "blocks": [code, output, grounding, used]}, tools=[{"codeExecution": {}}])
        shown = parts(answer)
        assert shown[1]["executableCode"] == code["executableCode"]
        assert shown[2] == output
        assert answer["candidates"][0]["groundingMetadata"] == grounding["groundingMetadata"]
        usage = answer["usageMetadata"]
        assert usage["totalTokenCount"] == 3 + usage["candidatesTokenCount"] + 40


class TestUsage:
    def test_the_prompt_includes_what_was_cached_and_the_answer_leaves_out_the_thoughts(self) -> None:
        simulator = account({"turns": [{"thinking": "hm hm", "text": "yes"}], "otherwise": "echo"})
        long = user("word " * 5000)
        first = generate(simulator, long).usage
        assert (first["promptTokenCount"], first["candidatesTokenCount"], first["thoughtsTokenCount"]) == (5000, 1, 2)
        assert first["totalTokenCount"] == 5003
        second = generate(simulator, long, user("more"), at=1).usage
        assert (second["promptTokenCount"], second["cachedContentTokenCount"]) == (5001, 5000)
        assert second["cacheTokensDetails"] == [{"modality": "TEXT", "tokenCount": 5000}]

    def test_zeros_are_left_out(self) -> None:
        usage = whole({"stop": "refusal"})["usageMetadata"]
        assert set(usage) == {"promptTokenCount", "totalTokenCount", "promptTokensDetails", "serviceTier"}

    def test_modalities_are_told_apart(self) -> None:
        picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
        reply = generate(account({"tokenizer": "chars4"}), user("word", picture), model="gemini-2.5-flash")
        assert reply.usage["promptTokensDetails"] == [
            {"modality": "TEXT", "tokenCount": 1},
            {"modality": "IMAGE", "tokenCount": 258},
        ]

    def test_old_models_say_log_probabilities_and_no_index(self) -> None:
        answer = whole({"text": "one two"}, model="gemini-2.0-flash")
        assert answer["candidates"][0]["avgLogprobs"] < 0
        assert "index" not in answer["candidates"][0]
        assert answer["usageMetadata"]["candidatesTokensDetails"] == [{"modality": "TEXT", "tokenCount": 2}]


class TestStreams:
    def test_every_chunk_is_a_response_with_the_usage_so_far(self) -> None:
        chunks = streamed({"thinking": "a b", "text": "one two three"}, **THINKS)
        assert texts(chunks) == ["a ", "b", "one ", "two ", "three", ""]
        said = [chunk["usageMetadata"].get("candidatesTokenCount", 0) for chunk in chunks]
        assert said == sorted(said)
        assert said[-1] == 3
        assert all(chunk["usageMetadata"]["promptTokenCount"] == 3 for chunk in chunks)
        assert len({chunk["responseId"] for chunk in chunks}) == 1

    def test_only_the_last_chunk_has_a_finish_reason(self) -> None:
        chunks = streamed({"text": "one two"})
        assert ["finishReason" in chunk["candidates"][0] for chunk in chunks] == [False, False, True]

    def test_from_three_on_the_signature_comes_last_with_an_empty_text(self) -> None:
        last = parts(streamed({"text": "one two"})[-1])
        assert [part["text"] for part in last] == [""]
        assert "thoughtSignature" in last[0]

    def test_before_three_the_last_text_is_the_last_chunk(self) -> None:
        chunks = streamed({"text": "one two"}, model="gemini-2.5-flash")
        assert texts(chunks) == ["one ", "two"]
        assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"

    def test_a_function_call_comes_whole(self) -> None:
        chunks = streamed({"text": "I look.", **TWO_CALLS}, tools=READ)
        calls = [part for chunk in chunks for part in parts(chunk) if "functionCall" in part]
        assert [part["functionCall"]["args"] for part in calls] == [{"n": 1}, {"n": 2}]
        assert ["thoughtSignature" in part for part in calls] == [True, False]
        assert parts(chunks[-1]) == [{"text": ""}]

    def test_an_empty_answer_is_one_chunk(self) -> None:
        (chunk,) = streamed({"text": "", "stop": "refusal"})
        assert chunk["candidates"][0] == {"content": {}, "finishReason": "SAFETY", "index": 0}

    @pytest.mark.parametrize(
        "turn", [{"text": "one two three"}, {"text": ""}, TWO_CALLS], ids=["text", "none", "calls"]
    )
    def test_without_sse_the_same_responses_are_one_array(self, turn: dict[str, Any]) -> None:
        asked = request(body(user("a b c"), tools=READ), method="streamGenerateContent")
        reply = ask(account({"turns": [turn]}), asked)
        assert reply.headers["content-type"] == "application/json"
        assert msgspec.json.decode(reply.body) == streamed(turn, tools=READ)

    def test_the_same_seed_gives_the_same_bytes(self) -> None:
        def again() -> Reply:
            return generate(account({"turns": [TWO_CALLS]}), user("a"), tools=READ)

        assert again().body == again().body
