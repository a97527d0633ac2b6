"""A tiny scripted Responses API for the fakes' tests: exact usage figures, any status, any break, in process or served.

The same replies can be given to the real CLI: `serve` puts them behind a socket.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.core.wire import Abort, Chunk, Ended, Head, Request, WireEvent
from simulators.shells.virtual_time import VirtualClock

Item = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A stream of output items. `end` is the last event's name after `response.` (None: there is none); `cut_after`
    events the connection breaks."""

    items: Sequence[Item] = ()
    input: int = 1000
    cached: int = 0
    written: int = 0
    output: int = 10
    reasoning: int = 0
    end: str | None = "completed"
    more: Mapping[str, Any] = field(default_factory=dict)
    cut_after: int | None = None


@dataclass(frozen=True)
class Refuse:
    """An HTTP error in the vendor's envelope."""

    status: int
    code: str | None
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = "error"


@dataclass(frozen=True)
class Raw:
    """Bytes as they stand; None closes the connection without an answer."""

    body: bytes | None
    status: int = 200
    content_type: str = "text/event-stream"


Reply = Answer | Refuse | Raw


def text(said: str, id: str = "msg_0001") -> Item:
    """A message of the model."""
    content = [{"type": "output_text", "text": said, "annotations": []}]
    return {"type": "message", "id": id, "status": "completed", "role": "assistant", "content": content}


def say(said: str, **more: Any) -> Answer:
    """An answer that is one message."""
    return Answer([text(said)], **more)


def thought(said: str) -> Item:
    """A reasoning item with its summary."""
    summary = [{"type": "summary_text", "text": said}]
    return {"type": "reasoning", "id": "rs_0001", "summary": summary, "encrypted_content": "ENC"}


def command(cmd: str, id: str = "call_0002") -> Item:
    """A call of the shell."""
    arguments = json.dumps({"cmd": cmd})
    call = {"type": "function_call", "id": "fc_0001", "status": "completed", "name": "exec_command", "call_id": id}
    return {**call, "arguments": arguments}


def patch(said: str, id: str = "call_p1") -> Item:
    """A call of apply_patch."""
    call = {"type": "custom_tool_call", "id": "ctc_1", "status": "completed", "call_id": id, "name": "apply_patch"}
    return {**call, "input": said}


def usage(answer: Answer) -> dict[str, Any]:
    """As the API tells it."""
    return {
        "input_tokens": answer.input,
        "input_tokens_details": {"cached_tokens": answer.cached, "cache_write_tokens": answer.written},
        "output_tokens": answer.output,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning},
        "total_tokens": answer.input + answer.output,
    }


def _events(answer: Answer, n: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": f"resp_{n:04d}"}}]
    for index, item in enumerate(answer.items):
        found.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            delta = {"item_id": item["id"], "output_index": index, "content_index": 0}
            found.append({"type": "response.output_text.delta", **delta, "delta": item["content"][0]["text"]})
        found.append({"type": "response.output_item.done", "output_index": index, "item": item})
    if answer.end is not None:
        response = {"id": f"resp_{n:04d}", "status": answer.end, "usage": usage(answer), **answer.more}
        found.append({"type": f"response.{answer.end}", "response": response})
    return [{**event, "sequence_number": i} for i, event in enumerate(found)]


def wire(reply: Reply, n: int) -> Iterator[WireEvent]:
    """What goes over the wire for the n-th call."""
    if isinstance(reply, Raw):
        if reply.body is None:
            yield Abort("reset")
            return
        yield Head(reply.status, (("content-type", reply.content_type),))
        yield Chunk(reply.body)
    elif isinstance(reply, Refuse):
        error = {"error": {"message": reply.message, "type": reply.type, "param": None, "code": reply.code}}
        yield Head(reply.status, (("content-type", "application/json"), *reply.headers.items()))
        yield Chunk(json.dumps(error).encode())
    else:
        yield Head(200, (("content-type", "text/event-stream"),))
        for i, event in enumerate(_events(reply, n)):
            if i == reply.cut_after:
                yield Abort("reset")
                return
            yield Chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


class _Answer:
    def __init__(self, events: Sequence[WireEvent], ended: list[str]) -> None:
        self._events, self._ended = events, ended

    def __iter__(self) -> Iterator[WireEvent]:
        return iter(self._events)

    def close(self, now: float, why: Ended) -> None:
        self._ended.append(why)


class ResponsesStub:
    """Answers with `replies` in order, the last one for ever; a WebSocket is refused."""

    def __init__(self, *replies: Reply) -> None:
        self.clock = VirtualClock()
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.ended: list[str] = []
        self._answered = 0

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(r.body) for r in self.requests if r.body]

    def handle(self, request: Request) -> _Answer:
        self.requests.append(request)
        self.times.append(self.clock.now())
        if request.method == "GET":
            return _Answer([Head(426, ())], self.ended)
        reply = self.replies[min(self._answered, len(self.replies) - 1)]
        self._answered += 1
        return _Answer(list(wire(reply, self._answered)), self.ended)
