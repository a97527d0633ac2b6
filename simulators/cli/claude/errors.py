"""Failures of a model call: which are tried again, and the words in which the user finally reads of them.

Every such ending is a `result` of subtype success with `is_error`, and exit code 1 (observed for both versions).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from simulators.cli.claude.versions import Version

Kind = Literal["http", "connect", "cut", "empty", "malformed", "error_event"]


@dataclass(slots=True)
class Trouble:
    """A call that gave no answer. `streamed` tells whether it was asked for as a stream."""

    kind: Kind
    message: str = ""
    status: int | None = None
    type: str = ""
    raw: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = True
    size: int = 0
    began: bool = False  # content had arrived before it broke
    detail: str = ""  # how the vendor's SDK names what was wrong with the body

    @property
    def request_id(self) -> str | None:
        return self.headers.get("request-id")

    @property
    def retry_after(self) -> float | None:
        """Seconds of the `retry-after` header, or None."""
        try:
            return float(self.headers["retry-after"])
        except (KeyError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ends without an answer."""

    text: str
    error: str
    terminal: str = "api_error"
    status: int | None = None
    type: str = ""
    api_error: str | None = None
    request_id: str | None = None
    stop: str = "stop_sequence"
    has_api_type: bool = True
    params: Mapping[str, str] | None = None  # what api_error is about
    shown: Mapping[str, Any] = field(default_factory=dict)  # further keys of the event
    stop_details: Any = None


def from_response(status: int, headers: Mapping[str, str], body: bytes, *, streamed: bool) -> Trouble:
    """The trouble that an HTTP status other than 200 means."""
    raw = body.decode("utf-8", "replace")
    message, type_ = raw, ""
    try:
        error = json.loads(raw)["error"]
        message, type_ = str(error.get("message", raw)), str(error.get("type", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    return Trouble("http", message, status, type_, raw, headers, streamed)


def too_long(trouble: Trouble) -> bool:
    """The prompt does not fit the window, whatever the answer's budget."""
    return trouble.kind == "http" and (
        trouble.status == 413 or (trouble.status == 400 and "prompt is too long" in trouble.message.lower())
    )


def lowered_budget(trouble: Trouble) -> int | None:
    """The `max_tokens` with which a request still fits: window − input − 1,000; None for other troubles."""
    found = re.search(r"exceed context limit: (\d+) \+ (\d+) > (\d+)", trouble.message)
    if trouble.status != 400 or found is None:
        return None
    budget = int(found[3]) - int(found[1]) - 1000
    return budget if budget > 0 else None


def retryable(trouble: Trouble, version: Version) -> bool:
    """Whether the same request is sent again after a wait."""
    if trouble.kind in ("connect", "cut"):
        return True
    if trouble.kind == "error_event":
        return version.rich_events and not trouble.began
    if trouble.kind != "http" or trouble.status is None:
        return False
    if trouble.status == 429:
        after = trouble.retry_after
        return after is None or after <= version.retry_after_limit
    return trouble.status in (401, 408, 409) or trouble.status >= 500


def retry_word(trouble: Trouble) -> str:
    """`error` of an api_retry event."""
    if trouble.kind != "http":
        return "unknown"
    by_status = {429: "rate_limit", 529: "overloaded", 401: "authentication_failed"}
    fallback = "server_error" if (trouble.status or 0) >= 500 else "unknown"
    return by_status.get(trouble.status or 0, fallback)


def delay(attempt: int, retry_after: float | None, chance: float) -> float:
    """Seconds before the next try: 0.5 · 2^(n−1), at most 32, or as told; by chance up to a quarter more."""
    base = retry_after if retry_after else min(0.5 * 2 ** (attempt - 1), 32.0)
    return base * (1 + 0.25 * chance)


_BUSY = "Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment."
_SERVER = "This is a server-side issue, usually temporary — try again in a moment."
_GATEWAY = "If it persists, check your inference gateway ({host})."
_NO_MODEL = "It may not exist or you may not have access to it. Run --model to pick a different model."
_LARGE = "Request too large (max 32MB). Double press esc to go back and try with a smaller file."
_DROPPED = "Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again."
_ALONE = (
    "Prompt is too long · the request is ~{asked} tokens (limit {limit}) but this conversation is only ~{local} tokens "
    "— the rest is system prompt, tool definitions, and attachment content. A single-exchange conversation cannot be "
    "compacted; reduce attached files/tools or start with less context."
)
_MALFORMED = (
    "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway intercepting the "
    "request. Response: content-type {kind}, {body}, {size} bytes, request-id {id}, server other. This was the "
    "non-streaming retry of streaming request {id}, which failed with: {detail}; 0 stream events received."
)


def ending(trouble: Trouble, version: Version, *, host: str, local: int, first: bool, model: str) -> Ending:
    """The last word on a trouble. `host` is the gateway, `local` the size of the conversation as the CLI guesses it,
    `first` says that there was nothing before this exchange, `model` what was asked for."""
    if not version.rich_events:
        return _ending_2_1_19(trouble)
    if trouble.kind != "http":
        return _ending_of_transport(trouble)
    status, said = trouble.status or 0, trouble.message
    gateway = _GATEWAY.format(host=host)
    text, error, terminal = f"API Error: {status} {said}", "unknown", "api_error"
    if status == 429:
        text, error = f"API Error: Request rejected (429) · {said}", "rate_limit"
    elif status == 529:
        text, error = f"API Error: {_BUSY} {gateway}", "server_error"
    elif status >= 500:
        text, error = f"API Error: {status} {said}. {_SERVER} {gateway}", "server_error"
    elif status == 401:
        text, error = "Invalid API key · Fix external API key", "authentication_failed"
    elif status == 403:
        text, error = f"Failed to authenticate. API Error: 403 {said}", "authentication_failed"
    elif status == 404:
        text, error = f"There's an issue with the selected model ({model}). {_NO_MODEL}", "model_not_found"
    elif status == 413:
        text, error = _LARGE, "image_error"
    elif too_long(trouble):
        text, error, terminal = _too_long_text(said, local, first), "invalid_request", "prompt_too_long"
    elif "credit balance is too low" in said.lower():
        text, error = "Credit balance is too low", "billing_error"
    return Ending(text, error, terminal, status, trouble.type, request_id=trouble.request_id)


def _too_long_text(said: str, local: int, first: bool) -> str:
    found = re.search(r"(\d+) tokens > (\d+)", said)
    if not first or found is None:
        return "Prompt is too long"
    return _ALONE.format(asked=found[1], limit=found[2], local=local)


def _ending_of_transport(trouble: Trouble) -> Ending:
    if trouble.kind in ("connect", "cut"):
        return Ending(f"API Error: {_DROPPED}", "server_error", api_error="connection_failed", has_api_type=False)
    kind = trouble.headers.get("content-type", "missing").partition(";")[0].rpartition("/")[2]
    body = "empty body" if trouble.size == 0 else "body is not a message"
    if kind == "event-stream" and trouble.size:
        body = "body is an event stream (the non-streaming request was answered with a stream)"
    detail = trouble.detail or "other"
    text = _MALFORMED.format(kind=kind, body=body, size=trouble.size, id=trouble.request_id or "none", detail=detail)
    return Ending(text, "unknown", has_api_type=False)


def _ending_2_1_19(trouble: Trouble) -> Ending:
    if trouble.kind != "http":
        return Ending("API Error: Connection error.", "unknown")
    status, raw = trouble.status or 0, trouble.raw
    if too_long(trouble) and status == 400:
        return Ending("Prompt is too long", "invalid_request", status=status)
    if "credit balance is too low" in trouble.message.lower():
        return Ending("Credit balance is too low", "billing_error", status=status)
    if status == 401:
        return Ending("Invalid API key · Fix external API key", "authentication_failed", status=status)
    if status == 403:
        return Ending(f"API Error: 403 {raw} · Please run /login", "authentication_failed", status=status)
    return Ending(f"API Error: {status} {raw}", "unknown", status=status)


NOT_LOGGED_IN = {
    True: Ending("Not logged in · Please run /login", "authentication_failed", has_api_type=False),
    False: Ending("Invalid API key · Please run /login", "authentication_failed"),
}
