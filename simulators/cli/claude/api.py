"""One attempt at a model call: sends the request, folds the stream, and tells block by block what came.

An attempt never raises; it ends as an `Answer` or as a `Trouble`. What to do with a trouble is `calls.py`'s matter.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.cli.claude.errors import Kind, Trouble, from_response
from simulators.cli.claude.usage import merge
from simulators.cli.effects import Call, CallFailed, Effect, Hangup, NextChunk, Now, Reply
from simulators.cli.sse import SseError, SseReader

Message = dict[str, Any]
Steps = Generator[Effect, Any, None]


@dataclass(slots=True)
class Answer:
    """A whole message. `starting` is the message as `message_start` had it (stop reason unknown, output not final)."""

    message: Message
    starting: Message
    request_id: str | None
    streamed: bool
    first_event_at: float | None = None
    cut: bool = False  # the stream broke after a whole block; the message has only the whole ones


@dataclass(slots=True)
class Listener:
    """Who hears of a stream while it runs: each raw event, and each block when it is whole."""

    event: Callable[[Message, Mapping[str, Any]], Steps]
    block: Callable[[Message, Message, str | None], Steps]

    @classmethod
    def deaf(cls) -> "Listener":
        """One that takes no notice."""
        return cls(event=lambda *_: iter_nothing(), block=lambda *_: iter_nothing())


def iter_nothing() -> Steps:
    """Effects that end at once."""
    return
    yield


@dataclass(slots=True)
class _Fold:
    message: Message = field(default_factory=dict)
    blocks: dict[int, Message] = field(default_factory=dict)
    partial: dict[int, str] = field(default_factory=dict)
    whole: list[Message] = field(default_factory=list)
    stopped: bool = False
    failed: Trouble | None = None

    def take(self, data: Mapping[str, Any]) -> Message | None:
        """Apply an event; the block that it completes, if any."""
        kind = data.get("type")
        index = data.get("index", 0)
        if kind == "message_start":
            self.message = dict(data["message"])
        elif kind == "content_block_start":
            self.blocks[index] = dict(data["content_block"])
            self.partial[index] = ""
        elif kind == "content_block_delta":
            self._delta(index, data["delta"])
        elif kind == "content_block_stop" and index in self.blocks:
            return self._whole(index)
        elif kind == "message_delta":
            self.message |= {
                k: v for k, v in data.get("delta", {}).items() if k in ("stop_reason", "stop_sequence", "stop_details")
            }
            self.message["usage"] = merge(self.message.get("usage", {}), data.get("usage") or {})
        elif kind == "message_stop":
            self.stopped = True
        elif kind == "error":
            error = data.get("error") or {}
            self.failed = Trouble("error_event", str(error.get("message", "")), type=str(error.get("type", "")))
        return None

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self.blocks.setdefault(index, {"type": "text", "text": ""})
        for key, target in (("text", "text"), ("thinking", "thinking"), ("signature", "signature")):
            if key in delta:
                block[target] = block.get(target, "") + delta[key]
        if "partial_json" in delta:
            self.partial[index] = self.partial.get(index, "") + delta["partial_json"]

    def _whole(self, index: int) -> Message:
        block = self.blocks[index]
        if "input" in block and self.partial.get(index):
            try:
                block["input"] = json.loads(self.partial[index])
            except ValueError:
                block["input"] = {}
        self.whole.append(block)
        return block


def attempt(
    url: str, headers: Sequence[tuple[str, str]], body: bytes, *, stream: bool, listener: Listener
) -> Generator[Effect, Any, Answer | Trouble]:
    """Send once and read the answer. A stream that breaks before its first whole block is trouble, later an answer."""
    reply = yield Call("POST", url, headers, body)
    if isinstance(reply, CallFailed):
        return Trouble("connect", reply.message, streamed=stream)
    assert isinstance(reply, Reply)
    names = {name.lower(): value for name, value in reply.headers}
    if reply.status != 200:
        data = yield from _read_all()
        return from_response(reply.status, names, data or b"", streamed=stream)
    if not stream:
        return (yield from _whole_answer(names))
    return (yield from _streamed(names, listener))


def _read_all() -> Generator[Effect, Any, bytes | None]:
    """The rest of the body, or None if the connection broke."""
    parts: list[bytes] = []
    while True:
        chunk = yield NextChunk()
        if isinstance(chunk, CallFailed):
            return None
        if not chunk:
            return b"".join(parts)
        parts.append(chunk)


def _whole_answer(headers: Mapping[str, str]) -> Generator[Effect, Any, Answer | Trouble]:
    data = yield from _read_all()
    if data is None:
        return Trouble("cut", headers=headers, streamed=False)
    try:
        message = json.loads(data)
        content = message["content"]
    except (ValueError, KeyError, TypeError):
        content = None
    if not isinstance(content, list):
        return Trouble("malformed", headers=headers, streamed=False, size=len(data), status=200)
    now = yield Now()
    return Answer(message, message, headers.get("request-id"), streamed=False, first_event_at=now)


def _streamed(headers: Mapping[str, str], listener: Listener) -> Generator[Effect, Any, Answer | Trouble]:
    fold, reader = _Fold(), SseReader()
    starting: Message = {}
    first_at: float | None = None
    size = 0
    broken = False
    request_id = headers.get("request-id")
    while not fold.stopped:
        chunk = yield NextChunk()
        if isinstance(chunk, CallFailed) or not chunk:
            broken = bool(chunk)
            break
        size += len(chunk)
        try:
            events = reader.feed(chunk)
        except SseError as error:
            yield Hangup()
            lines = ", ".join(json.dumps(line) for line in error.lines)
            said = f"Could not parse message into JSON: {error.data}\nFrom chunk: [ {lines} ]"
            return Trouble("malformed", said, headers=headers, size=size, detail="other, SyntaxError")
        for _, data in events:
            if first_at is None:
                first_at = yield Now()
            whole = fold.take(data)
            if data.get("type") == "message_start":
                starting = dict(fold.message)
            if fold.failed is not None:
                yield Hangup()
                fold.failed.headers, fold.failed.began = headers, bool(starting)
                fold.failed.raw = json.dumps(starting.get("usage") or {})
                return fold.failed
            if whole is not None:
                yield from listener.block(starting, whole, request_id)
            if data.get("type") != "ping":
                yield from listener.event(starting, data)
    if fold.stopped:
        yield Hangup()
    elif not starting:
        kind: Kind = "cut" if broken else "empty"
        return Trouble(kind, headers=headers, size=size, detail="no_events, StreamNoEventsError")
    elif not fold.whole:
        return Trouble("cut", headers=headers, size=size)
    message = {**fold.message, "content": fold.whole}
    return Answer(message, starting, request_id, True, first_at, cut=not fold.stopped)
