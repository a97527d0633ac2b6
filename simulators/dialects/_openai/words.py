"""Refusals in the vendor's words: status, message, type, param, code; and in the envelope of the server that speaks.

Statuses and sentences are those of the provider's error guide and of recorded bodies. A quota that is used up is a 429
like any other, a request larger than its bucket is refused with the words of a rate limit and can never succeed.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any

import msgspec

from simulators.core.turn import Failure, Stamp
from simulators.core.wire import Chunk, Headers
from simulators.dialects._openai.ids import hexadecimal
from simulators.dialects._openai.profile import DEFAULT, Profile, Words, fill

_encode = msgspec.json.Encoder().encode
_REQUEST = "invalid_request_error"
_LIMITS = "Visit https://platform.openai.com/account/rate-limits to learn more."
_NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API "
    "from your browser and are prompted for a username and password. You can obtain an API key from "
    "https://platform.openai.com/account/api-keys."
)
# kind → status, type, param, code, message when the failure brings none
_WORDS: dict[str, tuple[int, str, str | None, str | None, str]] = {
    "rate_limited": (429, "tokens", None, "rate_limit_exceeded", ""),
    "overloaded": (503, "server_error", None, None, "The engine is currently overloaded, please try again later"),
    "server_error": (
        500,
        "server_error",
        None,
        None,
        "The server had an error while processing your request. Sorry about that! You can retry your request, or "
        "contact us through our help center at help.openai.com if the error persists. (Please include the request ID "
        "{request_id} in your message.)",
    ),
    "timeout": (504, "server_error", None, None, "Request timed out."),
    "context_overflow": (400, _REQUEST, "messages", "context_length_exceeded", ""),
    "output_budget": (400, _REQUEST, "messages", "context_length_exceeded", ""),
    "bad_request": (400, _REQUEST, None, None, "Invalid request."),
    "poisoned_history": (400, _REQUEST, "messages", None, ""),
    "refused": (
        400,
        _REQUEST,
        "prompt",
        "content_policy_violation",
        "Your request was rejected as a result of our safety system.",
    ),
    "auth": (401, _REQUEST, None, "invalid_api_key", ""),
    "billing": (
        429,
        "insufficient_quota",
        None,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
    ),
    "permission": (403, _REQUEST, None, None, "You have insufficient permissions for this operation."),
    "not_found": (404, _REQUEST, None, None, ""),
    "model_not_found": (404, _REQUEST, None, "model_not_found", ""),
    "session_expired": (400, _REQUEST, "previous_response_id", "previous_response_not_found", ""),
    "method_not_allowed": (405, _REQUEST, None, "method_not_supported", ""),
    "request_too_large": (413, _REQUEST, None, "request_too_large", "Request body too large."),
}
_UNITS = {
    "requests": ("requests", "requests per min (RPM)", 500),
    "tokens": ("tokens", "tokens per min (TPM)", 200_000),
    "input_tokens": ("tokens", "tokens per min (TPM)", 200_000),
    "output_tokens": ("tokens", "tokens per min (TPM)", 200_000),
    "concurrency": ("requests", "concurrent requests", 1),
}
_DEFAULTS = {"tokens": 130_518, "limit": 128_000, "max_tokens": 1_000}


def duration(seconds: float) -> str:
    """As Go writes it: `84ms`, `6.8s`, `8m38.4s`, `1h2m3s`."""
    ms = ceil(seconds * 1000 - 1e-6)
    if ms < 1000:
        return f"{ms}ms"
    hours, rest = divmod(ms, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    lead = f"{hours}h" if hours else ""
    return f"{lead}{f'{minutes}m' if minutes or hours else ''}{f'{rest / 1000:.3f}'.rstrip('0').rstrip('.')}s"


def organization(stamp: Stamp) -> str:
    """`org-…` as the API writes it."""
    return f"org-{stamp.organization.replace('-', '')[:24] or 'simulated'}"


def request_id(stamp: Stamp) -> str:
    return f"req_{hexadecimal(stamp, f'request:{stamp.request_id}', 32)}"


def values_of(failure: Failure, stamp: Stamp, *, responses: bool) -> dict[str, Any]:
    """Everything that a refusal may tell, by the names that templates use. OpenAI's sentence is `message`."""
    status, kind, param, code, message = _WORDS.get(failure.kind, _WORDS["server_error"])
    said = {name: value for name, value in failure.details.items() if value is not None}
    found: dict[str, Any] = {
        **_DEFAULTS,
        "model": "gpt-unknown",
        "status": status,
        "type": kind,
        "param": param,
        "code": code,
        **said,
    }
    if responses and param == "messages":
        found["param"] = "input"
    found["param"], found["code"] = said.get("param", found["param"]), said.get("code", found["code"])
    if failure.kind == "bad_request":
        found["param"], found["code"] = failure.details.get("param"), failure.details.get("code")
    if "tokens" in said and "max_tokens" not in said:
        found["max_tokens"] = 0
    found["request_id"], found["org"] = request_id(stamp), organization(stamp)
    found["requested_total"] = found["tokens"] + (found["max_tokens"] or 0)
    if not isinstance(found["limit"], str):  # else it is the name of a rate limit
        found["excess"] = max(1, found["tokens"] - found["limit"])
    wait = said.get("wait", failure.retry_after)
    found["wait"], found["seconds"] = duration(wait or 1.0), ceil(wait or 1.0)
    found["milliseconds"] = ceil((wait or 1.0) * 1000)
    said_already = "" if failure.kind == "not_found" and "path" in said else failure.message
    found["message"] = said_already or _message(failure.kind, found, failure.details, responses) or fill(message, found)
    if failure.status is not None and failure.status != found["status"]:
        found["status"] = failure.status
        found["type"] = "server_error" if failure.status >= 500 else _REQUEST
    return found


def _message(kind: str, found: dict[str, Any], details: Mapping[str, Any], responses: bool) -> str:
    if kind == "rate_limited":
        return _rate_limit(found, details)
    if kind == "context_overflow":
        return _overflow(found, responses)
    if kind == "output_budget":
        return (
            f"This model's maximum context length is {found['limit']} tokens. However, you requested "
            f"{found['requested_total']} tokens ({found['tokens']} in the messages, {found['max_tokens']} in the "
            "completion). Please reduce the length of the messages or completion."
        )
    if kind == "auth":
        if details.get("key") == "missing":
            found["code"] = None
            return _NO_KEY
        shown = details.get("shown") or "sk-abc***xyz"
        return (
            f"Incorrect API key provided: {shown}. You can find your API key at "
            "https://platform.openai.com/account/api-keys."
        )
    if kind == "model_not_found":
        return f"The model `{found['model']}` does not exist or you do not have access to it."
    if kind == "poisoned_history":
        if responses:
            return "No tool output found for function call call_abc."
        found["param"] = "messages.[2].role"
        return (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: call_1"
        )
    if kind == "session_expired":
        return f"Previous response with id '{details.get('id', 'resp_1')}' not found."
    if kind == "not_found":
        return f"Invalid URL ({details.get('method', 'POST')} {details.get('path', '/v1/unknown')})"
    if kind == "method_not_allowed":
        return (
            f"Not allowed to {details.get('method', 'GET')} on {details.get('path', '/v1/unknown')}. (HINT: Perhaps "
            "you meant to use a different HTTP method?)"
        )
    return ""


def _overflow(found: dict[str, Any], responses: bool) -> str:
    if responses:
        return "Your input exceeds the context window of this model. Please adjust your input and try again."
    tokens, limit, tools = found["tokens"], found["limit"], found.get("tool_tokens") or 0
    if found.get("configured"):
        return (
            f"Input tokens exceed the configured limit of {limit} tokens. Your messages resulted in {tokens} tokens. "
            "Please reduce the length of the messages."
        )
    lead = f"This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens"
    if tools:
        return (
            f"{lead} ({tokens - tools} in the messages, {tools} in the functions). Please reduce the length of the "
            "messages or functions."
        )
    return f"{lead}. Please reduce the length of the messages."


def _rate_limit(found: dict[str, Any], details: Mapping[str, Any]) -> str:
    limit = details.get("limit", "tokens")
    if limit == "spend":
        status, kind, param, code, message = _WORDS["billing"]
        found.update(status=status, type=kind, param=param, code=code)
        return message
    kind, unit, usual = _UNITS.get(limit, _UNITS["tokens"])
    value = details.get("value", usual)
    requested = details.get("requested", 1 if kind == "requests" else 4412)
    found.update(type=kind, unit=unit, value=value, requested=requested)
    place = f"for {found['model']} in organization {found['org']} on {unit}: Limit {value}"
    if requested > value:
        found["too_large"] = True
        return (
            f"Request too large {place}, Requested {requested}. The input or output tokens must be reduced in order to "
            f"run successfully. {_LIMITS}"
        )
    found["used"] = details.get("used", value if kind == "requests" else max(0, value - requested + 1))
    return (
        f"Rate limit reached {place}, Used {found['used']}, Requested {requested}. Please try again in "
        f"{found['wait']}. {_LIMITS}"
    )


def spoken(failure: Failure, stamp: Stamp, profile: Profile, *, responses: bool) -> tuple[int, Any, dict[str, Any]]:
    """Status, body and the values behind them, as the profile's server has them."""
    found = values_of(failure, stamp, responses=responses)
    words = Words()
    if profile.name != DEFAULT and not failure.message:
        kind = f"{failure.kind}.too_large" if found.get("too_large") else failure.kind
        if failure.kind == "rate_limited" and details_limit(failure) == "spend":
            kind = "billing"
        if kind == "rate_limited" and found["type"] == "requests" and "rate_limited.requests" in profile.errors:
            kind = "rate_limited.requests"
        words = profile.errors.get(kind) or profile.errors.get(failure.kind) or words
    elif profile.name != DEFAULT:
        words = profile.errors.get(f"{failure.kind}.worded") or words
    if words.status is not None and failure.status is None:
        found["status"] = words.status
    for name in ("type", "code", "param"):
        if getattr(words, name) is not None:
            found[name] = fill(getattr(words, name), found)
    if words.message is not None:
        found["message"] = fill(words.message, found)
    found["headers"] = {name: fill(value, found) for name, value in words.headers.items()}
    return found["status"], fill(profile.envelope if words.body is None else words.body, found), found


def details_limit(failure: Failure) -> str:
    return str(failure.details.get("limit", "tokens"))


def encode_failure(failure: Failure, stamp: Stamp, profile: Profile, *, responses: bool) -> tuple[int, Headers, bytes]:
    """Status, headers beyond those of every answer, and body; a failure that brings its own body keeps it."""
    status, body, found = spoken(failure, stamp, profile, responses=responses)
    headers = failure.headers
    given = {name for name, _ in headers}
    wait = failure.details.get("wait", failure.retry_after)
    if wait is not None and not found.get("too_large"):
        for name in profile.retry_headers:
            if name not in given:
                headers = (*headers, (name, str(found["milliseconds"] if name.endswith("-ms") else found["seconds"])))
    headers += tuple((name, str(value)) for name, value in found["headers"].items() if name not in given)
    if failure.body is not None:
        return failure.status or status, headers, failure.body
    if profile.name == DEFAULT and "x-should-retry" not in given:
        again = status in (408, 409, 429) or status >= 500
        never = found["code"] == "insufficient_quota" or found.get("too_large")
        headers = (*headers, ("x-should-retry", "true" if again and not never else "false"))
    return status, headers, body.encode() if isinstance(body, str) else _encode(body)


def error_chunk(failure: Failure, stamp: Stamp, profile: Profile) -> Chunk:
    """A failure in the middle of a stream of chunks."""
    body = failure.body
    if body is None:
        body = _encode(spoken(failure, stamp, profile, responses=False)[1])
    return Chunk(b"data: " + body.replace(b"\n", b" ") + b"\n\n", "error")
