"""Gemini over the official SDK, `google-genai`.

Facts: the API documentation and SDK 3.x, which never retries unless told to, takes its HTTP client from
`httpx_async_client`, and ends quietly when a stream is cut. Every chunk is a whole response; a call comes in one piece,
without an id; an answer is complete with its `finishReason`, and the figures are cumulative.
"""

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec

from claw.core.calls import ModelRequest, Provider
from claw.core.classify import classify
from claw.core.errors import ClawError, FailureKind, ProviderError, ProviderFailure
from claw.core.stream import MessageEnd, MessageStart, Stop, StreamEvent
from claw.core.usage import Usage
from claw.ports import ModelFacts
from claw.providers._gemini_request import SIGNED, build
from claw.providers._shared import Parts, count, cut, transport_failure, transport_kind

BASE_URL = "https://generativelanguage.googleapis.com"
STOPS: dict[str, Stop] = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens"}
STOPS |= dict.fromkeys(
    (
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    ),
    "refusal",
)
FAILED: dict[str, FailureKind] = {  # an answer that is none; asked again, it often comes
    "MALFORMED_FUNCTION_CALL": FailureKind.EMPTY_RESPONSE,
    "UNEXPECTED_TOOL_CALL": FailureKind.EMPTY_RESPONSE,
    "TOO_MANY_TOOL_CALLS": FailureKind.EMPTY_RESPONSE,
    "MALFORMED_RESPONSE": FailureKind.EMPTY_RESPONSE,
    "MISSING_THOUGHT_SIGNATURE": FailureKind.POISONED_HISTORY,
}


def connect(*, base_url: str | None, key: str, http_client: Any, facts: Callable[[str], ModelFacts]) -> Provider:
    """An adapter for one account. Imports the SDK, which takes over a second the first time."""
    if not key:
        raise ClawError("no key for gemini: set GEMINI_API_KEY, or add a [[profiles]] entry to config.toml")
    from google import genai
    from google.genai import types

    read = http_client.timeout.read
    options = types.HttpOptions(
        base_url=base_url or BASE_URL,
        httpx_async_client=http_client,
        timeout=int(read * 1000) if read else None,  # else the SDK switches the client's own off
    )
    return GeminiProvider(genai.Client(api_key=key, vertexai=False, http_options=options), facts=facts)


class GeminiProvider:
    """`claw.core.calls.Provider` for `generateContent`. `client` is a `genai.Client` that never retries."""

    api = "gemini"

    def __init__(self, client: Any, *, facts: Callable[[str], ModelFacts]) -> None:
        self._client = client
        self._facts = facts

    async def call(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One call. Raises `ProviderError`; after visible text or a tool call it is not `replay_safe`."""
        arguments = build(request, thinking=self._facts(request.model).thinking)
        reading = _Reading()
        stream: Any = None
        try:
            if not request.stream:
                answer = await self._client.aio.models.generate_content(**arguments)
                for event in _sound(reading, answer):
                    yield event
            else:
                stream = await self._client.aio.models.generate_content_stream(**arguments)
                async for chunk in stream:
                    for event in _sound(reading, chunk):
                        yield event
        except ProviderError:
            raise
        except Exception as error:
            if reading.stop is None:
                raise ProviderError(_failure(error, replay_safe=not reading.parts.delivered)) from error
        finally:
            if stream is not None:
                await stream.aclose()
        if reading.stop is None:
            raise ProviderError(reading.missing())
        for event in reading.end():
            yield event


class _Reading:
    """One answer, chunk by chunk."""

    def __init__(self) -> None:
        self.parts = Parts()
        self.stop: Stop | None = None
        self._id = ""
        self._usage: Any = None
        self._started = False
        self._kind = ""
        self._at = 0  # parts of one kind that follow each other are one part

    def feed(self, chunk: Any) -> Iterator[StreamEvent]:
        if not self._started:
            self._started = True
            self._id = chunk.response_id or ""
            yield MessageStart(self._id, chunk.model_version or "")
        self._usage = chunk.usage_metadata or self._usage
        blocked = getattr(chunk.prompt_feedback, "block_reason", None)
        if blocked:
            message = f"the prompt was blocked: {_word(blocked)}"
            raise ProviderError(ProviderFailure(kind=FailureKind.REFUSED, message=message))
        for candidate in chunk.candidates or ():
            if candidate.index:
                continue  # one answer was asked for
            for part in (candidate.content.parts if candidate.content else None) or ():
                yield from self._part(part)
            if candidate.finish_reason:
                self._finish(_word(candidate.finish_reason), candidate.finish_message)

    def _part(self, part: Any) -> Iterator[StreamEvent]:
        if part.thought_signature:
            self._turn("signature")
            key = self._key()
            yield from self.parts.start(key, "thinking")
            yield from self.parts.end(key, signature=SIGNED + base64.b64encode(part.thought_signature).decode())
            self._kind = "signature ended"
        if part.function_call is not None:
            self._turn("")
            call, key = part.function_call, self._key()
            id = call.id or f"{call.name}-{self._id or 'call'}-{self._at}"
            yield from self.parts.start(key, "tool_call", id=id, name=call.name or "")
            yield from self.parts.add(key, "tool_call", msgspec.json.encode(call.args or {}).decode())
            yield from self.parts.end(key)
        elif part.text:
            kind = "thinking" if part.thought else "text"
            if kind != self._kind:
                self._turn(kind)
            yield from self.parts.add(self._key(), "thinking" if part.thought else "text", part.text)

    def _key(self) -> tuple[str, int]:
        return self._kind, self._at

    def _turn(self, kind: str) -> None:
        self._kind, self._at = kind, self._at + 1

    def _finish(self, reason: str, message: str | None) -> None:
        if reason in FAILED:
            text = f"the answer ended with {reason}" + (f": {message}" if message else "")
            raise ProviderError(
                ProviderFailure(kind=FAILED[reason], message=text, replay_safe=not self.parts.delivered)
            )
        self.stop = STOPS.get(reason, "end_turn")

    def missing(self) -> ProviderFailure:
        """No chunk at all is an empty answer, which a gateway in trouble gives; some are a cut one."""
        if not self._started:
            return ProviderFailure(kind=FailureKind.TRUNCATED, message="the stream ended before it began")
        return cut("finishReason", delivered=self.parts.delivered)

    def end(self) -> Iterator[StreamEvent]:
        yield from self.parts.end_all()
        stop: Stop = self.stop or "end_turn"
        if stop == "end_turn" and "tool_call" in self.parts.kinds:
            stop = "tool_use"  # Gemini says STOP after calls too
        yield MessageEnd(stop, _usage(self._usage))


def _word(value: Any) -> str:
    return str(getattr(value, "value", value))


def _sound(reading: _Reading, chunk: Any) -> list[StreamEvent]:
    try:
        return list(reading.feed(chunk))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"the stream sent a chunk that makes no sense: {error}") from error


def _usage(usage: Any) -> Usage:
    """The prompt includes what the cache held; what tools read is beside it; thoughts are beside the answer."""
    cached = count(usage, "cached_content_token_count")
    prompt = count(usage, "prompt_token_count") + count(usage, "tool_use_prompt_token_count")
    thoughts = count(usage, "thoughts_token_count")
    return Usage(
        input=max(0, prompt - cached),
        cache_read=cached,
        output=count(usage, "candidates_token_count") + thoughts,
        reasoning=thoughts,
    )


def _failure(error: Exception, *, replay_safe: bool) -> ProviderFailure:
    """What an exception of the SDK, or of the HTTP library under it, means."""
    from google.genai import errors

    if isinstance(error, errors.APIError):
        headers = dict(getattr(error.response, "headers", None) or {})
        status = error.code if isinstance(error.code, int) else None
        failure = classify("gemini", status, headers, error.details, in_stream=status is None or status < 300)
        return msgspec.structs.replace(failure, replay_safe=replay_safe)
    cause = error.__cause__ or error
    kind = transport_kind(error) or transport_kind(cause)
    if kind is None and isinstance(error, ValueError):
        kind = FailureKind.TRANSPORT  # bytes that are no JSON, chunks that make no sense
    if kind is None:
        raise error
    return transport_failure(kind, error, replay_safe=replay_safe)
