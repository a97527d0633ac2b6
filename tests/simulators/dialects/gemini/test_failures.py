"""Refusals in the vendor's words: keys, quotas, overflow, and where the envelope is wrapped."""

from typing import Any

import msgspec
import pytest

from simulators import Simulator
from simulators.core.turn import Failure, Stamp
from simulators.core.wire import Request
from simulators.dialects.gemini.failures import encode_failure, error_event, model_in, wrapped
from tests.simulators.dialects.gemini.asking import STAMP, account, ask, body, generate, request, user

TARGET = "/v1beta/models/gemini-3.5-flash:generateContent"
PER_MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"


def told(kind: str, *, target: str = TARGET, **fields: Any) -> tuple[int, Any]:
    """Status and body of a refusal."""
    stamp = Stamp(request_id=STAMP.request_id, message_id=STAMP.message_id, now=STAMP.now, target=target)
    status, headers, raw = encode_failure(Failure(kind=kind, **fields), stamp)
    assert not any(name == "retry-after" for name, _ in headers)
    return status, msgspec.json.decode(raw)


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        ("overloaded", 503, "UNAVAILABLE"),
        ("server_error", 500, "INTERNAL"),
        ("timeout", 504, "DEADLINE_EXCEEDED"),
        ("rate_limited", 429, "RESOURCE_EXHAUSTED"),
        ("billing", 429, "RESOURCE_EXHAUSTED"),
        ("context_overflow", 400, "INVALID_ARGUMENT"),
        ("auth", 400, "INVALID_ARGUMENT"),
        ("permission", 403, "PERMISSION_DENIED"),
        ("model_not_found", 404, "NOT_FOUND"),
        ("bad_request", 400, "INVALID_ARGUMENT"),
        ("something_new", 500, "INTERNAL"),
    ],
)
def test_the_envelope(kind: str, status: int, word: str) -> None:
    code, body_ = told(kind)
    assert (code, body_["error"]["code"], body_["error"]["status"]) == (status, status, word)
    assert body_["error"]["message"]


def test_a_status_of_its_own_brings_its_word() -> None:
    assert told("server_error", status=499)[1]["error"]["status"] == "CANCELLED"


class TestKeys:
    def test_a_bad_key_is_a_400(self) -> None:
        simulator = Simulator(strict_keys=True)
        reply = ask(simulator, request(body(), key="wrong"))
        assert (reply.status, reply.error["status"]) == (400, "INVALID_ARGUMENT")
        assert reply.error["message"] == "API key not valid. Please pass a valid API key."
        (info,) = reply.error["details"]
        assert (info["@type"], info["reason"]) == ("type.googleapis.com/google.rpc.ErrorInfo", "API_KEY_INVALID")

    def test_no_key_is_a_403(self) -> None:
        reply = ask(account(), request(body(), key=None))
        assert (reply.status, reply.error["status"]) == (403, "PERMISSION_DENIED")
        assert reply.error["message"].startswith("Method doesn't allow unregistered callers")

    def test_the_key_may_stand_in_the_query(self) -> None:
        assert ask(account(), request(body(), key=None, query=(("key", "k"),))).status == 200

    def test_two_keys_share_nothing(self) -> None:
        simulator = account()
        simulator.account("other").load({"otherwise": "echo", "turns": []})
        long = body(user("word " * 5000))
        ask(simulator, request(long))
        assert "cachedContentTokenCount" not in ask(simulator, request(long, key="other"), at=1).usage


class TestQuotas:
    def test_requests_a_minute(self) -> None:
        simulator = account({"limits": {"rpm": 2}})
        assert [generate(simulator).status for _ in range(3)] == [200, 200, 429]
        reply = generate(simulator, model="gemini-2.5-pro")
        message, (failure, help_, retry) = reply.error["message"], reply.error["details"]
        metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
        assert f"* Quota exceeded for metric: {metric}, limit: 2, model: gemini-2.5-pro" in message
        assert failure["@type"].endswith("QuotaFailure")
        (violation,) = failure["violations"]
        assert (violation["quotaId"], violation["quotaValue"]) == (PER_MINUTE, "2")
        assert violation["quotaDimensions"] == {"location": "global", "model": "gemini-2.5-pro"}
        assert help_["@type"].endswith("Help")
        assert retry == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"}
        assert message.rpartition("\n")[2].startswith("Please retry in 30.")
        assert len(message.rpartition(".")[0].rpartition(".")[2]) == len("386192716s")
        assert "retry-after" not in reply.headers

    def test_requests_a_day(self) -> None:
        """The hint speaks of seconds; the quota is back when the day ends at eight in the morning, UTC."""
        simulator = account({"limits": {"rpd": 2}})
        assert [generate(simulator, at=at).status for at in (0.0, 1.0, 2.0, 7200.0)] == [200, 200, 429, 429]
        error = generate(simulator, at=8 * 3600 - 1).error
        assert error["details"][0]["violations"][0]["quotaId"] == ("GenerateRequestsPerDayPerProjectPerModel-FreeTier")
        assert error["details"][-1]["retryDelay"].removesuffix("s").isdecimal()
        assert "Please retry in " in error["message"]
        assert generate(simulator, at=8 * 3600).status == 200

    def test_tokens_a_minute(self) -> None:
        reply = generate(account({"limits": {"itpm": 10}}), user("word " * 11))
        (violation,) = reply.error["details"][0]["violations"]
        assert violation["quotaId"] == "GenerateContentInputTokensPerModelPerMinute-FreeTier"
        assert violation["quotaMetric"].endswith("generate_content_free_tier_input_token_count")

    def test_a_delay_is_told_to_the_nanosecond_and_cut_in_the_details(self) -> None:
        _, body_ = told("rate_limited", retry_after=51.7)
        assert "Please retry in 51." in body_["error"]["message"]
        assert body_["error"]["details"][-1]["retryDelay"] == "51s"

    def test_without_a_delay_nothing_tells_one(self) -> None:
        _, body_ = told("rate_limited")
        assert "Please retry" not in body_["error"]["message"]
        assert [detail["@type"].rpartition(".")[2] for detail in body_["error"]["details"]] == ["QuotaFailure", "Help"]

    @pytest.mark.parametrize("limit", ["concurrency", "spend", "output_tokens"])
    def test_a_limit_that_is_no_quota_of_theirs_is_capacity(self, limit: str) -> None:
        _, body_ = told("rate_limited", details={"limit": limit, "value": 3}, retry_after=1)
        assert body_ == {
            "error": {
                "code": 429,
                "message": "Resource has been exhausted (e.g. check quota).",
                "status": "RESOURCE_EXHAUSTED",
            }
        }


class TestOverflow:
    def test_the_developer_api_does_not_say_how_much_it_was(self) -> None:
        small = {"models": {"gemini-3.8-flash": {"context_window": 100}}}
        reply = generate(account(small), user("word " * 101))
        assert reply.status == 400
        assert reply.error["message"] == ("The input token count exceeds the maximum number of tokens allowed (100).")

    def test_vertex_does(self) -> None:
        vertex = "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent"
        _, body_ = told("context_overflow", target=vertex, details={"tokens": 1_196_265, "limit": 1_048_575})
        assert body_["error"]["message"] == (
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."
        )


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/v1beta/models/x:generateContent", False),
        ("/v1beta/models/x:streamGenerateContent?alt=sse", False),
        ("/v1beta/models/x:streamGenerateContent?key=k&alt=sse", False),
        ("/v1beta/models/x:streamGenerateContent", True),
        ("/v1beta/models/x:streamGenerateContent?key=k", True),
        ("/v1beta/openai/chat/completions", True),
    ],
)
def test_where_errors_come_in_a_list(target: str, said: bool) -> None:
    assert wrapped(target) == said
    _, body_ = told("overloaded", target=target)
    assert isinstance(body_, list) == said


def test_a_failure_in_the_middle_of_a_stream() -> None:
    stamp = Stamp(request_id="r", message_id="m", now=0.0, target=f"{TARGET}?alt=sse")
    event = error_event(Failure(kind="overloaded"), stamp)
    assert event.data.startswith(b'data: {"error":{"code":503,')
    assert event.data.endswith(b"}}\r\n\r\n")


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_failure_in_the_middle_of_an_array_closes_it(after: int) -> None:
    simulator = account({"turns": [{"text": "a b c d"}], "faults": [{"kind": "error_event", "after_events": after}]})
    listed = ask(simulator, request(body(), method="streamGenerateContent")).json
    assert len(listed) == after + 1
    assert listed[-1]["error"]["status"] == "UNAVAILABLE"


def test_a_model_that_is_not_there_is_told_with_version_and_method() -> None:
    reply = ask(account(), request(body(), path="/v1/models/gemini-9:countTokens"))
    assert (reply.status, reply.error["message"]) == (
        404,
        "models/gemini-9 is not found for API version v1, or is not supported for countTokens. Call "
        "ModelService.ListModels to see the list of available models and their supported methods.",
    )
    assert generate(account(), model="claude-sonnet-4-5").status == 404
    assert model_in("/v1beta/models") == ""


def test_a_call_that_nothing_answers_is_an_invalid_argument() -> None:
    reply = generate(account({"otherwise": "fail", "rules": [{"when": {"last_user": "x"}, "reply": {"text": "y"}}]}))
    assert (reply.status, reply.error["status"], reply.headers["x-sim-unmatched"]) == (400, "INVALID_ARGUMENT", "1")
    assert reply.error["message"].startswith("no scripted answer")


@pytest.mark.parametrize(
    "asked",
    [
        Request(method="GET", path=TARGET, headers=(("x-goog-api-key", "k"),)),
        Request(method="POST", path="/v1beta/models/sim-a:predict", headers=(("x-goog-api-key", "k"),)),
        Request(method="DELETE", path="/v1beta/models/sim-a", headers=(("x-goog-api-key", "k"),)),
    ],
)
def test_what_the_api_does_not_do_is_not_found(asked: Request) -> None:
    assert ask(account(), asked).status == 404
