"""Refusals in the envelope of Google's APIs: `{"error": {"code", "message", "status", "details"}}`.

Statuses, messages and details are those of recorded bodies. A bad key is a 400, no key a 403; no header says when to
come back: a quota tells it in its message and, cut to seconds, in `RetryInfo`. A stream that was asked for as a JSON
array, and the OpenAI-compatible paths, wrap the envelope in a list.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import Failure, Stamp
from simulators.core.wire import Chunk, Headers

_encode = msgspec.json.Encoder().encode
_RPC = "type.googleapis.com/google.rpc."
_OVERFLOW = "The input token count exceeds the maximum number of tokens allowed ({limit})."
_OVERFLOW_VERTEX = "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit})."

# kind → HTTP status, status word, message when the failure brings none
_WORDS: dict[str, tuple[int, str, str]] = {
    "rate_limited": (429, "RESOURCE_EXHAUSTED", ""),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "server_error": (
        500,
        "INTERNAL",
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting",
    ),
    "timeout": (504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    "context_overflow": (400, "INVALID_ARGUMENT", ""),
    "output_budget": (400, "INVALID_ARGUMENT", ""),
    "bad_request": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "poisoned_history": (
        400,
        "INVALID_ARGUMENT",
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    "refused": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "auth": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "billing": (
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
    ),
    "permission": (403, "PERMISSION_DENIED", "The caller does not have permission"),
    "not_found": (404, "NOT_FOUND", "Requested entity was not found."),
    "session_expired": (403, "PERMISSION_DENIED", "CachedContent not found (or permission denied)"),
    "model_not_found": (404, "NOT_FOUND", ""),
    "method_not_allowed": (404, "NOT_FOUND", "Requested entity was not found."),
    "request_too_large": (
        400,
        "INVALID_ARGUMENT",
        "Request payload size exceeds the limit: 20971520 bytes.",
    ),
}
_STATUS_WORDS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
    429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}  # fmt: skip
_NO_KEY = (
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other "
    "form of API consumer identity to call this API."
)
# The account's limit that refused → metric, id of the quota.
_QUOTAS = {
    "requests": ("generate_content_free_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
    "requests_per_day": ("generate_content_free_tier_requests", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
    "input_tokens": (
        "generate_content_free_tier_input_token_count",
        "GenerateContentInputTokensPerModelPerMinute-FreeTier",
    ),
}
_EXHAUSTED = "Resource has been exhausted (e.g. check quota)."
_MODEL = re.compile(r"/models/([^:/?]+)")
_HELP = {
    "@type": f"{_RPC}Help",
    "links": [
        {
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        }
    ],
}


def encode_failure(failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
    """Status, headers beyond those of every answer, and body; a failure that brings its own body keeps it."""
    status, body = envelope(failure, stamp)
    if failure.body is not None:
        return status, failure.headers, failure.body
    return status, failure.headers, _encode([body] if wrapped(stamp.target) else body)


def wrapped(target: str) -> bool:
    """Whether what stands behind a path answers with a list of errors."""
    path, _, query = target.partition("?")
    if "/openai/" in path:
        return True
    return path.endswith(":streamGenerateContent") and "alt=sse" not in query.split("&")


def error_event(failure: Failure, stamp: Stamp) -> Chunk:
    """The failure in the middle of a stream that began with 200; nothing follows it."""
    data = failure.body if failure.body is not None else _encode(envelope(failure, stamp)[1])
    if wrapped(stamp.target):
        return Chunk(b",\r\n%b]\n" % data, "error")
    return Chunk(b"data: %b\r\n\r\n" % data.replace(b"\n", b" "), "error")


def envelope(failure: Failure, stamp: Stamp) -> tuple[int, dict[str, Any]]:
    """Status and body of a refusal."""
    code, word, message = _WORDS.get(failure.kind, _WORDS["server_error"])
    details: list[Mapping[str, Any]] = list(failure.details.get("details") or ())
    if failure.kind == "auth" and failure.details.get("key") == "missing":
        code, word, message = 403, "PERMISSION_DENIED", _NO_KEY
    elif failure.kind == "auth":
        details = [_invalid_key()]
    elif failure.kind == "rate_limited":
        message, details = quota(failure, stamp)
    elif failure.kind in ("context_overflow", "output_budget"):
        message = _overflow(failure, stamp)
    elif failure.kind == "model_not_found":
        message = model_not_found(failure.details.get("model") or model_in(stamp.target) or "unknown", stamp.target)
    if failure.status is not None and failure.status != code:
        code, word, details = failure.status, _STATUS_WORDS.get(failure.status, "UNKNOWN"), []
    error: dict[str, Any] = {"code": code, "message": failure.message or message, "status": word}
    if details:
        error["details"] = details
    return code, {"error": error}


def _invalid_key() -> dict[str, Any]:
    return {
        "@type": f"{_RPC}ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": {"service": "generativelanguage.googleapis.com"},
    }


def quota(failure: Failure, stamp: Stamp) -> tuple[str, list[Mapping[str, Any]]]:
    """Message and details of a used-up quota. Without an account's limit behind it, one of requests a minute."""
    which = failure.details.get("limit", "requests")
    if which not in _QUOTAS:
        return _EXHAUSTED, []
    metric, quota_id = _QUOTAS[which]
    metric = f"generativelanguage.googleapis.com/{metric}"
    value, model = f"{failure.details.get('value', 10):g}", model_in(stamp.target) or "gemini-3.5-flash"
    message = (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: "
        f"https://ai.dev/rate-limit. \n* Quota exceeded for metric: {metric}, limit: {value}, model: {model}"
    )
    dimensions = {"location": "global", "model": model}
    details: list[Mapping[str, Any]] = [
        {
            "@type": f"{_RPC}QuotaFailure",
            "violations": [
                {"quotaMetric": metric, "quotaId": quota_id, "quotaDimensions": dimensions, "quotaValue": value}
            ],
        },
        _HELP,
    ]
    delay = failure.retry_after
    if delay is None and which == "requests_per_day":
        delay = 20 + _drawn(stamp) % 40  # as recorded: the hint knows nothing of days
    if delay is not None:
        message += f"\nPlease retry in {int(delay)}.{_drawn(stamp):09d}s."
        details.append({"@type": f"{_RPC}RetryInfo", "retryDelay": f"{int(delay)}s"})
    return message, details


def _drawn(stamp: Stamp) -> int:
    """Nanoseconds, drawn once for a request."""
    return int.from_bytes(stamp.request_id[:6].encode(), "big") % 10**9


def _overflow(failure: Failure, stamp: Stamp) -> str:
    said = failure.details
    limit = said.get("limit", 1_048_576)
    if "/publishers/" in stamp.target:
        return _OVERFLOW_VERTEX.format(tokens=said.get("tokens", 1_196_265), limit=limit)
    return _OVERFLOW.format(limit=limit)


def model_not_found(model: str, target: str) -> str:
    """The API's words for a model that it does not have, for the method and the version that were asked."""
    path = target.partition("?")[0]
    version = path.split("/")[1] if path.count("/") > 1 else "v1beta"
    method = path.rpartition(":")[2] if ":" in path else "generateContent"
    method = {"streamGenerateContent": "generateContent"}.get(method, method)
    return (
        f"models/{model} is not found for API version {version}, or is not supported for {method}. Call "
        "ModelService.ListModels to see the list of available models and their supported methods."
    )


def model_in(target: str) -> str:
    """The model that a path names."""
    found = _MODEL.search(target)
    return found[1] if found else ""
