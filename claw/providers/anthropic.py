"""Anthropic Messages over the official SDK.

Raw stream events are read (`create(stream=True)` costs half of `messages.stream()`); a call without streaming is turned
into the same events. Facts: the API documentation and SDK 2.x, whose mid-stream socket failures are raw httpx2 errors,
whose `error` events are status errors with status 200, and which ends quietly when a stream has no terminator.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec

from claw.core.calls import CacheRetention, ModelRequest, Provider, Thinking
from claw.core.classify import classify
from claw.core.errors import ClawError, FailureKind, ProviderError, ProviderFailure
from claw.core.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from claw.core.stream import MessageEnd, MessageStart, PartDelta, PartEnd, PartStart, Stop, StreamEvent
from claw.core.usage import Usage
from claw.ports import ModelFacts

BUDGETS: dict[Thinking, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
BUDGETS |= {"adaptive": 8192, "xhigh": 16_384, "max": 32_000}
EFFORTS: dict[Thinking, str] = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
EFFORTS |= {"max": "max"}
BASE_URL = "https://api.anthropic.com"
REFUSAL_TRIGGER = "ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL"
LEAST_BUDGET = LEAST_ANSWER = 1024  # tokens: the API's minimum for thinking, and what must be left for the answer
OWN_FIELDS = {"model", "messages", "system", "tools", "stream"}  # what configured parameters may not replace
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
            await _check_type(stream.response)
            async for raw in stream:
                for event in _sound(reading, raw):
                    yield event
        except ProviderError:
            raise
        except Exception as error:
            if reading.done:
                return  # the answer is complete; how the connection ended does not matter any more
            raise ProviderError(_failure(error, replay_safe=not reading.delivered)) from error
        finally:
            if stream is not None:
                await stream.close()
        if not reading.done:
            raise ProviderError(_cut(reading))


def build(request: ModelRequest, *, thinking: str) -> dict[str, Any]:
    """The arguments of `messages.create`. `thinking` is the model's kind (`claw.ports.ModelFacts.thinking`).

    Same request, same bytes: every dict is built in one order. Up to four cache breakpoints: the last tool, the last
    stable system block, the last block of the last user message, and of the one before it, where the previous call
    wrote, so that the API's 20 positions of lookback cannot miss it however much one turn added.
    """
    if wrong := sorted(OWN_FIELDS & set(request.params)):
        raise ClawError(f"params must not set {', '.join(wrong)}: claw sets it itself")
    mark = _mark(request.cache)
    system: list[dict[str, Any]] = [
        {"type": "text", "text": block.text} for block in request.system if block.text.strip()
    ]
    stable = [block.stable for block in request.system if block.text.strip()]
    tools = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in request.tools]
    messages = _messages(request.messages)
    if mark:
        last_stable = max((i for i, is_stable in enumerate(stable) if is_stable), default=None)
        if last_stable is not None:
            system[last_stable]["cache_control"] = mark
        if tools:
            tools[-1]["cache_control"] = mark
        for message in [m for m in messages if m["role"] == "user"][-2:]:
            message["content"][-1]["cache_control"] = mark
    arguments: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
    arguments |= {"system": system} if system else {}
    arguments |= {"tools": tools} if tools else {}
    arguments |= {"messages": messages} | _thinking(request, thinking)
    arguments |= {"metadata": {"user_id": request.session}} if request.session else {}
    extra = {name: value for name, value in request.params.items() if name != "betas"}
    arguments |= {"extra_body": extra} if extra else {}
    betas = [*request.params.get("betas", ())]
    if thinking == "budget" and "thinking" in arguments and tools:
        betas.append("interleaved-thinking-2025-05-14")
    return arguments | ({"extra_headers": {"anthropic-beta": ",".join(betas)}} if betas else {})


def _mark(retention: CacheRetention) -> dict[str, Any] | None:
    if retention == "none":
        return None
    return {"type": "ephemeral", "ttl": "1h"} if retention == "long" else {"type": "ephemeral"}


def _thinking(request: ModelRequest, kind: str) -> dict[str, Any]:
    """How this model is told to think, or not to. `max_tokens` stays as asked: the budget has to fit into it."""
    level = request.thinking
    if kind == "budget" and level != "off":
        budget = min(BUDGETS[level], request.max_tokens - LEAST_ANSWER)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= LEAST_BUDGET else {}
    if kind == "adaptive" and level == "off":
        return {"thinking": {"type": "disabled"}}  # some of these models think unless told not to
    if kind in ("adaptive", "always") and level != "off":
        effort = {"output_config": {"effort": EFFORTS[level]}} if level in EFFORTS else {}
        return {"thinking": {"type": "adaptive"}} | effort
    return {}


def _messages(history: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Turns that alternate: neighbours of one role become one message, tool results before everything else in it."""
    messages: list[dict[str, Any]] = []
    for message in history:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts if (block := _block(part)) is not None]
        if blocks and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    for turn in messages:
        turn["content"].sort(key=lambda block: block["type"] != "tool_result" and turn["role"] == "user")
    return messages


def _block(part: Part) -> dict[str, Any] | None:
    """A content block, or None for what the API would refuse: empty text, thinking without its signature."""
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": _defused(text)} if text.strip() else None
        case ThinkingPart(text=text, redacted=True):
            return {"type": "redacted_thinking", "data": text}
        case ThinkingPart(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature} if signature else None
        case ImagePart(media_type=media_type, data=data):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case ToolCallPart(id=id, name=name, input=input):
            return {"type": "tool_use", "id": _tool_id(id), "name": name, "input": input}
        case ToolResultPart(call_id=call_id, content=content, is_error=is_error):
            block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _tool_id(call_id)}
            blocks = [item for inner in content if (item := _block(inner)) is not None]
            block |= {"content": blocks} if blocks else {}
            return block | ({"is_error": True} if is_error else {})


def _defused(text: str) -> str:
    """Without Anthropic's test string that makes every model refuse: pasted into a session it would end it for good."""
    return text.replace(REFUSAL_TRIGGER, REFUSAL_TRIGGER.replace("_", " ")) if REFUSAL_TRIGGER in text else text


def _tool_id(id: str) -> str:
    """The id as the API takes it (`^[a-zA-Z0-9_-]+$`); another vendor's gets a name of its own, always the same."""
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id):
        return id
    digest = hashlib.sha256(id.encode()).hexdigest()[:12]
    return f"{re.sub(r'[^a-zA-Z0-9_-]', '', id)[:40]}_{digest}"


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
                if block.input:  # not streamed: some proxies put the whole input here
                    yield PartDelta(index, msgspec.json.encode(block.input).decode())

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
        raise ProviderError(_unexpected(message))
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


async def _check_type(response: Any) -> None:
    """A 200 that is no event stream: an error page, or an error as JSON. Some proxies only mislabel the stream."""
    content_type = response.headers.get("content-type", "")
    if "html" not in content_type and "json" not in content_type:
        return
    body = await response.aread()
    if not body.lstrip().startswith((b"event:", b"data:", b":")):
        raise ProviderError(classify("anthropic", response.status_code, response.headers, body, in_stream=True))


def _failure(error: Exception, *, replay_safe: bool) -> ProviderFailure:
    """What an exception of the SDK, or of the HTTP library under it, means."""
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        body = error.body if error.body not in (None, "") else ""
        status, headers = error.status_code, error.response.headers
        failure = classify("anthropic", status, headers, body, in_stream=status < 300)
        return msgspec.structs.replace(failure, replay_safe=replay_safe)
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) and error.__cause__ else error
    if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        kind = FailureKind.BAD_REQUEST  # the address itself is wrong: no retry can help
    elif isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        kind = FailureKind.TIMEOUT
    elif isinstance(error, httpx2.RemoteProtocolError) and "complete message body" in str(error):
        kind = FailureKind.TRUNCATED
    elif isinstance(error, anthropic.APIConnectionError | httpx2.TransportError):
        kind = FailureKind.TRANSPORT
    elif isinstance(error, ValueError | anthropic.APIError | httpx2.HTTPError):
        kind = FailureKind.TRANSPORT  # bytes that are no JSON, events that make no sense
    else:
        raise error
    text = f"{type(cause).__name__}: {cause}".removesuffix(": ")
    return ProviderFailure(kind=kind, message=text, replay_safe=replay_safe, raw={"error": text})


def _cut(reading: _Reading) -> ProviderFailure:
    text = "the stream ended before message_stop"
    return ProviderFailure(kind=FailureKind.TRUNCATED, message=text, replay_safe=not reading.delivered)


def _unexpected(answer: Any) -> ProviderFailure:
    """A 200 whose body is no message: a page of something in between, an error of a gateway, or nothing."""
    body = answer.to_dict() if hasattr(answer, "to_dict") else answer
    if not body:
        return ProviderFailure(kind=FailureKind.EMPTY_RESPONSE, message="the answer has no body", status=200)
    return classify("anthropic", 200, {}, body, in_stream=True)
