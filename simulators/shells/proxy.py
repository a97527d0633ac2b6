"""The proxy door: tools whose base URL cannot be set are sent here by `HTTPS_PROXY`.

`CONNECT` to a vendor's host is answered, its TLS ended here, and what comes through it is answered by the simulators as
over any other connection. Every other host is refused at once, so that nothing leaves the machine and no tool hangs.
"""

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simulators.shells.authority import Authority

if TYPE_CHECKING:
    from simulators.shells.connection import Connection
    from simulators.shells.http import Listener

# Hosts of the model APIs that are simulated, and of servers that speak one of them.
HOSTS = (
    "api.anthropic.com",
    "api.openai.com",
    "generativelanguage.googleapis.com",
    "api.deepseek.com",
    "api.groq.com",
    "api.mistral.ai",
    "api.together.xyz",
    "api.x.ai",
    "openrouter.ai",
)
_PORT = "443"
_HANDSHAKE_S = 10.0
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxy:
    """The tunnels of one door. `close` ends it and removes the authority's files."""

    def __init__(self) -> None:
        self.authority = Authority(HOSTS)
        self._tasks: set[asyncio.Task[None]] = set()

    def answers(self, authority: str) -> bool:
        """Whether `HOST:PORT` is a vendor's."""
        host, _, port = authority.rpartition(":")
        return host.lower().rstrip(".") in HOSTS and port == _PORT

    def answers_url(self, url: bytes) -> bool:
        """Whether a whole URL, as clients send it to a proxy of plain HTTP, is a vendor's or this machine's."""
        host = urlsplit(url.decode("latin-1")).hostname or ""
        return host in HOSTS or host in ("127.0.0.1", "localhost", "::1", "")

    def open(self, connection: "Connection", listener: "Listener") -> None:
        """The connection becomes a tunnel: what it carries from now on is TLS, ended here."""
        connection.write(_ESTABLISHED)
        listener.discard(connection)
        task = listener.loop.create_task(self._open(connection.transport, listener))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self, transport: Any, listener: "Listener") -> None:
        early = _Early()
        try:
            secured: Any = await listener.loop.start_tls(
                transport, early, self.authority.context, server_side=True, ssl_handshake_timeout=_HANDSHAKE_S
            )
        except (OSError, asyncio.CancelledError):  # ssl.SSLError among them: a client that does not trust us
            transport.abort()
            return
        if secured is None:
            return  # the client left
        connection = listener.connection()
        secured.set_protocol(connection)
        connection.connection_made(secured)
        for data in early.received:
            connection.data_received(data)
        if early.lost:
            connection.connection_lost(None)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=1)
        self.authority.close()


class _Early(asyncio.Protocol):
    """Keeps what comes between the end of the handshake and the moment at which the loop tells of it."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.received.append(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
