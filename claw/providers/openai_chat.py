"""OpenAI Chat Completions over the official SDK, for OpenAI and the servers that speak like it (`_compatible`).

Facts: the API documentation and SDK 3.x, which raises an `error` among the chunks, and ends quietly when a stream has
no `[DONE]`. An answer is complete with its `finish_reason`; the figures come in a chunk after it, or never.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec

from claw.core.calls import ModelRequest, Provider
from claw.core.classify import classify
from claw.core.errors import ClawError, FailureKind, ProviderError, ProviderFailure
from claw.core.stream import MessageEnd, MessageStart, Stop, StreamEvent
from claw.core.usage import Usage
from claw.ports import ModelFacts
from claw.providers._chat_request import build
from claw.providers._compatible import ANY, SERVERS, Server
from claw.providers._shared import Parts, check_type, count, cut, sdk_failure, unexpected
from claw.providers.openai import client

STOPS: dict[str, Stop] = {
    "stop": "end_turn",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "sensitive": "refusal",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window_exceeded",
}
FAILED: dict[str, FailureKind] = {  # ways in which gateways end an answer that has failed
    "error": FailureKind.SERVER_ERROR,
    "abort": FailureKind.SERVER_ERROR,
    "network_error": FailureKind.SERVER_ERROR,
    "malformed_response": FailureKind.SERVER_ERROR,
    "insufficient_system_resource": FailureKind.OVERLOADED,
}


def connect(
    *, base_url: str | None, key: str, http_client: Any, facts: Callable[[str], ModelFacts], name: str = "openai-chat"
) -> Provider:
    """An adapter for one account of the server `name`. Imports the SDK, which takes some time the first time."""
    server = SERVERS.get(name, ANY)
    address = base_url or server.base_url
    if address is None:
        raise ClawError(f"no address for {name}: set base_url in [providers.{name}] of config.toml")
    if not key and server.key_env:
        raise ClawError(f"no key for {name}: set {server.key_env}, or add a [[profiles]] entry to config.toml")
    return ChatProvider(client(address, key or "none", http_client), facts=facts, server=server, name=name)


class ChatProvider:
    """`claw.core.calls.Provider` for Chat Completions. `client` is an `openai.AsyncOpenAI` that never retries."""

    api = "openai-chat"

    def __init__(self, client: Any, *, facts: Callable[[str], ModelFacts], server: Server, name: str) -> None:
        self._client = client
        self._facts = facts
        self._server = server
        self._name = name

    async def call(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One call. Raises `ProviderError`; after visible text or a tool call it is not `replay_safe`."""
        arguments = build(request, thinking=self._facts(request.model).thinking, server=self._server)
        reading = _Reading(self._name)
        stream: Any = None
        try:
            answer = await self._client.chat.completions.create(**arguments, stream=request.stream)
            if not request.stream:
                for event in _sound(reading.whole, answer):
                    yield event
                return
            stream = answer
            await check_type(self._name, stream.response)
            async for raw in stream:
                for event in _sound(reading.feed, raw):
                    yield event
        except ProviderError:
            raise
        except Exception as error:
            if reading.stop is None:
                import openai

                failure = sdk_failure(self._name, openai, error, replay_safe=not reading.parts.delivered)
                raise ProviderError(failure) from error
        finally:
            if stream is not None:
                await stream.close()
        if reading.stop is None:
            raise ProviderError(cut("finish_reason", delivered=reading.parts.delivered))
        for event in reading.end():
            yield event


class _Reading:
    """One answer, chunk by chunk."""

    def __init__(self, name: str) -> None:
        self.parts = Parts()
        self.stop: Stop | None = None
        self._name = name
        self._usage = Usage()
        self._started = False
        self._refused = False
        self._calls: dict[int, int] = {}  # the call's index → how many calls have had this index
        self._ids: dict[tuple[str, int, int], str] = {}

    def feed(self, chunk: Any) -> Iterator[StreamEvent]:
        if not self._started:
            self._started = True
            yield MessageStart(chunk.id or "", chunk.model or "")
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        for choice in chunk.choices or ():
            if choice.index:
                continue  # one answer was asked for
            if choice.delta is not None:
                yield from self._delta(choice.delta)
            self._finish(choice)
        if (usage := getattr(chunk.choices[0], "usage", None) if chunk.choices else None) is not None:
            self._usage = _usage(usage)  # Moonshot puts the figures into the choice

    def _delta(self, delta: Any) -> Iterator[StreamEvent]:
        for name in ("reasoning_content", "reasoning"):
            if isinstance(said := getattr(delta, name, None), str) and said:
                yield from self.parts.add("thinking", "thinking", said)
                break
        if isinstance(delta.content, str) and delta.content:
            yield from self.parts.add("text", "text", delta.content)
        if refusal := getattr(delta, "refusal", None):
            self._refused = True
            yield from self.parts.add("text", "text", refusal)
        for call in delta.tool_calls or ():
            yield from self._call(call)

    def _call(self, call: Any) -> Iterator[StreamEvent]:
        """A piece of a call. Some servers give every call of a turn the index 0: a new id then begins a new one."""
        at = call.index or 0
        key = ("call", at, self._calls.get(at, 0))
        function = call.function
        name, arguments = (function.name or "", function.arguments or "") if function else ("", "")
        if call.id and self.parts.known(key) and call.id != self._ids.get(key):
            self._calls[at] = self._calls.get(at, 0) + 1
            yield from self.parts.end(key)
            key = ("call", at, self._calls[at])
        if not self.parts.known(key):
            self._ids[key] = call.id or ""
            yield from self.parts.start(key, "tool_call", id=call.id or "", name=name)
        yield from self.parts.add(key, "tool_call", arguments)

    def whole(self, answer: Any) -> Iterator[StreamEvent]:
        """The events of an answer that came in one piece."""
        if not getattr(answer, "choices", None):
            raise ProviderError(unexpected(self._name, answer))
        yield MessageStart(answer.id or "", answer.model or "")
        choice = answer.choices[0]
        message = choice.message
        for at, call in enumerate(message.tool_calls or ()):
            call.index = at
        yield from self._delta(message)
        self._finish(choice)
        self._usage = _usage(answer.usage)
        if self.stop is None:
            raise ProviderError(cut("finish_reason", delivered=self.parts.delivered))
        yield from self.end()

    def _finish(self, choice: Any) -> None:
        reason = choice.finish_reason
        if not reason:
            return
        if reason in FAILED:
            text = f"the answer ended with finish_reason: {reason}"
            failure = ProviderFailure(kind=FAILED[reason], message=text)
            if error := getattr(choice, "error", None):
                failure = classify(self._name, None, {}, {"error": error}, in_stream=True)
            raise ProviderError(msgspec.structs.replace(failure, replay_safe=not self.parts.delivered))
        self.stop = STOPS.get(reason, "end_turn")

    def end(self) -> Iterator[StreamEvent]:
        yield from self.parts.end_all()
        stop: Stop = self.stop or "end_turn"
        if stop == "end_turn" and "tool_call" in self.parts.kinds:
            stop = "tool_use"  # some servers say `stop` after calls
        yield MessageEnd("refusal" if self._refused else stop, self._usage)


def _sound(feed: Callable[[Any], Iterator[StreamEvent]], raw: Any) -> list[StreamEvent]:
    """The SDK builds chunks without checking them: one that lacks its fields is told as unreadable."""
    try:
        return list(feed(raw))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"the stream sent a chunk that makes no sense: {error}") from error


def _usage(usage: Any) -> Usage:
    """Inclusive figures made disjoint. Cached tokens stand where the server puts them: DeepSeek and Kimi beside, the
    others inside `prompt_tokens_details`; written ones, where told, are of the shorter lifetime."""
    cached = count(usage, "prompt_tokens_details", "cached_tokens") or count(usage, "cached_tokens")
    cached = cached or count(usage, "prompt_cache_hit_tokens")
    written = count(usage, "prompt_tokens_details", "cache_write_tokens")
    prompt = count(usage, "prompt_tokens")
    reasoning = count(usage, "completion_tokens_details", "reasoning_tokens")
    # xAI counts reasoning beside the completion: the total tells.
    beside = prompt + count(usage, "completion_tokens") + reasoning == count(usage, "total_tokens")
    return Usage(
        input=max(0, prompt - cached - written),
        cache_read=cached,
        cache_write_5m=written,
        output=count(usage, "completion_tokens") + (reasoning if beside else 0),
        reasoning=reasoning,
    )
