"""OpenAI's WebSocket mode: one connection, many responses, each event a text frame.

A frame `response.create` is the same request as a POST of its other fields; so it is handed to the door as one, and the
events of the answer leave one by one, down to waits and breaks. A refusal is a frame of type `error` that carries the
status. Frames that come while a response is at work wait for its end. Facts: `ResponsesClientEvent` and
`ResponsesServerEvent` of the `openai` package 3.57; the handshake as Codex 0.171 makes it.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from simulators.core.wire import Abort, Answer, Chunk, Ended, Head, Request, Wait
from simulators.shells import websocket
from simulators.shells.performance import reset

if TYPE_CHECKING:
    from simulators.shells.connection import Asked
    from simulators.shells.http import Listener

_NORMAL, _GOING_AWAY, _BAD_DATA, _INTERNAL = 1000, 1001, 1003, 1011
_HANDSHAKE = frozenset({"upgrade", "connection", "content-length", "sec-websocket-extensions"})


def wanted(asked: "Asked") -> bool:
    """Whether a request is the handshake of this mode."""
    if asked.method != "GET" or not asked.path.rstrip("/").endswith("/responses"):
        return False
    sent = dict(asked.headers)
    keyed = sent.get("sec-websocket-key") and (sent.get("authorization") or asked.path.startswith("/@"))
    return sent.get("upgrade", "").lower() == "websocket" and bool(keyed)


class Talk(asyncio.Protocol):
    """The protocol of a connection after its handshake; it takes the transport over from whoever read that."""

    def __init__(self, listener: "Listener", transport: Any, asked: "Asked") -> None:
        self.transport, self.expires = transport, inf
        self._listener, self._asked = listener, asked
        self._loop, self._rate = listener.loop, listener.rate
        self._messages = websocket.Messages()
        self._waiting: deque[dict[str, Any]] = deque()
        self._answer: Answer | None = None
        self._steps: Iterator[Wait | Abort] = iter(())
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        transport.set_protocol(self)
        listener.add(self)  # type: ignore[arg-type]
        key = dict(asked.headers)["sec-websocket-key"]
        transport.write(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            f"sec-websocket-accept: {websocket.accept(key)}\r\n\r\n".encode("ascii")
        )

    def expire(self) -> None:
        """It never does: a connection may be silent between two responses."""

    def connection_lost(self, error: Exception | None) -> None:
        self._listener.discard(self)  # type: ignore[arg-type]
        self._waiting.clear()
        self._end("client_gone")

    def data_received(self, data: bytes) -> None:
        for opcode, content in self._messages.feed(data):
            if opcode == websocket.PING:
                self.transport.write(websocket.frame(websocket.PONG, content))
            elif opcode == websocket.CLOSE:
                self._close(_NORMAL)
                return
            elif opcode in (websocket.TEXT, websocket.BINARY):
                self._take(content)

    def _take(self, content: bytes) -> None:
        try:
            event = msgspec.json.decode(content)
        except msgspec.DecodeError:
            self._refuse("The message is not valid JSON.", "invalid_json")
            return
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "response.create":
            self._waiting.append(event)
            self._next()
        elif kind == "response.steer":
            self._steer(event)
        else:
            self._refuse(
                f"Invalid value: '{kind}'. Supported values are: 'response.create' and 'response.steer'.",
                "invalid_value",
            )

    def _steer(self, event: dict[str, Any]) -> None:
        """Steering is refused, as it is by models that do not know it."""
        code = "response_already_completed" if self._answer is None else "steering_not_supported"
        steer = {name: event.get(name) for name in ("input", "previous_response_id")}
        said = {"code": code, "message": "The response cannot be steered.", "type": "invalid_request_error"}
        self._send({"type": "response.steer.failed", "sequence_number": 0, "steer": steer, "error": said})

    def _refuse(self, message: str, code: str) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": None}
        self._send({"type": "error", "status": 400, "error": error})

    def _next(self) -> None:
        """Begin with the next frame that waits, if nothing is at work."""
        if self._answer is not None or not self._waiting:
            return
        event = self._waiting.popleft()
        asked = self._asked
        body = {**event, "stream": True}
        body.pop("type")
        request = Request(
            method="POST",
            path=asked.path,
            query=asked.query,
            headers=tuple(pair for pair in asked.headers if pair[0] not in _HANDSHAKE),
            body=msgspec.json.encode(body),
        )
        self._answer = self._listener.door.handle(request, asked.target)
        self._due = self._loop.time()
        self._steps = self._run(self._answer)
        self._advance()

    def _advance(self) -> None:
        """Go on until the answer ends or something has to be waited for."""
        self._timer = None
        try:
            step = next(self._steps, None)
        except Exception as error:  # of the simulator: a defect
            self._loop.call_exception_handler({"message": "an answer failed", "exception": error})
            self._end("cut")
            self._close(_INTERNAL)
            return
        if step is None:
            self._end("complete")
            self._next()
        elif isinstance(step, Wait):
            self._due += step.seconds / self._rate
            if isfinite(self._due):
                self._timer = self._loop.call_at(self._due, self._advance)
        else:
            self._end("cut")
            if step.how == "reset":
                reset(self.transport)
            else:
                self.transport.close()

    def _run(self, answer: Answer) -> Iterator[Wait | Abort]:
        """What has to be waited for; everything else is sent."""
        status, headers, left = 200, {}, b""
        for event in answer:
            if isinstance(event, Head):
                status, headers = event.status, dict(event.headers)
            elif isinstance(event, Chunk):
                left += event.data
                if status == 200:
                    left = self._events(left)
            else:
                yield event
        if status != 200:
            self._refused(status, headers, left)
        elif left.strip():
            self._events(left + b"\n\n")

    def _events(self, data: bytes) -> bytes:
        """Send the events that are complete; what is left."""
        *whole, left = data.replace(b"\r\n", b"\n").split(b"\n\n")
        for block in whole:
            lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
            if lines:
                self.transport.write(websocket.frame(websocket.TEXT, b"\n".join(lines)))
        return left

    def _refused(self, status: int, headers: dict[str, str], body: bytes) -> None:
        try:
            value = msgspec.json.decode(body)
        except msgspec.DecodeError:
            value = {}
        error = value.get("error") if isinstance(value, dict) else None
        if not isinstance(error, dict):
            error = {"type": "server_error", "code": None, "message": body[:300].decode("utf-8", "replace")}
        self._send({"type": "error", "status": status, "error": error, "headers": headers})

    def _send(self, event: dict[str, Any]) -> None:
        self.transport.write(websocket.frame(websocket.TEXT, msgspec.json.encode(event)))

    def _end(self, why: Ended) -> None:
        """Book how the answer at work ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.close(self._listener.clock.now(), why)

    def _close(self, code: int) -> None:
        if not self.transport.is_closing():
            self.transport.write(websocket.close_frame(code))
            self.transport.close()
