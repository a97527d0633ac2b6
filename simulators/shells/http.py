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
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
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
_TRANSPORT = "simulators.transport"  # key in the scope's extensions


class Connection(HttpToolsProtocol):
    """uvicorn's protocol; the scope of a request carries the transport, so that the app can break the connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_TRANSPORT: self.transport}  # type: ignore[dict-item]


class HttpDoor:
    """The ASGI app. Paths under `/__sim__` go to `control`, everything else to the provider."""

    def __init__(self, provider: Provider, control: App | None = None) -> None:
        self.provider, self.control = provider, control

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if self.control is not None and scope["path"].startswith(CONTROL):
            await self.control(scope, receive, send)
            return
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
            why = await _Performance(scope, receive, send, getattr(self.provider.clock, "rate", 1.0)).perform(answer)
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
    """Performs one answer on one connection."""

    def __init__(self, scope: Message, receive: Receive, send: Send, rate: float) -> None:
        self._receive, self._send, self._rate = receive, send, rate
        self._transport: asyncio.Transport = scope["extensions"][_TRANSPORT]
        self._head: Head | None = None  # the final one, until it is sent
        self._begun = False
        self._missing = 0  # bytes of a content-length that are still to come
        self._ready: list[bytes] = []
        self._gone: asyncio.Task[Message] | None = None  # ends when the client has left

    async def perform(self, answer: Answer) -> Ended:
        """How it ended."""
        try:
            return await self._perform(answer)
        finally:
            if self._gone is not None:
                self._gone.cancel()

    async def _perform(self, answer: Answer) -> Ended:
        due, size = asyncio.get_running_loop().time(), 0
        for event in answer:
            if isinstance(event, Chunk):
                self._ready.append(event.data)
                size += len(event.data)
                if size >= FLUSH_AT:
                    size = 0
                    await self._flush()
                    if self._transport.is_closing():
                        return "client_gone"
            elif isinstance(event, Wait):
                await self._flush()
                due += event.seconds / self._rate
                if await self._client_leaves(until=due):
                    return "client_gone"
            elif isinstance(event, Head):
                self._take(event)
            else:
                await self._break(event)
                return "cut"
        if self._transport.is_closing():
            return "client_gone"
        if (self._head is None and not self._begun) or self._missing > sum(map(len, self._ready)):
            await self._break(Abort("fin"))
            return "cut"
        await self._flush(last=True)
        return "complete"

    def _take(self, head: Head) -> None:
        if head.status < 200:
            self._transport.write(_informational(head))
            return
        self._head = head
        self._missing = next((int(value) for name, value in head.headers if name == "content-length"), 0)

    async def _flush(self, *, last: bool = False) -> None:
        """Send what is ready; the head leaves with the first piece or, if time passes before that, alone."""
        if self._head is not None:
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._head.headers]
            await self._send({"type": "http.response.start", "status": self._head.status, "headers": headers})
            self._head, self._begun = None, True
        if self._ready or last:
            body = self._ready[0] if len(self._ready) == 1 else b"".join(self._ready)
            self._ready.clear()
            self._missing -= len(body)
            await self._send({"type": "http.response.body", "body": body, "more_body": not last})

    async def _client_leaves(self, *, until: float) -> bool:
        """Wait until then (loop time; infinite: for ever). True as soon as the client has left."""
        if self._gone is None:
            self._gone = asyncio.ensure_future(self._receive())
        left = until - asyncio.get_running_loop().time() if isfinite(until) else None
        if left is None or left > 0:
            await asyncio.wait({self._gone}, timeout=left)
        return self._gone.done()

    async def _break(self, abort: Abort) -> None:
        """End the connection without a proper end, after all that was ready has left."""
        await self._flush()
        while self._transport.get_write_buffer_size() and not self._transport.is_closing():
            await asyncio.sleep(0)
        if abort.how == "reset":
            reset(self._transport)
        else:
            self._transport.close()
        if self._gone is None:
            self._gone = asyncio.ensure_future(self._receive())
        await asyncio.wait({self._gone})  # uvicorn would answer 500 if the app ended before it knows


def reset(transport: asyncio.Transport) -> None:
    """End a connection with RST."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _informational(head: Head) -> bytes:
    try:
        phrase = HTTPStatus(head.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {head.status} {phrase}", *(f"{name}: {value}" for name, value in head.headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


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
