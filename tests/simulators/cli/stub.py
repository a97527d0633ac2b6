"""A tiny scripted provider for the fakes' tests: exact usage figures, any status, any break, and what it received."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.core.wire import Abort, Chunk, Ended, Head, Request, Wait, WireEvent
from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import VirtualClock

USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}


@dataclass(frozen=True)
class Say:
    """An answer: text, thinking and tool calls, with the usage that will be reported."""

    text: str | None = None
    thinking: str | None = None
    calls: Sequence[Mapping[str, Any]] = ()
    stop: str | None = None
    input: int = 10
    write: int = 0
    write_1h: int = 0  # the part of `write` that lasts an hour
    read: int = 0
    output: int = 5
    cut_after: int | None = None  # events, then the connection breaks
    error_after: int | None = None  # events, then an error event
    wait: float = 0.0
    stop_details: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Refuse:
    """An HTTP error in the vendor's envelope."""

    status: int
    type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Bytes as they stand; None closes the connection without an answer."""

    body: bytes | None
    content_type: str = "text/event-stream"


Reply = Say | Refuse | Raw


class _Answer:
    def __init__(self, events: Sequence[WireEvent], ended: list[str]) -> None:
        self._events, self._ended = events, ended

    def __iter__(self) -> Iterator[WireEvent]:
        return iter(self._events)

    def close(self, now: float, why: Ended) -> None:
        self._ended.append(why)


class Stub:
    """Answers with `replies` in order, the last one for ever. `bodies` is what was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.clock = VirtualClock()
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.ended: list[str] = []

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(r.body) for r in self.requests]

    def handle(self, request: Request) -> _Answer:
        self.requests.append(request)
        self.times.append(self.clock.now())
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        return _Answer(list(_events(reply, json.loads(request.body), len(self.requests))), self.ended)


_HEADERS = (("request-id", "req_stub000000000000000000"),)


def _events(reply: Reply, body: Mapping[str, Any], n: int) -> Iterator[WireEvent]:
    if isinstance(reply, Raw):
        if reply.body is None:
            yield Abort("reset")
            return
        yield Head(200, (("content-type", reply.content_type), *_HEADERS))
        yield Chunk(reply.body)
    elif isinstance(reply, Refuse):
        error = {"type": "error", "error": {"type": reply.type, "message": reply.message}, "request_id": _HEADERS[0][1]}
        yield Head(reply.status, (("content-type", "application/json"), *_HEADERS, *reply.headers.items()))
        yield Chunk(json.dumps(error).encode())
    elif not body.get("stream"):
        yield Head(200, (("content-type", "application/json"), *_HEADERS))
        yield Chunk(json.dumps(_message(reply, body["model"], n)).encode())
    else:
        yield Head(200, (("content-type", "text/event-stream"), *_HEADERS))
        if reply.wait:
            yield Wait(reply.wait)
        for i, event in enumerate(_stream(reply, body["model"], n)):
            if i == reply.cut_after:
                yield Abort("reset")
                return
            if i == reply.error_after:
                event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            yield Chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            if i == reply.error_after:
                return


def _usage(say: Say) -> dict[str, Any]:
    split = {"ephemeral_5m_input_tokens": say.write - say.write_1h, "ephemeral_1h_input_tokens": say.write_1h}
    figures = {"input_tokens": say.input, "cache_creation_input_tokens": say.write, "cache_read_input_tokens": say.read}
    more = {"cache_creation": split, "service_tier": "standard", "inference_geo": "not_available"}
    return {**figures, "output_tokens": say.output, **more}


def _blocks(say: Say) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if say.thinking is not None:
        blocks.append({"type": "thinking", "thinking": say.thinking, "signature": "c3R1Yg=="})
    if say.text is not None:
        blocks.append({"type": "text", "text": say.text})
    return blocks + [{"type": "tool_use", **call} for call in say.calls]


def _message(say: Say, model: str, n: int) -> dict[str, Any]:
    stop = say.stop or ("tool_use" if say.calls else "end_turn")
    head = {"id": f"msg_{n:024x}", "type": "message", "role": "assistant", "model": model}
    return {**head, "content": _blocks(say), "stop_reason": stop, "stop_sequence": None, "usage": _usage(say)}


def _stream(say: Say, model: str, n: int) -> Iterator[dict[str, Any]]:
    message = _message(say, model, n)
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        yield from _block(index, block)
    delta: dict[str, Any] = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    if say.stop_details is not None:
        delta["stop_details"] = dict(say.stop_details)
    usage = {k: message["usage"][k] for k in USAGE}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _block(index: int, block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    def delta(kind: str, key: str, value: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: value}}

    empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
    yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty[block["type"]]}}
    if block["type"] == "text":
        half = len(block["text"]) // 2
        for part in (block["text"][:half], block["text"][half:]):
            yield delta("text_delta", "text", part)
    elif block["type"] == "thinking":
        yield delta("thinking_delta", "thinking", block["thinking"])
        yield delta("signature_delta", "signature", block["signature"])
    else:
        yield delta("input_json_delta", "partial_json", json.dumps(block["input"]))
    yield {"type": "content_block_stop", "index": index}


@dataclass
class Run:
    """One finished run of a fake."""

    exit: int
    stdout: bytes
    stderr: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        return self.events[-1]

    def shape(self) -> list[tuple[str, str | None]]:
        return [(e["type"], e.get("subtype")) for e in self.events]


STREAM = ("--output-format", "stream-json", "--verbose")


async def claude(
    processes: FakeProcesses,
    *argv: str,
    home: Any,
    stdin: bytes = b"",
    cwd: Any = None,
    ends_after: float | None = None,
    **env: str,
) -> Run:
    """Run the fake to its end under the running loop; after `ends_after` seconds it is sent SIGTERM."""
    base = {"HOME": str(home), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-ant-test-000"}
    base["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:34483"
    process = await processes.spawn(("claude", *argv), cwd=str(cwd or home), env={**base, **env}, stdin=stdin)

    async def all_of(stream: Any) -> bytes:
        return b"".join([chunk async for chunk in stream])

    if ends_after is not None:
        asyncio.get_running_loop().call_later(ends_after, process.terminate)
    out, err = await asyncio.gather(all_of(process.stdout()), all_of(process.stderr()))
    return Run(await process.wait(), out, err)
