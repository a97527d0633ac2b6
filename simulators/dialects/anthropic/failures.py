"""Refusals in the vendor's envelope: `{"type": "error", "error": {"type", "message"}, "request_id"}`.

Statuses, error types and messages are those of the provider's error page and of recorded bodies. Two kinds look like
others on purpose: an empty account is a 400, not a 402, and a request too large is refused by the CDN in front of the
API, without `type` and request id.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import Failure, Stamp
from simulators.core.wire import Chunk, Headers

_encode = msgspec.json.Encoder().encode

# kind → status, error type, message when the failure brings none
_WORDS: dict[str, tuple[int, str, str]] = {
    "rate_limited": (429, "rate_limit_error", ""),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "server_error": (500, "api_error", "Internal server error"),
    "timeout": (504, "timeout_error", "Request timed out"),
    "context_overflow": (400, "invalid_request_error", ""),
    "output_budget": (400, "invalid_request_error", ""),
    "bad_request": (400, "invalid_request_error", "Invalid request"),
    "poisoned_history": (
        400,
        "invalid_request_error",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "refused": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "billing": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits.",
    ),
    "permission": (
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource",
    ),
    "not_found": (404, "not_found_error", "Not found"),
    "model_not_found": (404, "not_found_error", ""),
    "session_expired": (404, "not_found_error", "Thread not found"),
    "method_not_allowed": (405, "invalid_request_error", "Method Not Allowed"),
    "request_too_large": (413, "request_too_large", "Request exceeds the maximum size"),
}
# The unit that a 429 names, by the account's limit that refused.
_UNITS = {
    "requests": "requests per minute",
    "input_tokens": "input tokens per minute",
    "output_tokens": "output tokens per minute",
    "concurrency": "concurrent connections",
}
_NO_KEY = "x-api-key header is required"


def words(failure: Failure, organization: str) -> tuple[int, str, str]:
    """Status, error type and message of a refusal."""
    status, kind, message = _WORDS.get(failure.kind, _WORDS["server_error"])
    if failure.status is not None and failure.status != status:
        status, kind = failure.status, _type_of(failure.status)
    if failure.message:
        message = failure.message
    elif failure.kind == "rate_limited":
        message = _rate_limit(failure.details, organization)
    elif failure.kind == "context_overflow":
        tokens, limit = failure.details.get("tokens", 213_462), failure.details.get("limit", 200_000)
        message = f"prompt is too long: {tokens} tokens > {limit} maximum"
    elif failure.kind == "output_budget":
        said = failure.details
        tokens, budget, limit = said.get("tokens", 188_240), said.get("max_tokens", 21_333), said.get("limit", 200_000)
        message = (
            f"input length and `max_tokens` exceed context limit: {tokens} + {budget} > {limit}, decrease input length "
            "or `max_tokens` and try again"
        )
    elif failure.kind == "model_not_found":
        message = f"model: {failure.details.get('model', 'claude-unknown')}"
    elif failure.kind == "auth" and failure.details.get("key") == "missing":
        message = _NO_KEY
    return status, kind, message


def _type_of(status: int) -> str:
    """The error type that goes with a status of its own choosing."""
    for known, kind, _ in _WORDS.values():
        if known == status:
            return kind
    return "api_error" if status >= 500 else "invalid_request_error"


def _rate_limit(details: Mapping[str, Any], organization: str) -> str:
    limit = details.get("limit", "input_tokens")
    if limit == "spend":
        return "You have reached your specified API usage limits."
    value = details.get("value", 30_000)
    model = f", model: {details['model']}" if "model" in details else ""
    return (
        f"This request would exceed your organization's rate limit of {value:,} {_UNITS.get(limit, limit)} (org: "
        f"{organization or '00000000-0000-4000-8000-000000000000'}{model}). For details, refer to: "
        "https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce "
        "the prompt length or the maximum tokens requested, or try again later. You may also contact sales at "
        "https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."
    )


def request_id(stamp: Stamp) -> str:
    """`req_…` as the API writes it."""
    return f"req_011C{stamp.request_id[:20]}"


def body_of(failure: Failure, stamp: Stamp) -> tuple[int, dict[str, Any]]:
    """Status and envelope of a refusal."""
    status, kind, message = words(failure, stamp.organization)
    error: dict[str, Any] = {"type": kind, "message": message}
    if failure.kind == "request_too_large" and status == 413:
        return status, {"error": error}
    if failure.kind == "rate_limited" and failure.details.get("limit") == "spend":
        error["details"] = {"error_code": "enforced_spend_limit_reached"}
    elif "error_code" in failure.details:
        error["details"] = dict(failure.details)
    return status, {"type": "error", "error": error, "request_id": request_id(stamp)}


def encode_failure(failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
    """Status, headers beyond those of every answer, and body; a failure that brings its own body keeps it."""
    headers = failure.headers
    if failure.retry_after is not None and not any(name == "retry-after" for name, _ in headers):
        headers = (*headers, ("retry-after", f"{failure.retry_after:g}"))
    if failure.body is not None:
        return failure.status or words(failure, "")[0], headers, failure.body
    status, body = body_of(failure, stamp)
    if not any(name == "x-should-retry" for name, _ in headers):
        headers = (*headers, ("x-should-retry", "true" if status in (408, 409, 429) or status >= 500 else "false"))
    return status, headers, _encode(body)


def error_event(failure: Failure, stamp: Stamp) -> Chunk:
    """The failure as an event of a stream that began with 200; nothing follows it."""
    data = failure.body if failure.body is not None else _encode(body_of(failure, stamp)[1])
    return Chunk(b"event: error\ndata: " + data.replace(b"\n", b" ") + b"\n\n", "error")
