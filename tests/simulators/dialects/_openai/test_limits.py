"""Limits as OpenAI words them: reserved at admission, told to the millisecond."""

import pytest

from tests.simulators.dialects._openai.asking import Asker, user

PROMPT = user("w " * 60)


def test_admission_reserves_input_and_the_output_that_is_allowed() -> None:
    asker = Asker(limits={"tpm": 1000})
    taken = asker.chat(PROMPT, max_tokens=440)
    assert taken.headers["x-ratelimit-limit-tokens"] == "1000"
    assert taken.headers["x-ratelimit-remaining-tokens"] == "500"
    assert taken.headers["x-ratelimit-reset-tokens"] == "30s"


def test_try_again_in() -> None:
    asker = Asker(limits={"tpm": 1000})
    asker.chat(PROMPT, max_tokens=840)
    refused = asker.chat(PROMPT, max_tokens=153)
    assert (refused.status, refused.error["type"], refused.error["code"]) == (429, "tokens", "rate_limit_exceeded")
    assert (
        "on tokens per min (TPM): Limit 1000, Used 900, Requested 213. Please try again in 6.78s."
        in (refused.error["message"])
    )
    assert refused.error["message"].startswith("Rate limit reached for gpt-4o in organization org-")
    told = {name: refused.headers[name] for name in ("retry-after", "retry-after-ms", "x-should-retry")}
    assert told == {"retry-after": "7", "retry-after-ms": "6780", "x-should-retry": "true"}
    asker.simulator.advance(6.78)
    assert asker.chat(PROMPT, max_tokens=153).status == 200


def test_larger_than_the_bucket_is_refused_even_when_it_is_full() -> None:
    refused = Asker(limits={"tpm": 100}).chat(PROMPT, max_tokens=60)
    assert "Limit 100, Requested 120. The input or output tokens must be reduced" in refused.error["message"]
    assert refused.error["message"].startswith("Request too large for gpt-4o")
    assert "retry-after" not in refused.headers
    assert refused.headers["x-should-retry"] == "false"


def test_requests() -> None:
    asker = Asker(limits={"rpm": 500})
    for _ in range(500):
        assert asker.chat().status == 200
    refused = asker.chat()
    assert refused.error["type"] == "requests"
    assert (
        "on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms."
        in (refused.error["message"])
    )


def test_a_quota_that_is_used_up_is_a_429_that_no_retry_helps() -> None:
    asker = Asker(limits={"spend_usd": 0.0000001})
    asker.chat()
    refused = asker.chat()
    assert refused.status == 429
    assert refused.error["type"] == refused.error["code"] == "insufficient_quota"
    assert refused.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "server_error", "auth", "billing", "context_overflow"])
def test_scripted_refusals_repeat(kind: str) -> None:
    document = {"turns": [{"error": {"kind": kind, "retry_after": 7}}]}
    one, two = Asker(**document).chat(), Asker(**document).chat()
    assert (one.status, one.data, one.headers) == (two.status, two.data, two.headers)
    assert set(one.error) == {"message", "type", "param", "code"}
    assert one.error["message"]
