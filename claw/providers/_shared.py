"""What the adapters have in common: ids, parts of a stream, and the failures of SDKs made by the same generator."""

import hashlib
import json
import re
from collections.abc import Hashable, Iterator
from typing import Any, Literal

import msgspec

from claw.core.classify import classify
from claw.core.errors import ClawError, FailureKind, ProviderError, ProviderFailure
from claw.core.stream import PartDelta, PartEnd, PartStart, StreamEvent

REFUSAL_TRIGGER = "ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL"
_SOUND_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}").fullmatch
Kind = Literal["text", "thinking", "tool_call"]


def defused(text: str) -> str:
    """Without Anthropic's test string that makes every model refuse: pasted into a session it would end it for good."""
    return text.replace(REFUSAL_TRIGGER, REFUSAL_TRIGGER.replace("_", " ")) if REFUSAL_TRIGGER in text else text


def tool_id(id: str) -> str:
    """The id as every API takes it (`^[a-zA-Z0-9_-]+$`, 64 characters); another one gets a name of its own, always
    the same, so that call and result still pair."""
    if _SOUND_ID(id):
        return id
    digest = hashlib.sha256(id.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^a-zA-Z0-9_-]', '', id)[:40]}_{digest}"


def cache_key(session: str) -> str:
    """A session's id as a cache key of at most 64 characters."""
    return session if len(session) <= 64 else hashlib.sha256(session.encode()).hexdigest()


def refuse_own(params: Any, own: set[str]) -> None:
    """Configured parameters may add to a request and not replace what claw builds. Raises `ClawError`."""
    if wrong := sorted(own & set(params)):
        raise ClawError(f"params must not set {', '.join(wrong)}: claw sets it itself")


class Parts:
    """The parts of one streamed message: gives each an index, and knows what was delivered.

    A part is named by whatever the vendor tells it by (`key`).
    """

    def __init__(self) -> None:
        self.delivered = False
        self.kinds: set[Kind] = set()
        self._open: dict[Hashable, int] = {}
        self._known: set[Hashable] = set()
        self._filled: set[Hashable] = set()
        self._next = 0

    def known(self, key: Hashable) -> bool:
        return key in self._known

    def filled(self, key: Hashable) -> bool:
        """Whether a part has got any content yet."""
        return key in self._filled

    def note(self, key: Hashable) -> None:
        """Remember something that is no part by itself, as a paragraph."""
        self._known.add(key)

    def start(self, key: Hashable, kind: Kind, *, id: str = "", name: str = "") -> Iterator[StreamEvent]:
        """Begin a part, unless it has begun."""
        if key in self._known:
            return
        self._known.add(key)
        self.kinds.add(kind)
        self._open[key] = self._next
        self._next += 1
        self.delivered = self.delivered or kind == "tool_call"
        yield PartStart(index=self._open[key], kind=kind, id=id, name=name)

    def add(self, key: Hashable, kind: Kind, text: str | None) -> Iterator[StreamEvent]:
        """A piece of a part; the part begins with its first piece. Raises `ValueError` for one that has ended."""
        if not text:
            return
        if key not in self._open:
            if kind == "tool_call" or key in self._known:
                raise ValueError(f"the stream sent content for part {key}, which is not open")
            yield from self.start(key, kind)
        self.delivered = self.delivered or kind == "text"
        self._filled.add(key)
        yield PartDelta(self._open[key], text)

    def end(self, key: Hashable, *, signature: str | None = None) -> Iterator[StreamEvent]:
        if (index := self._open.pop(key, None)) is not None:
            yield PartEnd(index=index, signature=signature)

    def end_all(self) -> Iterator[StreamEvent]:
        for key in list(self._open):
            yield from self.end(key)


def count(holder: Any, *path: str) -> int:
    """A counter inside an SDK's usage object, extra fields of other servers included; 0 where it is missing."""
    for name in path:
        holder = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
    return holder if isinstance(holder, int) and not isinstance(holder, bool) and holder > 0 else 0


async def check_type(provider: str, response: Any) -> None:
    """A 200 that is no event stream: an error page, or an error as JSON. Some proxies only mislabel the stream."""
    content_type = response.headers.get("content-type", "")
    if "html" not in content_type and "json" not in content_type:
        return
    body = await response.aread()
    if not body.lstrip().startswith((b"event:", b"data:", b":")):
        raise ProviderError(classify(provider, response.status_code, response.headers, body, in_stream=True))


def unexpected(provider: str, answer: Any) -> ProviderFailure:
    """A 200 whose body is no message: a page of something in between, an error of a gateway, or nothing."""
    body = answer.to_dict() if hasattr(answer, "to_dict") else answer
    if not body:
        return ProviderFailure(kind=FailureKind.EMPTY_RESPONSE, message="the answer has no body", status=200)
    return classify(provider, 200, {}, body, in_stream=True)


def cut(what: str, *, delivered: bool) -> ProviderFailure:
    """A stream without its terminator. `what` it lacked."""
    text = f"the stream ended before {what}"
    return ProviderFailure(kind=FailureKind.TRUNCATED, message=text, replay_safe=not delivered)


def sdk_failure(provider: str, sdk: Any, error: Exception, *, replay_safe: bool) -> ProviderFailure:
    """What an exception of the `anthropic` or `openai` SDK, or of the HTTP library under it, means.

    Raises `error` again when it is none of theirs.
    """
    if isinstance(error, sdk.APIStatusError):
        body = error.body if error.body not in (None, "") else error.response.text if _was_read(error.response) else ""
        status, headers = error.status_code, error.response.headers
        failure = classify(provider, status, headers, body, in_stream=status < 300)
        return msgspec.structs.replace(failure, replay_safe=replay_safe)
    cause = error.__cause__ if isinstance(error, sdk.APIConnectionError) and error.__cause__ else error
    if isinstance(error, sdk.APIError) and not isinstance(error, sdk.APIConnectionError) and error.body:
        failure = classify(provider, None, {}, error.body, in_stream=True)  # an error among the events of a stream
        return msgspec.structs.replace(failure, replay_safe=replay_safe)
    kind = transport_kind(cause) or (FailureKind.TIMEOUT if isinstance(error, sdk.APITimeoutError) else None)
    if kind is None and isinstance(error, sdk.APIError | ValueError):
        kind = FailureKind.TRANSPORT  # bytes that are no JSON, events that make no sense
    if kind is None:
        raise error
    return transport_failure(kind, cause, replay_safe=replay_safe)


def transport_failure(kind: FailureKind, cause: BaseException, *, replay_safe: bool) -> ProviderFailure:
    text = f"{type(cause).__name__}: {cause}".removesuffix(": ")
    return ProviderFailure(kind=kind, message=text, replay_safe=replay_safe, raw={"error": text})


def transport_kind(cause: BaseException | None) -> FailureKind | None:
    """What an exception of the HTTP library, or of JSON that it brought, means; None for another one."""
    import httpx2

    if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return FailureKind.BAD_REQUEST  # the address itself is wrong: no retry can help
    if isinstance(cause, httpx2.TimeoutException):
        return FailureKind.TIMEOUT
    if isinstance(cause, httpx2.RemoteProtocolError) and "complete message body" in str(cause):
        return FailureKind.TRUNCATED
    if isinstance(cause, httpx2.HTTPError):
        return FailureKind.TRANSPORT
    if isinstance(cause, json.JSONDecodeError):
        text = cause.doc.strip()
        if not text:
            return FailureKind.EMPTY_RESPONSE
        return FailureKind.TRUNCATED if text[0] == "{" and text[-1] != "}" else FailureKind.TRANSPORT
    return None


def _was_read(response: Any) -> bool:
    return bool(getattr(response, "is_stream_consumed", True)) and hasattr(response, "_content")
