"""One attempt at a call: sends the request, tells each item as it comes whole, and says how it ended.

Never raises; an attempt ends as `Done` or as `Trouble`. What to do with a trouble is `calls.py`'s matter.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from simulators.cli.codex import texts
from simulators.cli.codex.usage import Usage, of_response
from simulators.cli.effects import Call, CallFailed, Effect, Hangup, NextChunk, Reply
from simulators.cli.sse import SseError, SseReader

Item = dict[str, Any]
Steps = Generator[Effect, Any, Any]
_SECONDS = re.compile(r"try again in\s*(\d+(?:\.\d+)?)\s*(ms|s|seconds?)", re.IGNORECASE)
_CUT = "Transport error: network error: error decoding response body"
_CLOSED = "stream closed before response.completed"


@dataclass(slots=True)
class Done:
    """The stream said that it is complete."""

    response_id: str
    usage: Usage | None


@dataclass(slots=True)
class Trouble:
    """What went wrong. `retry`: request (quietly, then stream), "request only", stream (announced), never;
    or interrupted, which is no failure. `info` is the code that the
    rollout and app-server name it by; `after` the seconds that the provider asked for."""

    message: str
    retry: str = "never"
    after: float | None = None
    info: Any = "other"
    status: int | None = None
    overflow: bool = False
    began: bool = False  # the provider had begun to answer
    usage: Usage | None = None


@dataclass(slots=True)
class Hearing:
    """Who hears of a stream: an item that began, a piece of text, an item that is whole. `stop` is asked after every
    chunk whether to leave."""

    begun: Callable[[Item], Steps]
    delta: Callable[[str, str], Steps]
    whole: Callable[[Item], Steps]
    stop: Callable[[], Generator[Effect, Any, bool]]


@dataclass(slots=True)
class _Reading:
    ended: Done | Trouble | None = None
    began: bool = False


def attempt(
    url: str, headers: Sequence[tuple[str, str]], body: bytes, hearing: Hearing
) -> Generator[Effect, Any, Done | Trouble]:
    """Send once and read to the end."""
    reply = yield Call("POST", url, headers, body)
    if isinstance(reply, CallFailed):
        if reply.kind == "connect":
            said = f"stream disconnected before completion: error sending request for url ({url})"
        else:
            said = f"error sending request for url ({url})"
        return Trouble(said, "request", info={"http_connection_failed": {"http_status_code": None}})
    assert isinstance(reply, Reply)
    if reply.status != 200:
        data = yield from _rest()
        names = {name.lower(): value for name, value in reply.headers}
        return refused(reply.status, names, data, url)
    return (yield from _stream(hearing))


def _rest() -> Generator[Effect, Any, bytes]:
    parts: list[bytes] = []
    while True:
        chunk = yield NextChunk()
        if isinstance(chunk, CallFailed) or not chunk:
            return b"".join(parts)
        parts.append(chunk)


def _stream(hearing: Hearing) -> Generator[Effect, Any, Done | Trouble]:
    reader, reading = SseReader(), _Reading()
    cut = False
    while reading.ended is None:
        chunk = yield NextChunk()
        if isinstance(chunk, CallFailed) or not chunk:
            cut = bool(chunk)
            break
        try:
            events = reader.feed(chunk)
        except SseError:
            continue  # an event that cannot be read is passed over
        for _, data in events:
            if isinstance(data, dict) and reading.ended is None:
                yield from _event(data, reading, hearing)
        if reading.ended is None and (yield from hearing.stop()):
            yield Hangup()
            return Trouble("interrupted", "interrupted")
    if reading.ended is not None:
        yield Hangup()
        return reading.ended
    why = _CUT if cut else _CLOSED
    info = {"response_stream_disconnected": {"http_status_code": None}}
    return Trouble(f"stream disconnected before completion: {why}", "stream", info=info, began=reading.began)


def _event(data: Mapping[str, Any], reading: _Reading, hearing: Hearing) -> Steps:
    kind = data.get("type")
    reading.began = True
    if kind == "response.output_item.added":
        yield from hearing.begun(dict(data["item"]))
    elif kind in ("response.output_text.delta", "response.reasoning_summary_text.delta"):
        yield from hearing.delta(str(data.get("item_id", "")), str(data.get("delta", "")))
    elif kind == "response.output_item.done":
        yield from hearing.whole(dict(data["item"]))
    elif kind == "response.completed":
        response = data.get("response") or {}
        reading.ended = Done(str(response.get("id", "")), of_response(response.get("usage")))
    elif kind == "response.incomplete":
        response = data.get("response") or {}
        reason = (response.get("incomplete_details") or {}).get("reason", "unknown")
        usage = of_response(response.get("usage"))
        reading.ended = Trouble(f"Incomplete response returned, reason: {reason}", usage=usage, began=True)
    elif kind == "response.failed":
        reading.ended = failed((data.get("response") or {}).get("error") or {})
        reading.ended.began = True


def failed(error: Mapping[str, Any]) -> Trouble:
    """What `response.failed` says."""
    code, message = error.get("code"), str(error.get("message", ""))
    known = _by_code(code)
    if known is not None:
        return known
    if code == "invalid_prompt":
        return Trouble(message, info="invalid_prompt")
    if code == "rate_limit_exceeded":
        found = _SECONDS.search(message)
        after = float(found[1]) / (1000 if found[2].lower() == "ms" else 1) if found else None
        return Trouble(f"rate limit exceeded: {message}", "stream", after=after, began=True)
    return Trouble(f"stream disconnected before completion: {message}", "stream", began=True)


def _by_code(code: Any) -> Trouble | None:
    """The codes that mean the same wherever they stand."""
    if code == "context_length_exceeded":
        return Trouble(texts.OVERFLOW, info="context_window_exceeded", overflow=True)
    if code == "server_is_overloaded":
        return Trouble(texts.AT_CAPACITY, info="server_overloaded")
    if code in ("insufficient_quota", "billing_hard_limit_reached"):
        return Trouble(texts.QUOTA, info="usage_limit_exceeded")
    return None


def refused(status: int, headers: Mapping[str, str], data: bytes, url: str) -> Trouble:
    """What a status other than 200 means."""
    text = data.decode("utf-8", "replace")
    error = _error_of(text)
    code, kind = error.get("code"), error.get("type")
    message = str(error.get("message") or text)
    known = _by_code(code if code else kind)
    if status == 503 and code == "server_is_overloaded":
        assert known is not None
        known.retry, known.status = "request only", status
        return known
    if known is not None and status in (400, 429):
        known.status = status
        return known
    if status == 400:
        return Trouble(text, status=status)
    if status == 404 and code == "model_not_found":
        return Trouble(message, info="model_not_found", status=status)
    if status == 429:
        return _limited(headers, kind)
    reason = HTTPStatus(status).phrase.replace("Request Entity Too Large", "Payload Too Large")
    info = {"http_connection_failed": {"http_status_code": status}}
    if status == 500:
        return Trouble(texts.HIGH_DEMAND, "request", info="internal_server_error", status=status)
    said = f"unexpected status {status} {reason}: {message}, url: {url}"
    return Trouble(said, "request" if status > 500 else "stream", info=info, status=status)


def _limited(headers: Mapping[str, str], kind: Any) -> Trouble:
    """429: tried again only when told when."""
    if kind == "usage_limit_reached":
        return Trouble(texts.USAGE_LIMIT, info="usage_limit_exceeded", status=429)
    said = "exceeded retry limit, last status: 429 Too Many Requests"
    try:
        after = (
            float(headers["retry-after-ms"]) / 1000 if "retry-after-ms" in headers else float(headers["retry-after"])
        )
    except (KeyError, ValueError):
        after = None
    info = {"response_too_many_failed_attempts": {"http_status_code": 429}}
    return Trouble(said, "never" if after is None else "stream", after=after, info=info, status=429)


def _error_of(text: str) -> Mapping[str, Any]:
    try:
        error = json.loads(text).get("error")
    except (ValueError, AttributeError):
        return {}
    return error if isinstance(error, dict) else {}
