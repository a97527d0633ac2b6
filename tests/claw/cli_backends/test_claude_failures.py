"""Claude Code's error words, release by release."""

import pytest

from claw.cli_backends._claude_failures import Evidence, classify

TABLE = [
    # 2.1.19
    ("Prompt is too long", None, "context_overflow"),
    ('API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"slow"}}', None, "rate_limited"),
    ('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', None, "overloaded"),
    ("Invalid API key · Fix external API key", None, "auth"),
    # 2.1.332
    ("Prompt is too long · the request is ~210000 tokens (limit 200000) but …", 400, "context_overflow"),
    ("API Error: Request rejected (429) · rate limited", 429, "rate_limited"),
    ("API Error: Repeated 529 Overloaded errors. The API is at capacity", 529, "overloaded"),
    ("API Error: 500 Internal server error. This is a server-side issue", 500, "server_error"),
    ("Not logged in · Please run /login", None, "auth"),
    ("Failed to authenticate. API Error: 403 no", 403, "auth"),
    ("There's an issue with the selected model (x).", 404, "model_not_found"),
    ("Credit balance is too low", 400, "billing"),
    ("Request too large (max 32MB).", 413, "context_overflow"),
    ("API Error: Connection dropped (ECONNRESET).", None, "transport"),
    ("Connection lost mid-response. Try again.", None, "truncated"),
    ("API Error: Claude's response exceeded the 128000 output token maximum.", None, "output_budget"),
    ("API Error: The model has reached its context window limit.", None, "context_overflow"),
    ("API Error: Opus 4.8's safeguards flagged this message.", None, "refused"),
    ("API Error: 400 messages.3: `tool_use` ids were found without `tool_result` blocks", 400, "poisoned_history"),
    ("API Error: 400 messages.0: bad thing", 400, "bad_request"),
    ("No response requested.", None, "poisoned_history"),
]


@pytest.mark.parametrize(("text", "status", "kind"), TABLE)
def test_texts_of_both_releases(text: str, status: int | None, kind: str) -> None:
    assert classify(Evidence(text=text, status=status, exit_code=1)).kind == kind


def test_the_numbers_of_an_overflow_are_read() -> None:
    failure = classify(Evidence(text="Prompt is too long · the request is ~210000 tokens (limit 200000)", status=400))
    assert (failure.tokens, failure.limit) == (210_000, 200_000)


def test_a_lost_session_is_told_from_stderr_alone() -> None:
    failure = classify(Evidence(stderr="No conversation found with session ID: 7777\n", exit_code=1))
    assert (failure.kind, failure.replay_safe) == ("session_expired", True)


def test_a_code_decides_where_the_text_says_nothing() -> None:
    assert classify(Evidence(text="Something.", codes=("billing_error",))).kind == "billing"


def test_an_empty_account_is_not_a_rate_limit_whatever_the_code_says() -> None:
    assert classify(Evidence(text="Credit balance is too low", status=429, codes=("rate_limit",))).kind == "billing"


@pytest.mark.parametrize("reason", ["max_turns", "budget_exhausted", "hook_stopped"])
def test_a_stop_of_its_own_is_not_tried_again(reason: str) -> None:
    assert classify(Evidence(text="Reached maximum", terminal_reason=reason, exit_code=1)).kind == "refused"


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ("error: unknown option '--no-such-flag'", "bad_request"),
        ("Error: Session ID 7 is already in use.", "bad_request"),
        ("Error: When using --print, --output-format=stream-json requires --verbose", "bad_request"),
        ("", "server_error"),
    ],
)
def test_a_run_that_only_wrote_to_stderr(stderr: str, kind: str) -> None:
    assert classify(Evidence(stderr=stderr, exit_code=1)).kind == kind


@pytest.mark.parametrize("code", [-9, -15, 137, 143])
def test_a_process_ended_from_outside_is_a_transport_failure(code: int) -> None:
    assert classify(Evidence(exit_code=code)).kind == "transport"


def test_nothing_is_replayed_blindly_after_it_acted() -> None:
    assert not classify(Evidence(text="API Error: 500 x", acted=True)).replay_safe
