"""The simulators behind a real socket: uvicorn's httptools protocol, a raw ASGI app, uvloop where there is one.

`HttpDoor` is the app: it performs the events of an answer on a connection, down to a reset or a close in the middle,
for which `Connection` (uvicorn's protocol, subclassed) hands out the transport. `Listener` binds a port and runs it in
the current loop, without uvicorn's own server: no signal handlers, no logging set up, no ticks.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from math import isfinite
from typing import Any
from urllib.parse import parse_qsl

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from simulators.core.wire import Abort, Answer, Chunk, Ended, Head, Request, Wait
from simulators.shells.inprocess import Provider

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

BODY_LIMIT = 32 * 2**20  # bytes; what is longer is not read on, and answered as too large
FLUSH_AT = 64 * 1024  # bytes that are gathered before they are sent, as long as nothing waits in between
CONTROL = "/__sim__"
_CYCLE = "simulators.cycle"  # key in the scope's extensions
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}


class Connection(HttpToolsProtocol):
    """uvicorn's protocol; the scope of a request carries its cycle, so that the app can write to and break the wire."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False

    def on_headers_complete(self) -> None:
        super().on_headers_complete()  # makes the cycle and its task, which starts later
        self.scope["extensions"] = {_CYCLE: self.cycle}  # type: ignore[dict-item]


class HttpDoor:
    """The ASGI app. Paths under `/__sim__` go to `control`, everything else to the provider."""

    def __init__(self, provider: Provider, control: App | None = None) -> None:
        self.provider, self.control = provider, control

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if self.control is not None and scope["path"].startswith(CONTROL):
            await self.control(scope, receive, send)
            return
        cycle = scope["extensions"].pop(_CYCLE)  # taken out, as it refers to the scope: no work for the collector
        body = await read_body(receive)
        if body is None:
            return
        query = scope["query_string"]
        request = Request(
            method=scope["method"],
            path=scope["path"],
            query=tuple(parse_qsl(query.decode("latin-1"), keep_blank_values=True)) if query else (),
            headers=tuple([(k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"]]),
            body=body,
        )
        answer = self.provider.handle(request)
        why: Ended = "cut"
        try:
            why = await _Performance(cycle, receive, getattr(self.provider.clock, "rate", 1.0)).perform(answer)
        finally:
            answer.close(self.provider.clock.now(), why)


async def read_body(receive: Receive) -> bytes | None:
    """The body of a request, a byte over `BODY_LIMIT` at most; None when the client left before its end."""
    message = await receive()
    if message["type"] == "http.request" and not message["more_body"]:
        return bytes(message["body"][: BODY_LIMIT + 1])
    parts, size = [], 0
    while message["type"] == "http.request":
        parts.append(message["body"])
        size += len(parts[-1])
        if not message["more_body"] or size > BODY_LIMIT:
            return b"".join(parts)[: BODY_LIMIT + 1]
        message = await receive()
    return None


class _Performance:
    """Performs one answer on one connection.

    It writes to the transport itself and keeps uvicorn's books of the request (`cycle`): going through ASGI messages
    costs twice as much, and knows no connection that ends in the middle.
    """

    def __init__(self, cycle: RequestResponseCycle, receive: Receive, rate: float) -> None:
        self._cycle, self._receive, self._rate = cycle, receive, rate
        self._transport = cycle.transport
        self._begun = False  # the final head is on its way
        self._ready: list[bytes] = []  # to be written
        self._chunked = False
        self._bodiless = False
        self._missing = 0  # bytes of a content-length that are still to come
        self._gone: asyncio.Task[Message] | None = None  # ends when the client has left

    async def perform(self, answer: Answer) -> Ended:
        """How it ended."""
        try:
            return await self._perform(answer)
        finally:
            if self._gone is not None:
                self._gone.cancel()

    async def _perform(self, answer: Answer) -> Ended:
        due, body, size = asyncio.get_running_loop().time(), list[bytes](), 0
        for event in answer:
            if isinstance(event, Chunk):
                body.append(event.data)
                size += len(event.data)
                if size >= FLUSH_AT:
                    await self._flush(body)
                    size = 0
                    if self._transport.is_closing():
                        return "client_gone"
            elif isinstance(event, Head):
                self._take(event)
            elif isinstance(event, Wait):
                await self._flush(body)
                size = 0
                due += event.seconds / self._rate
                if await self._client_leaves(until=due):
                    return "client_gone"
            else:
                await self._flush(body)
                await self._break(event)
                return "cut"
        self._body(body)
        if self._transport.is_closing():
            return "client_gone"
        if not self._begun or self._missing > 0:
            await self._flush(body)
            await self._break(Abort("fin"))
            return "cut"
        if self._chunked:
            self._ready.append(b"0\r\n\r\n")
        await self._flush(body)
        self._finish()
        return "complete"

    def _take(self, head: Head) -> None:
        """Get a head ready; one of 1xx precedes the final one."""
        lines = [_STATUS_LINES.get(head.status) or f"HTTP/1.1 {head.status} \r\n"]
        length = None
        for name, value in head.headers:
            if name == "content-length":
                length = int(value)
            elif name == "connection" and "close" in value.lower():
                self._cycle.keep_alive = False
                continue
            lines.append(f"{name}: {value}\r\n")
        if head.status >= 200:
            bodiless = self._cycle.scope["method"] == "HEAD" or head.status in (204, 304)
            self._chunked = length is None and not bodiless and self._cycle.scope["http_version"] != "1.0"
            if self._chunked:
                lines.append("transfer-encoding: chunked\r\n")
            elif length is None and not bodiless:
                self._cycle.keep_alive = (
                    False  # to a client of HTTP/1.0 the end of the connection is the end of the body
                )
            if not self._cycle.keep_alive:
                lines.append("connection: close\r\n")
            self._missing = 0 if bodiless else length or 0
            self._begun, self._bodiless = True, bodiless
            self._cycle.response_started = True
        lines.append("\r\n")
        text = "".join(lines)
        if text.count("\n") != len(lines):
            raise ValueError("a header holds a line end")
        self._ready.append(text.encode("latin-1", "replace"))

    def _body(self, body: list[bytes]) -> None:
        """Get pieces of the body ready, as one chunk."""
        data = body[0] if len(body) == 1 else b"".join(body)
        body.clear()
        if not data or self._bodiless:
            return
        self._missing -= len(data)
        self._ready += (b"%x\r\n" % len(data), data, b"\r\n") if self._chunked else (data,)

    async def _flush(self, body: list[bytes]) -> None:
        """Write what is ready, as soon as the client takes it."""
        self._body(body)
        data = b"".join(self._ready)
        self._ready.clear()
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if data and not cycle.disconnected:
            self._transport.write(data)

    def _finish(self) -> None:
        """The response is complete: the connection is free for the next request."""
        cycle = self._cycle
        cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self._transport.close()
        cycle.on_response()

    async def _client_leaves(self, *, until: float) -> bool:
        """Wait until then (loop time; infinite: for ever). True as soon as the client has left."""
        if self._gone is None:
            self._gone = asyncio.ensure_future(self._receive())
        left = until - asyncio.get_running_loop().time() if isfinite(until) else None
        if left is None or left > 0:
            await asyncio.wait({self._gone}, timeout=left)
        return self._gone.done()

    async def _break(self, abort: Abort) -> None:
        """End the connection without a proper end, after all that was written has left."""
        if abort.how == "reset":
            await _sent(self._transport)
            reset(self._transport)
        else:
            self._transport.close()
        if self._gone is None:
            self._gone = asyncio.ensure_future(self._receive())
        await asyncio.wait({self._gone})  # uvicorn would answer 500 if the app ended before it knows


async def _sent(transport: asyncio.Transport) -> None:
    """Wait until the other side has everything that was written, as a reset discards what is on its way."""
    sock = transport.get_extra_info("socket")
    while not transport.is_closing():
        if not transport.get_write_buffer_size() and not _on_its_way(sock):
            return
        await asyncio.sleep(0.0005)


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


class Listener:
    """A door that is open: an app on a bound port. `start` it, `close` it."""

    def __init__(self, app: App) -> None:
        config = Config(
            app,
            http=Connection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=75,
        )
        config.load()
        self._config, self._state = config, ServerState()
        self._servers: list[asyncio.Server] = []

    async def start(self, sockets: Iterable[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        for sock in sockets:
            self._servers.append(await loop.create_server(self._connection, sock=sock, backlog=2048))

    def _connection(self) -> Connection:
        return Connection(config=self._config, server_state=self._state, app_state={})

    async def close(self) -> None:
        """Stop listening and drop every connection; answers at work book that the client has gone."""
        for server in self._servers:
            server.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=1)


def bind(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(2048)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def url_of(sock: socket.socket) -> str:
    """`http://HOST:PORT` of a bound socket; an address of all interfaces is named by loopback."""
    host, port = sock.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's event loop, or asyncio's where uvloop does not exist."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
