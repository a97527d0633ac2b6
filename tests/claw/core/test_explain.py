"""What `claw error explain` says: the kind, and what follows from it for a run with one profile and no fallback."""

import pytest

from claw.core.explain import explain
from simulators import errors as catalogue

ACTIONS = {
    "rate_limited": {"retry", "give_up"},  # given up when no waiting helps
    "overloaded": {"retry"},
    "server_error": {"retry"},
    "timeout": {"retry"},
    "truncated": {"retry"},
    "transport": {"retry"},
    "context_overflow": {"compact"},
    "output_budget": {"lower_max_tokens", "compact"},
    "auth": {"give_up"},
    "billing": {"give_up"},
    "bad_request": {"give_up"},
    "poisoned_history": {"repair"},
    "model_not_found": {"give_up"},
    "session_expired": {"reseed"},
    "refused": {"give_up"},
}


# Answers in form; that their prompt did not fit only shows by the model's window, which the run knows.
BY_WINDOW = {"ollama/silent-truncation", "zai/silent-overflow"}


@pytest.mark.parametrize("name", sorted(catalogue.entries().keys() - BY_WINDOW))
def test_every_entry_of_the_catalogue_leads_to_an_action_of_its_kind(name):
    entry = catalogue.entries()[name]
    found = explain(name.partition("/")[0], entry.status, entry.headers, entry.body)
    assert found.kind.value == entry.kind
    assert found.action in ACTIONS[entry.kind]
    assert found.replay_safe


def asked(text, provider="x", status=400, **headers):
    return explain(provider, status, headers, {"error": {"message": text, "type": "invalid_request_error"}})


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("input length and `max_tokens` exceed context limit: 156321 + 48384 > 200000", "lower_max_tokens"),
        ("input length and `max_tokens` exceed context limit: 199500 + 21333 > 200000", "compact"),
        ("max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for m", "lower_max_tokens"),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 393216]", "lower_max_tokens"),
        ("maximum context length is 8192 tokens. However, you requested 64 output tokens and your prompt contains 8129 "
         "input tokens", "lower_max_tokens"),
        ("maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the "
         "completion).", "compact"),
    ],
)  # fmt: skip
def test_less_output_is_asked_for_only_where_that_leaves_an_answer(text, action):
    assert asked(text).action == action


def test_a_wait_of_hours_is_told_and_not_waited():
    found = explain("anthropic", 429, {"retry-after": "7198"}, "")
    assert (found.retry_after, found.action) == (7198, "give_up")


def test_what_no_waiting_helps_is_given_up():
    too_large = "Request too large for gpt-4o on tokens per min (TPM): Limit 3, Requested 4."
    assert asked(too_large, status=429).action == "give_up"
    assert explain(None, None, {}, "certificate verify failed: self-signed certificate").action == "give_up"


def test_a_cli_begins_its_session_anew_where_claw_itself_would_compact():
    assert explain("claude-cli", None, {}, "Prompt is too long").action == "reseed"
    assert explain("anthropic", None, {}, "Prompt is too long").action == "compact"
