"""Anthropic Messages over the official SDK.

Raw stream events are read (`create(stream=True)` costs half of `messages.stream()`); a call without streaming is turned
into the same events. Facts: the API documentation and SDK 2.x, whose mid-stream socket failures are raw httpx2 errors,
whose `error` events are status errors with status 200, and which ends quietly when a stream has no terminator.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec

from claw.core.calls import CacheRetention, ModelRequest, Provider
from claw.core.errors import ClawError, ProviderError
from claw.core.stream import MessageEnd, MessageStart, PartDelta, PartEnd, PartStart, Stop, StreamEvent
from claw.core.usage import Usage
from claw.ports import ModelFacts
from claw.providers._anthropic_request import build
from claw.providers._shared import check_type, cut, sdk_failure, unexpected

BASE_URL = "https://api.anthropic.com"
STOPS: dict[str, Stop] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "sensitive": "refusal",
    "pause_turn": "pause_turn",
    "compaction": "pause_turn",
    "model_context_window_exceeded": "context_window_exceeded",
}


def connect(*, base_url: str | None, key: str, http_client: Any, facts: Callable[[str], ModelFacts]) -> Provider:
    """An adapter for one account. Imports the SDK, which takes over a second the first time."""
    if not key:
        raise ClawError("no key for anthropic: set ANTHROPIC_API_KEY, or add a [[profiles]] entry to config.toml")
    import anthropic

    headers = {"anthropic-beta": "oauth-2025-04-20"} if key.startswith("sk-ant-oat") else {}
    client = anthropic.AsyncAnthropic(
        api_key=key,
        base_url=base_url or BASE_URL,  # else the SDK looks into the environment, which is the caller's to do
        max_retries=0,
        http_client=http_client,
        timeout=http_client.timeout,
        default_headers=headers,
    )
    return AnthropicProvider(client, facts=facts)


class AnthropicProvider:
    """`claw.core.calls.Provider` for the Messages API. `client` is an `anthropic.AsyncAnthropic` that never retries."""

    api = "anthropic-messages"

    def __init__(self, client: Any, *, facts: Callable[[str], ModelFacts]) -> None:
        self._client = client
        self._facts = facts

    async def call(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One call. Raises `ProviderError`; after visible text or a tool call it is not `replay_safe`."""
        arguments = build(request, thinking=self._facts(request.model).thinking)
        reading = _Reading(request.cache)
        stream: Any = None
        try:
            answer = await self._client.messages.create(**arguments, stream=request.stream)
            if not request.stream:
                for event in _whole(answer, request.cache):
                    yield event
                return
            stream = answer
            await check_type("anthropic", stream.response)
            async for raw in stream:
                for event in _sound(reading, raw):
                    yield event
        except ProviderError:
            raise
        except Exception as error:
            if reading.done:
                return  # the answer is complete; how the connection ended does not matter any more
            import anthropic

            failure = sdk_failure("anthropic", anthropic, error, replay_safe=not reading.delivered)
            raise ProviderError(failure) from error
        finally:
            if stream is not None:
                await stream.close()
        if not reading.done:
            raise ProviderError(cut("message_stop", delivered=reading.delivered))


class _Reading:
    """One stream, event by event: what is open, what has been delivered, what it cost."""

    def __init__(self, cache: CacheRetention) -> None:
        self.done = False
        self.delivered = False
        self._cache = cache
        self._open: dict[int, str] = {}  # index → signature so far
        self._known: dict[int, str] = {}  # index → kind; "" for blocks that claw does not use
        self._started = False
        self._counts: dict[str, int] = {}
        self._stop: str | None = None

    def feed(self, raw: Any) -> Iterator[StreamEvent]:
        if self.done:
            return
        match raw.type:
            case "content_block_delta":
                yield from self._delta(raw.index, raw.delta)
            case "message_start" if not self._started:
                self._started = True
                self._count(raw.message.usage)
                yield MessageStart(raw.message.id, raw.message.model, _usage(self._counts, self._cache))
            case "content_block_start" if raw.index not in self._known:
                yield from self._start(raw.index, raw.content_block)
            case "content_block_stop":
                yield from self._end(raw.index)
            case "message_delta":
                self._stop = getattr(raw.delta, "stop_reason", None) or self._stop
                self._count(getattr(raw, "usage", None))
            case "message_stop" if self._stop is not None:
                for index in sorted(self._open):
                    yield from self._end(index)
                self.done = True
                yield MessageEnd(_stop(self._stop, self._known.values()), _usage(self._counts, self._cache))

    def _start(self, index: int, block: Any) -> Iterator[StreamEvent]:
        kind = {"text": "text", "thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "tool_call"}
        self._known[index] = kind.get(block.type, "")
        match block.type:
            case "text":
                self._open[index] = ""
                yield PartStart(index=index, kind="text")
                yield from self._text(index, block.text)
            case "thinking":
                self._open[index] = getattr(block, "signature", None) or ""
                yield PartStart(index=index, kind="thinking")
                if block.thinking:
                    yield PartDelta(index, block.thinking)
            case "redacted_thinking":
                yield PartStart(index=index, kind="thinking")
                yield PartDelta(index, block.data)
                yield PartEnd(index=index, redacted=True)
            case "tool_use":
                self._open[index] = ""
                self.delivered = True
                yield PartStart(index=index, kind="tool_call", id=block.id or "", name=block.name or "")
                if block.input:  # an answer in one piece, or a proxy's; text is what no JSON could be made of
                    whole = block.input
                    yield PartDelta(index, whole if isinstance(whole, str) else msgspec.json.encode(whole).decode())

    def _delta(self, index: int, delta: Any) -> Iterator[StreamEvent]:
        if self._known.get(index) == "":
            return
        if index not in self._open:
            raise ValueError(f"the stream sent content for block {index}, which is not open")
        match delta.type:
            case "text_delta":
                yield from self._text(index, delta.text)
            case "input_json_delta":
                if delta.partial_json:
                    yield PartDelta(index, delta.partial_json)
            case "thinking_delta":
                yield PartDelta(index, delta.thinking)
            case "signature_delta":
                self._open[index] += delta.signature

    def _text(self, index: int, text: str) -> Iterator[StreamEvent]:
        if text:
            self.delivered = True
            yield PartDelta(index, text)

    def _end(self, index: int) -> Iterator[StreamEvent]:
        signature = self._open.pop(index, None)
        if signature is not None:
            yield PartEnd(index=index, signature=signature or None)

    def _count(self, usage: Any) -> None:
        """Figures are cumulative: a later one replaces, and one that a proxy left at zero does not."""
        for name, value in _numbers(usage).items():
            self._counts[name] = value if name == "output_tokens" else max(value, self._counts.get(name, 0))


def _whole(message: Any, cache: CacheRetention) -> Iterator[StreamEvent]:
    """The events of an answer that came in one piece."""
    if getattr(message, "type", None) != "message":
        raise ProviderError(unexpected("anthropic", message))
    reading = _Reading(cache)
    reading._count(message.usage)
    yield MessageStart(message.id, message.model, _usage(reading._counts, cache))
    for index, block in enumerate(message.content or ()):
        yield from reading._start(index, block)
        yield from reading._end(index)
    yield MessageEnd(_stop(message.stop_reason or "", reading._known.values()), _usage(reading._counts, cache))


def _stop(reason: str, kinds: Any) -> Stop:
    return STOPS.get(reason) or ("tool_use" if "tool_call" in kinds else "end_turn")


def _numbers(usage: Any) -> dict[str, int]:
    """The counters of a usage object by their names; those inside `cache_creation` and `output_tokens_details` too."""
    found: dict[str, int] = {}
    for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
        if isinstance(value := getattr(usage, name, None), int):
            found[name] = value
    for holder, names in (
        ("cache_creation", ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")),
        ("output_tokens_details", ("thinking_tokens",)),
    ):
        inner = getattr(usage, holder, None)
        for name in names:
            value = inner.get(name) if isinstance(inner, dict) else getattr(inner, name, None)
            if isinstance(value, int):
                found[name] = value
    return found


def _usage(counts: dict[str, int], cache: CacheRetention) -> Usage:
    """Anthropic's three input counters are disjoint. Writes without a split go to the lifetime that was asked for."""
    short, long = counts.get("ephemeral_5m_input_tokens", 0), counts.get("ephemeral_1h_input_tokens", 0)
    rest = max(0, counts.get("cache_creation_input_tokens", 0) - short - long)
    return Usage(
        input=counts.get("input_tokens", 0),
        cache_read=counts.get("cache_read_input_tokens", 0),
        cache_write_5m=short + (0 if cache == "long" else rest),
        cache_write_1h=long + (rest if cache == "long" else 0),
        output=counts.get("output_tokens", 0),
        reasoning=counts.get("thinking_tokens", 0),
    )


def _sound(reading: _Reading, raw: Any) -> list[StreamEvent]:
    """The SDK builds events without checking them: one that lacks its fields is told as unreadable."""
    try:
        return list(reading.feed(raw))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"the stream sent an event that makes no sense: {error}") from error
