"""Limits as a client of the Messages API sees them: who is refused, in whose words, with which headers."""

from typing import Any

import httpx2
import pytest

from simulators import Simulator

LONG = {"model": "claude-sonnet-4-5", "max_tokens": 50, "messages": [{"role": "user", "content": "a b c " * 40}]}
FAMILIES = [f"anthropic-ratelimit-{what}-{part}" for what in ("requests", "tokens", "input-tokens", "output-tokens")
            for part in ("limit", "remaining", "reset")]  # fmt: skip


def client(limits: str) -> tuple[Simulator, httpx2.Client]:
    sim = Simulator(script=f"tokenizer: words\nresponder: echo\nlimits: {limits}")
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    return sim, httpx2.Client(transport=sim.transport(), base_url="http://api", headers=headers)


def ask(http: httpx2.Client, **more: Any) -> httpx2.Response:
    return http.post("/v1/messages", json={**LONG, **more})


@pytest.mark.parametrize(
    ("limits", "unit", "wait"),
    [
        ("{rpm: 1}", "1 requests per minute", "60"),
        ("{itpm: 130}", "130 input tokens per minute", "51"),
        ("{otpm: 3}", "3 output tokens per minute", "960"),
    ],
)
def test_a_bucket_that_is_empty(limits: str, unit: str, wait: str) -> None:
    sim, http = client(limits)
    first, refused = ask(http), ask(http)
    assert (first.status_code, refused.status_code) == (200, 429)
    error = refused.json()["error"]
    assert error["type"] == "rate_limit_error"
    assert error["message"].startswith(f"This request would exceed your organization's rate limit of {unit} (org: ")
    assert ", model: claude-sonnet-4-5). For details" in error["message"]
    assert refused.headers["retry-after"] == wait
    sim.advance(float(wait))
    assert ask(http).status_code == 200


def test_every_answer_says_where_the_limits_stand() -> None:
    _, http = client("{rpm: 2, itpm: 500}")
    for answer in (ask(http), http.get("/v1/models"), ask(http), ask(http), ask(http, max_tokens="x")):
        assert [name for name in FAMILIES if name not in answer.headers] == []
    assert not [name for name in answer.headers if name.startswith(("anthropic-priority", "anthropic-fast"))]


def test_fast_mode_has_headers_of_its_own() -> None:
    _, http = client("{itpm: 90000}")
    answer = ask(http, speed="fast", model="claude-opus-4-8")
    assert answer.headers["anthropic-fast-input-tokens-limit"] == "90000"
    assert len([name for name in answer.headers if name.startswith("anthropic-fast-")]) == 6


def test_answers_open_at_once_and_one_whose_client_left() -> None:
    _, http = client("{concurrency: 1}")
    with http.stream("POST", "/v1/messages", json={**LONG, "stream": True}) as held:
        pieces = held.iter_raw()
        next(pieces)
        refused = ask(http)
        assert "1 concurrent connections" in refused.json()["error"]["message"]
        assert refused.headers["retry-after"] == "1"
    assert ask(http).status_code == 200


def test_money_that_is_spent_has_no_time_to_come_back() -> None:
    _, http = client("{spend_usd: 0.0000001}")
    ask(http)
    refused = ask(http)
    assert refused.json()["error"]["details"] == {"error_code": "enforced_spend_limit_reached"}
    assert "retry-after" not in refused.headers


def test_what_the_cache_gives_counts_for_nothing() -> None:
    sim, http = client("{itpm: 3000}")
    content = [{"type": "text", "text": "word " * 2000, "cache_control": {"type": "ephemeral"}}]
    for _ in range(5):
        assert ask(http, messages=[{"role": "user", "content": content}]).status_code == 200
    assert sim.account("k").state(sim.now("k"))["limits"]["input_tokens"]["remaining"] == 1000
