"""Performs one answer on one connection: its pieces, its waits, and the ways in which it may break off.

No task and no future: an answer without a wait leaves in one write, inside the call that brought its request; one that
waits is called back. So an answer that is at work is one object, and nothing of it is left when its client has gone.
"""

import asyncio
import socket
import struct
from collections.abc import Generator
from http import HTTPStatus
from math import isfinite
from typing import TYPE_CHECKING, Any

from simulators.core.wire import Abort, Answer, Chunk, Ended, Head, Wait

if TYPE_CHECKING:
    from simulators.shells.connection import Asked, Connection

FLUSH_AT = 64 * 1024  # bytes that are gathered before they are sent, as long as nothing waits in between
_POLL_S = 0.0005  # between two looks at whether the other side has everything
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_LINE_END, _COLON = "\r\n", ": ".join
_TAKEN = None  # a step: wait until the client has taken what was written


class Performance:
    """One answer at work on `connection`, asked for by `asked`. `advance` begins it and goes on with it."""

    __slots__ = (
        "_answer",
        "_begun",
        "_bodiless",
        "_chunked",
        "_connection",
        "_due",
        "_full",
        "_http_1_1",
        "_missing",
        "_ready",
        "_steps",
        "_timer",
        "keep_alive",
    )

    def __init__(self, connection: "Connection", answer: Answer, asked: "Asked") -> None:
        self._connection, self._answer = connection, answer
        self.keep_alive = asked.keep_alive
        self._bodiless, self._http_1_1 = asked.method == "HEAD", asked.http_1_1
        self._begun = False  # the final head is on its way
        self._chunked = False
        self._missing = 0  # bytes of a content-length that are still to come
        self._ready: list[bytes] = []  # to be written
        self._due = connection.loop.time()  # until when the waits so far reach: they add up, and do not drift
        self._timer: asyncio.Handle | None = None
        self._full = False  # going on as soon as the client has taken what was written
        self._steps = self._run()

    def advance(self) -> None:
        """Go on until the answer has ended or something has to be waited for; also when the client has gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._full = False
        try:
            step = next(self._steps)
        except StopIteration as end:
            self._end(end.value)
        except Exception as error:  # of the simulator: a defect, told to the client as a server would
            self._fail(error)
        else:
            if isinstance(step, Wait):
                self._wait(step.seconds)
            elif isinstance(step, Abort):
                self._break(step)
            else:
                self._full = True

    def drained(self) -> None:
        """The client has taken what was written."""
        if self._full:
            self.advance()

    def _run(self) -> Generator[Wait | Abort | None, None, Ended]:
        """What has to be waited for, and at last how it ended."""
        connection, body, size = self._connection, list[bytes](), 0
        for event in self._answer:
            kind = type(event)
            if kind is Chunk:
                body.append(event.data)  # type: ignore[union-attr]
                size += len(event.data)  # type: ignore[union-attr]
                if size < FLUSH_AT:
                    continue
            elif kind is Head:
                self._take(event)  # type: ignore[arg-type]
                continue
            self._body(body)
            size = 0
            if connection.paused:
                yield _TAKEN
            self._send()
            if kind is not Chunk:
                yield event  # type: ignore[misc]
                if kind is Abort:
                    return "cut"
            if connection.gone:
                return "client_gone"
        self._body(body)
        if connection.paused:
            yield _TAKEN
        if connection.gone:
            return "client_gone"
        if not self._begun or self._missing > 0:
            self._send()
            yield Abort("fin")
            return "cut"
        if self._chunked:
            self._ready.append(b"0\r\n\r\n")
        self._send()
        return "complete"

    def _take(self, head: Head) -> None:
        """Get a head ready; one of 1xx precedes the final one."""
        status, headers = head.status, head.headers
        lines = _LINE_END.join(map(_COLON, headers))
        if headers and lines.count("\n") + 1 != len(headers):
            raise ValueError("a header holds a line end")
        length = None
        if "content-length" in lines or "connection" in lines:  # in most heads neither: it is dear to look at each
            length = dict(headers).get("content-length")
            others = [pair for pair in headers if pair[0] != "connection" or "close" not in pair[1].lower()]
            if len(others) < len(headers):
                self.keep_alive = False
                lines = _LINE_END.join(map(_COLON, others))
        framing = ""
        if status >= 200:
            self._bodiless = bodiless = self._bodiless or status in (204, 304)
            if length is None and not bodiless:
                self._chunked = self._http_1_1
                if not self._http_1_1:
                    self.keep_alive = False  # the end of the connection is the end of the body
            framing = "transfer-encoding: chunked\r\n" if self._chunked else ""
            if not self.keep_alive:
                framing += "connection: close\r\n"
            self._missing = 0 if bodiless else int(length or 0)
            self._begun = True
        line = _STATUS_LINES.get(status) or f"HTTP/1.1 {status} \r\n"
        end = _LINE_END if lines else ""
        self._ready.append(f"{line}{lines}{end}{framing}\r\n".encode("latin-1", "replace"))

    def _body(self, body: list[bytes]) -> None:
        """Get pieces of the body ready, as one chunk."""
        data = body[0] if len(body) == 1 else b"".join(body)
        body.clear()
        if not data or self._bodiless:
            return
        self._missing -= len(data)
        self._ready += (b"%x\r\n" % len(data), data, b"\r\n") if self._chunked else (data,)

    def _send(self) -> None:
        if self._ready:
            self._connection.write(b"".join(self._ready))
            self._ready.clear()

    def _wait(self, seconds: float) -> None:
        """Call back when it is time, or when the client has gone."""
        self._due += seconds / self._connection.rate
        if isfinite(self._due):
            self._timer = self._connection.loop.call_at(self._due, self.advance)

    def _break(self, abort: Abort) -> None:
        """End the connection without a proper end, after all that was written has left: a reset discards the rest."""
        transport = self._connection.transport
        if abort.how == "reset" and not transport.is_closing():
            if transport.get_write_buffer_size() or _on_its_way(transport.get_extra_info("socket")):
                self._timer = self._connection.loop.call_later(_POLL_S, self._break, abort)
                return
            reset(transport)
        else:
            transport.close()
        self.advance()

    def _end(self, why: Ended) -> None:
        self._answer.close(self._connection.clock.now(), why)
        self._connection.performed(why == "complete" and self.keep_alive)

    def _fail(self, error: Exception) -> None:
        connection = self._connection
        connection.loop.call_exception_handler({"message": "an answer failed", "exception": error})
        self._answer.close(connection.clock.now(), "cut")
        if not self._begun:
            connection.write(plain(500, "Internal Server Error"))
        connection.performed(False)


def plain(status: int, text: str) -> bytes:
    """A whole answer of the server itself, after which it closes."""
    return (
        f"{_STATUS_LINES[status]}content-type: text/plain; charset=utf-8\r\n"
        f"content-length: {len(text)}\r\nconnection: close\r\n\r\n{text}"
    ).encode("ascii")


def _on_its_way(sock: Any) -> int:
    """Bytes that the kernel has taken and the other side has not; 0 where that cannot be asked."""
    try:
        import fcntl
        import termios

        return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0]  # type: ignore[no-any-return]
    except (ImportError, OSError, AttributeError):
        return 0


def reset(transport: asyncio.Transport) -> None:
    """End a connection with RST."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
