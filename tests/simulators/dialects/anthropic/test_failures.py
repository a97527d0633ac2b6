"""Refusals on the wire: envelope, status, headers."""

from typing import Any

import msgspec
import pytest

from simulators.core.rate_limit import LimitState
from simulators.core.turn import Failure
from simulators.dialects.anthropic import DIALECT
from tests.simulators.dialects.anthropic.asking import STAMP


def sent(failure: Failure) -> tuple[int, dict[str, str], Any]:
    status, headers, body = DIALECT.encode_failure(failure, STAMP)
    return status, dict(headers), msgspec.json.decode(body)


@pytest.mark.parametrize(
    ("kind", "status", "error_type", "message"),
    [
        ("overloaded", 529, "overloaded_error", "Overloaded"),
        ("server_error", 500, "api_error", "Internal server error"),
        ("auth", 401, "authentication_error", "invalid x-api-key"),
        ("permission", 403, "permission_error", "Your API key does not have permission to use the specified resource"),
        ("timeout", 504, "timeout_error", "Request timed out"),
        ("context_overflow", 400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
    ],
)
def test_each_kind_has_its_status_type_and_words(kind: str, status: int, error_type: str, message: str) -> None:
    got, _, body = sent(Failure(kind=kind))
    assert got == status
    assert body == {
        "type": "error",
        "error": {"type": error_type, "message": message},
        "request_id": "req_011CCurECQsEwi33Z1nKmxwM",
    }


def test_an_empty_account_is_a_400() -> None:
    status, _, body = sent(Failure(kind="billing"))
    assert (status, body["error"]["message"][:34]) == (400, "Your credit balance is too low to ")


def test_no_key_at_all_has_words_of_its_own() -> None:
    _, _, body = sent(Failure(kind="auth", details={"key": "missing"}))
    assert body["error"]["message"] == "x-api-key header is required"


def test_too_large_is_refused_by_the_cdn() -> None:
    status, _, body = sent(Failure(kind="request_too_large"))
    assert (status, body) == (
        413,
        {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
    )


def test_a_rate_limit_names_the_limit_and_when_to_come_back() -> None:
    failure = Failure(kind="rate_limited", retry_after=7.0, details={"limit": "output_tokens", "value": 8000})
    status, headers, body = sent(failure)
    assert (status, headers["retry-after"], headers["x-should-retry"]) == (429, "7", "true")
    assert body["error"]["message"].startswith(
        "This request would exceed your organization's rate limit of 8,000 output tokens per minute (org: 9d64558d-"
    )


def test_money_spent_has_no_time_to_come_back() -> None:
    _, headers, body = sent(Failure(kind="rate_limited", details={"limit": "spend", "value": 5.0}))
    assert "retry-after" not in headers
    assert body["error"]["details"] == {"error_code": "enforced_spend_limit_reached"}


def test_overflow_has_the_numbers_of_the_call() -> None:
    details = {"tokens": 188_240, "limit": 200_000, "max_tokens": 21_333}
    assert sent(Failure(kind="output_budget", details=details))[2]["error"]["message"] == (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or "
        "`max_tokens` and try again"
    )


def test_a_body_of_its_own_is_sent_as_it_stands() -> None:
    status, headers, raw = DIALECT.encode_failure(Failure(kind="raw", status=418, body=b"teapot"), STAMP)
    assert (status, headers, raw) == (418, (), b"teapot")


def test_in_the_middle_of_a_stream_a_failure_is_an_event() -> None:
    chunk = DIALECT.error_event(Failure(kind="overloaded"), STAMP)
    assert chunk.event == "error"
    assert chunk.data.startswith(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"')
    assert chunk.data.endswith(b"}\n\n")


def test_headers_show_where_the_limits_stand() -> None:
    limits = {
        "requests": LimitState(50, 49, STAMP.now + 1.2),
        "input_tokens": LimitState(30_000, 1_499, STAMP.now + 57),
        "output_tokens": LimitState(8_000, -20, STAMP.now + 60),
    }
    shown = dict(DIALECT.headers(None, limits, STAMP))
    assert shown["request-id"] == "req_011CCurECQsEwi33Z1nKmxwM"
    assert shown["anthropic-organization-id"] == STAMP.organization
    assert shown["anthropic-ratelimit-requests-remaining"] == "49"
    assert shown["anthropic-ratelimit-requests-reset"] == "2026-01-01T00:00:02Z"
    assert shown["anthropic-ratelimit-input-tokens-remaining"] == "1000"
    assert shown["anthropic-ratelimit-output-tokens-remaining"] == "0"
    assert shown["anthropic-ratelimit-tokens-limit"] == "8000"
    unlimited = dict(DIALECT.headers(None, {}, STAMP))
    assert set(unlimited) == set(shown)
