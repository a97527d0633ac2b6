"""One connection of the HTTP door: bytes in, requests out, one answer after the other.

`httptools` reads what is new. Clients that keep a connection send the same head again and again, so heads that were
read are remembered by their bytes: a request that comes in one piece behind a known head is not parsed at all.
Everything that a client can do is bounded: the size of head and body, the time until a request is there, and how far it
may send ahead.
"""

import asyncio
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

import httptools
import msgspec

from simulators.core.wire import Headers, Request
from simulators.shells.performance import Performance, plain
from simulators.shells.talk import Talk, wanted

if TYPE_CHECKING:
    from simulators.shells.http import Listener

BODY_LIMIT = 32 * 2**20  # bytes; of a longer body no more is read, and it is answered as too large
HEAD_LIMIT = 64 * 2**10  # bytes of request line and headers
FRAMING_LIMIT = 2**20  # bytes of a request that are neither head nor body, on top of 8 a byte of body
_REMEMBERED = 512  # heads, of up to this many bytes:
_REMEMBERED_SIZE = 4096
_AHEAD = 32  # requests that a client may send ahead, and bytes of them, before it is made to wait
_AHEAD_BYTES = 2**20
_FOREIGN = "Only model APIs are answered here; every other host is refused"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that a client has: for a head from its first byte, for a whole request from its first byte, to begin
    the next request, and to take an answer and close when the server will read no more."""

    head: float = 20.0
    request: float = 60.0
    idle: float = 75.0
    linger: float = 2.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a request. `target` is the path as it was sent; `length` of the body, None if it comes in chunks."""

    method: str
    path: str
    target: bytes
    query: tuple[tuple[str, str], ...]
    headers: Headers
    length: int | None
    http_1_1: bool
    keep_alive: bool
    expects: bool  # to be told to go on before it sends the body
    plain: bool  # neither chunks nor an upgrade nor an expectation: the body follows at once


class Whole(msgspec.Struct, frozen=True):
    """A request that was read. `over`: its body is longer than `BODY_LIMIT`, and is not kept."""

    asked: Asked
    body: bytes
    over: bool = False


class Connection(asyncio.Protocol):
    """The protocol of one connection; `gone` once it is lost, `paused` while the client does not take what is sent."""

    transport: Any  # asyncio.Transport; set when the connection is made

    def __init__(self, listener: "Listener") -> None:
        self._listener, self._heads = listener, listener.heads
        self.loop, self.clock, self.rate = listener.loop, listener.clock, listener.rate
        self.gone = self.paused = False
        self.expires = 0.0  # loop time at which the listener gives it up
        self._parser: Any = None  # made when it is needed
        self._between = True  # the parser is at the start of a message
        self._ready: deque[Whole | bytes] = deque()  # to be answered, or an answer of the server itself
        self._answering: Performance | None = None
        self._serving = False  # inside `_serve`
        self._last = False  # nothing more is read from it
        self._held = False  # the client is made to wait
        self._asked: Asked | None = None  # the head of the request that is being read
        self._url = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._size = self._raw = 0  # bytes of the body; of all that came since the request began

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.expires = self.loop.time() + self._listener.limits.idle
        self._listener.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.gone, self._parser = True, None
        self._ready.clear()
        self._listener.discard(self)
        if self._answering is not None:
            self._answering.advance()

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        if self._answering is not None:
            self._answering.drained()
        else:
            self._serve()

    def data_received(self, data: bytes) -> None:
        if self._last:
            return  # the client may finish what it sends; nobody reads it
        if self._between and self._answering is None and not self._ready:
            end = data.find(b"\r\n\r\n") + 4
            asked = self._heads.get(data[:end])
            if asked is not None and asked.length == len(data) - end:
                self._ready.append(Whole(asked, data[end:]))
                self._serve()
                return
        self._read(data)
        self._serve()

    def write(self, data: bytes) -> None:
        """Send, if there is somebody to send to."""
        if not self.transport.is_closing():
            self.transport.write(data)

    def performed(self, go_on: bool) -> None:
        """The answer at work has ended; `go_on`: the connection serves the next request."""
        self._answering = None
        if not go_on:
            self._close()
        elif not self.gone:
            limits = self._listener.limits
            self.expires = self.loop.time() + (limits.idle if self._between else limits.head)
            self._serve()

    def expire(self) -> None:
        """Called when `expires` has passed: the client did not do in time what it had to do next."""
        if self._last:
            self.transport.abort()
        elif self._between:
            self._close()
        else:
            self._refuse(408, "Request Timeout")
            self._serve()

    # answering

    def _serve(self) -> None:
        """Answer what is ready, one after the other."""
        if self._serving:
            return
        self._serving = True
        while self._ready and self._answering is None and not self.paused and not self.gone:
            self.expires = inf
            next_ = self._ready.popleft()
            if isinstance(next_, bytes):
                self.write(next_)
                self._close()
            else:
                self._answer(next_)
        self._serving = False
        self._hold()

    def _answer(self, whole: Whole) -> None:
        asked = whole.asked
        if not asked.plain and wanted(asked):
            self._listener.discard(self)
            self.gone = True
            Talk(self._listener, self.transport, asked)
            return
        if whole.over:
            asked = msgspec.structs.replace(asked, keep_alive=False)
        request = Request(
            method=asked.method, path=asked.path, query=asked.query, headers=asked.headers, body=whole.body,
            oversize=whole.over,
        )  # fmt: skip
        try:
            answer = self._listener.door.handle(request, asked.target)
        except Exception as error:  # a defect of the simulator
            self.loop.call_exception_handler({"message": "a request failed", "exception": error})
            self.write(plain(500, "Internal Server Error"))
            self._close()
            return
        self._answering = Performance(self, answer, asked)
        self._answering.advance()

    def _hold(self) -> None:
        """Let a client that sends ahead wait, until what it has sent is answered."""
        if not self._ready:
            if self._held and not self.transport.is_closing():
                self._held = False
                self.transport.resume_reading()
            return
        self.expires = inf  # it is not the client who is late
        if not self._held and (
            len(self._ready) > _AHEAD or sum(len(w.body) for w in self._ready if type(w) is Whole) > _AHEAD_BYTES
        ):
            self._held = True
            self.transport.pause_reading()

    def _close(self) -> None:
        """No more requests. A client that still sends is let finish for a moment, or it might not see its answer."""
        now, limits, reading = self.loop.time(), self._listener.limits, not self._between
        self._last, self._between = True, True
        self._ready.clear()
        if reading and not self.transport.is_closing() and self.transport.can_write_eof():
            self.transport.write_eof()
            self.expires = now + limits.linger
        else:
            self.transport.close()
            self.expires = now + limits.idle

    # reading

    def _read(self, data: bytes) -> None:
        """Parse what has come; whole requests are put in `_ready`."""
        began = self._between
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        self._raw += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # answered as if it had not asked for another protocol; or a `CONNECT`
        except httptools.HttpParserError:
            self._refuse(400, "Invalid HTTP request received.")
        else:
            if not self._between:
                self._bound()
            elif began and len(self._ready) == 1 and isinstance(whole := self._ready[0], Whole):
                self._remember(data, whole.asked)

    def _bound(self) -> None:
        """Refuse a head or a framing without end."""
        if self._asked is None and self._raw > HEAD_LIMIT:
            self._refuse(431, "Request Header Fields Too Large")
        elif self._raw > 9 * self._size + HEAD_LIMIT + FRAMING_LIMIT:
            self._refuse(400, "Invalid HTTP request received.")

    def _refuse(self, status: int, why: str) -> None:
        """The server itself answers, when what came before is answered, and closes."""
        if not self._last:  # what follows a request that closes is nobody's business
            self._last = True
            self._ready.append(plain(status, why))

    def _remember(self, data: bytes, asked: Asked) -> None:
        end = data.find(b"\r\n\r\n") + 4
        if asked.plain and end <= _REMEMBERED_SIZE and asked.length == len(data) - end:
            if len(self._heads) >= _REMEMBERED:
                self._heads.clear()
            self._heads[data[:end]] = asked

    # what the parser calls

    def on_message_begin(self) -> None:
        if self._last:
            return
        self._between, self._asked = False, None
        self._url, self._headers, self._body = b"", [], []
        self._size = 0
        if self._answering is None and not self._ready:
            self.expires = self.loop.time() + self._listener.limits.head

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._asked is None:  # else it stands behind the last chunk
            self._headers.append((name.lower().decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        if self._last:
            return
        parser = self._parser
        if parser.get_method() == b"CONNECT":
            self._connect(self._url.decode("latin-1"))
            return
        http_1_1 = parser.get_http_version() == "1.1"
        if (
            self._listener.proxy is not None
            and self._url[:1] != b"/"
            and not self._listener.proxy.answers_url(self._url)
        ):
            self._refuse(403, _FOREIGN)
            return
        asked = self._asked = _read_head(
            parser.get_method().decode("ascii"),
            self._url,
            tuple(self._headers),
            http_1_1=http_1_1,
            keep_alive=http_1_1 and parser.should_keep_alive() and not parser.should_upgrade(),
        )
        self._raw = 0
        if asked.length is not None and asked.length > BODY_LIMIT:
            self._whole(over=True)
            return
        if self._answering is None:
            self.expires += self._listener.limits.request - self._listener.limits.head
            if asked.expects and not self._ready:
                self.write(_CONTINUE)

    def _connect(self, authority: str) -> None:
        """A client that takes this door for its proxy."""
        proxy = self._listener.proxy
        if proxy is None:
            self._refuse(405, "This is no proxy: start it with --proxy")
        elif not proxy.answers(authority):
            self._refuse(403, _FOREIGN)
        elif self._answering is not None or self._ready:
            self._refuse(400, "CONNECT has to come alone")
        else:
            self._last = self._between = True
            self.expires = inf
            proxy.open(self, self._listener)

    def on_body(self, body: bytes) -> None:
        if self._last:
            return
        self._body.append(body)
        self._size += len(body)
        if self._size > BODY_LIMIT:
            self._whole(over=True)

    def on_message_complete(self) -> None:
        if not self._last:
            self._between = True
            self._whole(over=False)

    def _whole(self, *, over: bool) -> None:
        assert self._asked is not None
        self._ready.append(Whole(self._asked, b"" if over else b"".join(self._body), over))
        self._body = []
        self._raw = 0
        if over or not self._asked.keep_alive:
            self._last = True


def _read_head(method: str, url: bytes, headers: Headers, *, http_1_1: bool, keep_alive: bool) -> Asked:
    """Raises `HttpParserInvalidURLError`."""
    parsed = httptools.parse_url(url)
    target = parsed.path or b"/"
    path = target.decode("latin-1")
    sent = dict(headers)
    chunked = "transfer-encoding" in sent
    expects = sent.get("expect", "").lower() == "100-continue"
    return Asked(
        method=method,
        path=unquote(path) if "%" in path else path,
        target=target,
        query=tuple(parse_qsl(parsed.query.decode("latin-1"), keep_blank_values=True)) if parsed.query else (),
        headers=headers,
        length=None if chunked else int(sent.get("content-length", 0)),
        http_1_1=http_1_1,
        keep_alive=keep_alive,
        expects=expects,
        plain=not (chunked or expects or "upgrade" in sent or method == "CONNECT"),
    )
