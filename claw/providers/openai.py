"""OpenAI Responses over the official SDK (`create(stream=True)`; a call without streaming becomes the same events).

Facts: the API documentation and SDK 3.x, which yields `error` events instead of raising them unless they hold a nested
`error`, wraps failures in the middle of a stream into connection errors, and ends quietly without a terminator.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec

from claw.core.calls import ModelRequest, Provider
from claw.core.classify import classify
from claw.core.errors import ClawError, ProviderError, ProviderFailure
from claw.core.stream import MessageEnd, MessageStart, Stop, StreamEvent
from claw.core.usage import Usage
from claw.ports import ModelFacts
from claw.providers._openai_request import build, signed
from claw.providers._shared import Parts, check_type, count, cut, sdk_failure, unexpected

BASE_URL = "https://api.openai.com/v1"
INCOMPLETE: dict[str, Stop] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "steered": "pause_turn",
}


def connect(*, base_url: str | None, key: str, http_client: Any, facts: Callable[[str], ModelFacts]) -> Provider:
    """An adapter for one account. Imports the SDK, which takes some time the first time."""
    if not key:
        raise ClawError("no key for openai: set OPENAI_API_KEY, or add a [[profiles]] entry to config.toml")
    return ResponsesProvider(client(base_url or BASE_URL, key, http_client), facts=facts)


def client(base_url: str, key: str, http_client: Any) -> Any:
    """An SDK client that never retries. The address is always given: the SDK would look into the environment."""
    import openai

    return openai.AsyncOpenAI(
        api_key=key, base_url=base_url, max_retries=0, http_client=http_client, timeout=http_client.timeout
    )


class ResponsesProvider:
    """`claw.core.calls.Provider` for the Responses API. `client` is an `openai.AsyncOpenAI` that never retries."""

    api = "openai-responses"

    def __init__(self, client: Any, *, facts: Callable[[str], ModelFacts]) -> None:
        self._client = client
        self._facts = facts

    async def call(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One call. Raises `ProviderError`; after visible text or a tool call it is not `replay_safe`."""
        arguments = build(request, thinking=self._facts(request.model).thinking)
        reading = _Reading()
        stream: Any = None
        try:
            answer = await self._client.responses.create(**arguments, stream=request.stream)
            if not request.stream:
                for event in _sound(reading.whole, answer):
                    yield event
                return
            stream = answer
            await check_type("openai", stream.response)
            async for raw in stream:
                for event in _sound(reading.feed, raw):
                    yield event
        except ProviderError:
            raise
        except Exception as error:
            if reading.done:
                return  # the answer is complete; how the connection ended does not matter any more
            import openai

            failure = sdk_failure("openai", openai, error, replay_safe=not reading.parts.delivered)
            raise ProviderError(failure) from error
        finally:
            if stream is not None:
                await stream.close()
        if not reading.done:
            raise ProviderError(cut("response.completed", delivered=reading.parts.delivered))


class _Reading:
    """One answer, event by event."""

    def __init__(self) -> None:
        self.parts = Parts()
        self.done = False
        self._started = False
        self._refused = False
        self._last = (-1, "")

    def feed(self, raw: Any) -> Iterator[StreamEvent]:
        if self.done or self._again(raw):
            return
        match raw.type:
            case "response.output_text.delta":
                yield from self.parts.add(_text_key(raw), "text", raw.delta)
            case "response.function_call_arguments.delta":
                yield from self.parts.add(("call", raw.output_index), "tool_call", raw.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._think(raw)
            case "response.refusal.delta":
                self._refused = True
                yield from self.parts.add(_text_key(raw), "text", raw.delta)
            case "response.created" | "response.in_progress" | "response.queued":
                yield from self._begin(raw.response)
            case "response.output_item.added" if raw.item.type == "function_call":
                yield from self._call(raw.output_index, raw.item)
            case "response.output_item.done":
                yield from self._item(raw.output_index, raw.item)
            case "response.completed" | "response.incomplete":
                yield from self._end(raw.response)
            case "response.failed" | "error":
                raise ProviderError(self._failed(raw))

    def whole(self, response: Any) -> Iterator[StreamEvent]:
        """The events of an answer that came in one piece."""
        if getattr(response, "object", None) != "response":
            raise ProviderError(unexpected("openai", response))
        if response.status in ("failed", "cancelled"):
            raise ProviderError(self._failed(response))
        if response.status in ("queued", "in_progress"):
            raise ProviderError(cut("the answer did", delivered=False))
        yield from self._begin(response)
        for index, item in enumerate(response.output or ()):
            if item.type == "function_call":
                yield from self._call(index, item)
            yield from self._item(index, item)
        yield from self._end(response)

    def _again(self, raw: Any) -> bool:
        """Events are numbered: one that comes twice is skipped, one that comes too late makes no sense."""
        number = getattr(raw, "sequence_number", None)
        if not isinstance(number, int):
            return False
        if (number, raw.type) == self._last and number > 0:
            return True
        if number < self._last[0]:
            raise ValueError(f"event {number} came after event {self._last[0]}")
        self._last = (number, raw.type)
        return False

    def _begin(self, response: Any) -> Iterator[StreamEvent]:
        if not self._started:
            self._started = True
            yield MessageStart(response.id or "", getattr(response, "model", None) or "")

    def _call(self, at: int, item: Any) -> Iterator[StreamEvent]:
        yield from self.parts.start(("call", at), "tool_call", id=item.call_id or "", name=item.name or "")

    def _think(self, raw: Any) -> Iterator[StreamEvent]:
        """Paragraphs of a summary follow each other after a blank line, in the part of their item."""
        key, part = ("reasoning", raw.output_index), getattr(raw, "summary_index", getattr(raw, "content_index", 0))
        first = ("paragraph", raw.output_index, part)
        gap = "\n\n" if part and self.parts.known(key) and not self.parts.known(first) else ""
        self.parts.note(first)
        yield from self.parts.add(key, "thinking", gap + raw.delta)

    def _item(self, at: int, item: Any) -> Iterator[StreamEvent]:
        """An item is complete. What was not streamed of it is told now."""
        if item.type == "message":
            for index, content in enumerate(item.content or ()):
                key = ("text", at, index)
                self._refused = self._refused or content.type == "refusal"
                if not self.parts.known(key):
                    said = content.refusal if content.type == "refusal" else content.text
                    yield from self.parts.add(key, "text", said)
                yield from self.parts.end(key)
        elif item.type == "function_call":
            call = ("call", at)
            yield from self._call(at, item)
            if not self.parts.filled(call):
                yield from self.parts.add(call, "tool_call", item.arguments)
            yield from self.parts.end(call)
        elif item.type == "reasoning":
            yield from self._reasoned(at, item)

    def _reasoned(self, at: int, item: Any) -> Iterator[StreamEvent]:
        key = ("reasoning", at)
        if not self.parts.known(key):
            said = [part.text for part in (item.summary or getattr(item, "content", None) or ())]
            if said or getattr(item, "encrypted_content", None):
                yield from self.parts.start(key, "thinking")
                yield from self.parts.add(key, "thinking", "\n\n".join(said))
        yield from self.parts.end(key, signature=signed(item))

    def _end(self, response: Any) -> Iterator[StreamEvent]:
        yield from self._begin(response)
        yield from self.parts.end_all()
        self.done = True
        yield MessageEnd(self._stop(response), _usage(response.usage))

    def _stop(self, response: Any) -> Stop:
        reason = getattr(response.incomplete_details, "reason", None)
        if response.status == "incomplete" and reason is not None:
            return INCOMPLETE.get(reason, "max_tokens")
        if self._refused:
            return "refusal"
        return "tool_use" if "tool_call" in self.parts.kinds else "end_turn"

    def _failed(self, raw: Any) -> ProviderFailure:
        failure = classify("openai", None, {}, raw.to_dict(), in_stream=True)
        return msgspec.structs.replace(failure, replay_safe=not self.parts.delivered)


def _text_key(raw: Any) -> tuple[str, int, int]:
    """Other servers leave out the indexes where there is only one item, or one part of it."""
    return "text", getattr(raw, "output_index", None) or 0, getattr(raw, "content_index", None) or 0


def _sound(feed: Callable[[Any], Iterator[StreamEvent]], raw: Any) -> list[StreamEvent]:
    """The SDK builds events without checking them: one that lacks its fields is told as unreadable."""
    try:
        return list(feed(raw))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"the stream sent an event that makes no sense: {error}") from error


def _usage(usage: Any) -> Usage:
    """OpenAI's input includes what was read from the cache and written to it. Its shorter lifetime, 30 minutes, stands
    with Anthropic's 5, its longer, 12 hours, with Anthropic's hour."""
    cached = count(usage, "input_tokens_details", "cached_tokens")
    written = count(usage, "input_tokens_details", "cache_write_tokens")
    long = count(usage, "input_tokens_details", "cache_write_tokens_details", "ttl_12h_tokens")
    return Usage(
        input=max(0, count(usage, "input_tokens") - cached - written),
        cache_read=cached,
        cache_write_5m=max(0, written - long),
        cache_write_1h=min(long, written),
        output=count(usage, "output_tokens"),
        reasoning=count(usage, "output_tokens_details", "reasoning_tokens"),
    )
