"""The simulators behind a real socket: HTTP/1.1 on asyncio, uvloop where there is one.

`HttpDoor` says who answers a request, `Listener` binds a port and runs in the current loop: no signal handlers, no
logging set up. `connection` reads requests, `performance` writes answers, down to a reset or a close in the middle.
"""

import asyncio
import socket
from collections.abc import Iterable
from typing import Protocol

from simulators.core.answer import SimulatedAnswer
from simulators.core.wire import Answer, Chunk, Head, Request
from simulators.shells.connection import Asked, Connection, Limits
from simulators.shells.inprocess import Clock, Provider
from simulators.shells.proxy import Proxy

CONTROL = "/__sim__"
# What Claude Code asks its vendor for besides answers of a model, when it is not told another base URL: settings and
# limits that an organisation has laid down. It has laid down none.
_CLAUDE_CODE = "/api/claude_code/"
_NOTHING = (Head(200, (("content-type", "application/json"), ("content-length", "11"))), Chunk(b'{"data":[]}'))
_LOOK_S = 1.0  # between two looks for clients that are late


class Steering(Protocol):
    """What answers under `/__sim__`."""

    def handle(self, request: Request, target: bytes) -> Answer:
        """`target` is the path as it was sent, for names that hold an escaped slash."""


class HttpDoor:
    """Paths under `/__sim__` go to `control`, everything else to the provider."""

    def __init__(self, provider: Provider, control: Steering | None = None) -> None:
        self.provider, self.control = provider, control

    @property
    def clock(self) -> Clock:
        return self.provider.clock

    def handle(self, request: Request, target: bytes) -> Answer:
        """The answer to one request: iterate it once, then close it."""
        if self.control is not None and request.path.startswith(CONTROL):
            return self.control.handle(request, target)
        if request.path.startswith(_CLAUDE_CODE) and request.method == "GET":
            return SimulatedAnswer(_NOTHING)
        return self.provider.handle(request)


class Listener:
    """A door that is open on bound sockets, a `proxy` too if there is one. `start` it in a running loop, `close` it
    there."""

    def __init__(self, door: HttpDoor, *, limits: Limits | None = None, proxy: Proxy | None = None) -> None:
        self.door, self.clock, self.proxy = door, door.clock, proxy
        self.rate: float = getattr(door.clock, "rate", 1.0)  # of the door's clock against the loop's
        self.limits = limits or Limits()
        self.heads: dict[bytes, Asked] = {}  # heads of requests that were read before, by their bytes
        self.loop: asyncio.AbstractEventLoop
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        self._look: asyncio.TimerHandle | None = None

    async def start(self, sockets: Iterable[socket.socket]) -> None:
        self.loop = asyncio.get_running_loop()
        for sock in sockets:
            self._servers.append(await self.loop.create_server(self.connection, sock=sock, backlog=2048))

    def connection(self) -> Connection:
        """The protocol for a connection that somebody else has accepted; the listener must have been started."""
        return Connection(self)

    def add(self, connection: Connection) -> None:
        self._connections.add(connection)
        if self._look is None:
            self._look_later()

    def discard(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def _look_later(self) -> None:
        self._look = self.loop.call_later(min(_LOOK_S, self.limits.head / 2, self.limits.linger / 2), self._give_up)

    def _give_up(self) -> None:
        """Give up the connections whose client is late."""
        now = self.loop.time()
        for connection in [each for each in self._connections if each.expires < now]:
            connection.expire()
        self._look = None
        if self._connections:
            self._look_later()

    async def close(self) -> None:
        """Stop listening and drop every connection; answers at work book that the client has gone."""
        for server in self._servers:
            server.close()
        for connection in list(self._connections):
            connection.transport.abort()
        if self.proxy is not None:
            await self.proxy.close()
        for _ in range(100):
            if not self._connections:
                break
            await asyncio.sleep(0)
        if self._look is not None:
            self._look.cancel()


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
