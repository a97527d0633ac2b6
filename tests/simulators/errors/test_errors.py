"""The catalogue: entries that can be sent, each with a meaning of its own."""

import msgspec
import pytest

from simulators.errors import Entry, entries, failures

KINDS = {
    "rate_limited", "overloaded", "server_error", "context_overflow", "output_budget", "auth", "billing", "timeout",
    "bad_request", "poisoned_history", "model_not_found", "session_expired", "refused",
}  # fmt: skip


def test_names_are_vendor_and_case_and_none_comes_twice() -> None:
    found = entries()
    assert len(found) > 150
    assert all(name == entry.name and name.count("/") == 1 for name, entry in found.items())
    assert {name.split("/")[0] for name in found} >= {"anthropic", "openai", "gemini", "groq", "bedrock", "vllm"}


@pytest.mark.parametrize("entry", entries().values(), ids=entries())
def test_an_entry_means_one_of_the_kinds_and_can_be_sent(entry: Entry) -> None:
    assert entry.kind in KINDS
    assert entry.status == 200 or 400 <= entry.status < 600
    failure = entry.failure()
    assert (failure.status, failure.kind) == (entry.status, entry.kind)
    assert all(name == name.lower() for name, _ in failure.headers)
    if entry.body is None:
        assert failure.body == b""
    else:
        assert failure.body is not None
        assert msgspec.json.decode(failure.body) == entry.body
        assert ("content-type", "application/json") in failure.headers


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("groq/tpm-413", "rate_limited"),  # looks like an overflow
        ("bedrock/too-many-tokens", "rate_limited"),  # looks like an overflow
        ("cerebras/tpm", "rate_limited"),  # looks like an overflow
        ("cerebras/empty-400", "context_overflow"),  # says nothing at all
        ("kimi/overloaded-429", "overloaded"),  # looks like a rate limit
        ("openai/insufficient-quota", "billing"),  # looks like a rate limit
        ("anthropic/credit-balance", "billing"),  # looks like a bad request
        ("minimax/rate-limit-200", "rate_limited"),  # looks like an answer
        ("gemini/invalid-key", "auth"),  # looks like a bad request
    ],
)
def test_false_friends_are_told_for_what_they_are(name: str, kind: str) -> None:
    assert entries()[name].kind == kind
    assert failures()[name].kind == kind
