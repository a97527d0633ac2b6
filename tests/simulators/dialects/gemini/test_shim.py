"""Gemini behind OpenAI's paths: the same account, Google's errors in a list."""

from typing import Any

import httpx2
import msgspec
import openai
import pytest

from simulators.core.wire import Request
from tests.simulators.dialects.gemini.asking import Reply, account, ask

SAID = {"model": "gemini-3.8-flash", "messages": [{"role": "user", "content": "hi"}]}


def shim(document: dict[str, Any], **fields: Any) -> Reply:
    body = msgspec.json.encode({**SAID, **fields})
    headers = (("authorization", "Bearer k"),)
    return ask(
        account(document),
        Request(method="POST", path="/v1beta/openai/chat/completions", headers=headers, body=body),
    )


def test_an_answer_is_a_chat_completion() -> None:
    reply = shim({"turns": [{"text": "hello", "tool_calls": [{"name": "f", "input": {"a": 1}}]}]})
    assert reply.status == 200
    (choice,) = reply.json["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("hello", "tool_calls")
    assert reply.json["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        ("auth", 400, "INVALID_ARGUMENT"),
        ("rate_limited", 429, "RESOURCE_EXHAUSTED"),
        ("overloaded", 503, "UNAVAILABLE"),
        ("server_error", 500, "INTERNAL"),
        ("context_overflow", 400, "INVALID_ARGUMENT"),
        ("bad_request", 400, "INVALID_ARGUMENT"),
        ("poisoned_history", 400, "INVALID_ARGUMENT"),
        ("permission", 403, "PERMISSION_DENIED"),
    ],
)
def test_errors_are_googles_in_a_list(kind: str, status: int, word: str) -> None:
    reply = shim({"turns": [{"error": {"kind": kind, "retry_after": 9}}]})
    (wrapped,) = reply.json
    assert (reply.status, wrapped["error"]["code"], wrapped["error"]["status"]) == (status, status, word)
    assert wrapped["error"]["message"]
    assert "retry-after" not in reply.headers


def test_the_sdk_finds_no_message_in_a_list() -> None:
    """What clients of this server have to live with."""
    simulator = account({"turns": [{"error": {"kind": "overloaded"}}]})
    with (
        openai.OpenAI(
            api_key="k",
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            http_client=httpx2.Client(transport=simulator.transport()),
            max_retries=0,
        ) as client,
        pytest.raises(openai.InternalServerError) as error,
    ):
        client.chat.completions.create(**SAID)
    assert error.value.status_code == 503
    assert error.value.code is None
    assert str(error.value) == "Error code: 503"
