"""A tiny scripted Gemini API for the fake's tests: exact usage figures, any status, any break."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.core.wire import Abort, Chunk, Ended, Head, Request, WireEvent
from simulators.shells.virtual_time import VirtualClock

USAGE = {"promptTokenCount": 1000, "candidatesTokenCount": 10, "totalTokenCount": 1010, "cachedContentTokenCount": 400}


@dataclass(frozen=True)
class Pieces:
    """A stream of parts; the last carries `finish` (None: the stream ends without)."""

    parts: Sequence[Sequence[Mapping[str, Any]]]
    finish: str | None = "STOP"
    cut: bool = False
    usage: Mapping[str, int] = field(default_factory=lambda: USAGE)


@dataclass(frozen=True)
class Refuse:
    """An HTTP error in the vendor's envelope."""

    status: int
    word: str
    message: str
    details: Sequence[Mapping[str, Any]] = ()


Reply = Pieces | Refuse


def say(*texts: str, **more: Any) -> Pieces:
    """An answer in pieces of text."""
    return Pieces([[{"text": text}] for text in texts], **more)


def call(name: str, **args: Any) -> Pieces:
    """An answer that is a call of a tool."""
    return Pieces([[{"functionCall": {"name": name, "args": args}}]])


def _chunks(reply: Pieces) -> Iterator[dict[str, Any]]:
    for index, parts in enumerate(reply.parts):
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
        if index == len(reply.parts) - 1 and reply.finish:
            candidate["finishReason"] = reply.finish
        yield {"candidates": [candidate], "usageMetadata": dict(reply.usage), "modelVersion": "stub"}


class _Answer:
    def __init__(self, events: Sequence[WireEvent]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[WireEvent]:
        return iter(self._events)

    def close(self, now: float, why: Ended) -> None:
        return


class GeminiStub:
    """Answers streamed calls with `replies` in order, the last one for ever, and the router with `score` (its text)."""

    def __init__(self, *replies: Reply, router: str = "no score", router_model: str = "gemini-3.5-flash-lite") -> None:
        self.clock = VirtualClock()
        self.replies, self._router, self._router_model = list(replies), router, router_model
        self.requests: list[Request] = []
        self.times: list[float] = []
        self._answered = 0

    def handle(self, request: Request) -> _Answer:
        self.requests.append(request)
        self.times.append(self.clock.now())
        if request.path.endswith(":generateContent"):
            body = {**next(_chunks(say(self._router))), "modelVersion": self._router_model}
            return _Answer([Head(200, (("content-type", "application/json"),)), Chunk(json.dumps(body).encode())])
        reply = self.replies[min(self._answered, len(self.replies) - 1)]
        self._answered += 1
        return _Answer(list(_wire(reply)))


def _wire(reply: Reply) -> Iterator[WireEvent]:
    if isinstance(reply, Refuse):
        error = {"code": reply.status, "message": reply.message, "status": reply.word}
        if reply.details:
            error["details"] = list(reply.details)
        yield Head(reply.status, (("content-type", "application/json"),))
        yield Chunk(json.dumps({"error": error}).encode())
        return
    yield Head(200, (("content-type", "text/event-stream"),))
    for chunk in _chunks(reply):
        yield Chunk(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n")
    if reply.cut:
        yield Abort("reset")
