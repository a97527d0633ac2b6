"""A proxy that records: what a client asks goes to the real provider, what comes back streams through and is kept.

Nothing is held back on the way but the end of an answer, until the exchange is in the file. Any vendor, any path;
WebSockets are tunnelled and their messages kept. What the cassette has already is replayed where the mode says so.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2

from simulators.cassettes import match
from simulators.cassettes.format import HOP_BY_HOP, CassetteError, Exchange, Frame
from simulators.cassettes.playing import played
from simulators.cassettes.recording import Session
from simulators.core.wire import Chunk, Headers, Request, Wait
from simulators.shells import websocket
from simulators.shells.incoming import Incoming, Malformed, has_token, head_bytes, status_line, value_of
from simulators.shells.performance import reset

_OURS = HOP_BY_HOP | {"host", "accept-encoding", "content-length", "expect"}  # headers that this side writes
_OPENED = ("gzip", "deflate", "identity")  # what can be looked into when it is scrubbed
VENDORS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}


def vendor_of(path: str) -> str:
    """Whose path this is, for a client that does not say so."""
    if path.startswith(("/v1/messages", "/v1/complete")):
        return "anthropic"
    if ":generateContent" in path or ":streamGenerateContent" in path or ":countTokens" in path or "/v1beta" in path:
        return "gemini"
    return "openai"


class RecordingProxy:
    """A door to real providers. `start` it in a running loop, `close` it there.

    `upstreams`: base URL by name; a request under `/@NAME/` goes to that one, any other to `default`, or where its path
    belongs. `session` keeps what passes. `told` hears a line for people about each exchange.
    """

    def __init__(
        self,
        session: Session,
        upstreams: Mapping[str, str],
        *,
        default: str | None = None,
        told: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.session, self.told = session, told
        self._upstreams, self._default = dict(upstreams), default
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._client: httpx2.AsyncClient
        self.failures: list[str] = []  # what could not be recorded

    async def start(self, sockets: Iterable[socket.socket]) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        self._client = httpx2.AsyncClient(timeout=None, follow_redirects=False, limits=limits)
        for sock in sockets:
            self._servers.append(await asyncio.start_server(self._accept, sock=sock))

    async def close(self) -> None:
        """Stop listening; exchanges under way end as if their client had left."""
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=5)
        await self._client.aclose()
        if self.session.recorder is not None:
            self.session.recorder.finish()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await _Client(self, Incoming(reader), writer).serve()
        except (ConnectionError, Malformed, asyncio.CancelledError):
            pass  # it left, or cannot be talked to
        finally:
            self._tasks.discard(task)
            writer.close()

    def target(self, path: str) -> tuple[str, str]:
        """(base URL, path behind it) of a request."""
        if path.startswith("/@"):
            name, slash, rest = path[2:].partition("/")
            base = self._upstreams.get(name)
            path = slash + rest if base is not None or self._default is not None else path
        else:
            base = None
        base = base or self._default or self._upstreams.get(vendor_of(path)) or next(iter(self._upstreams.values()))
        base = base.rstrip("/")
        root = urlsplit(base).path
        if root and (path == root or path.startswith(f"{root}/")):
            path = path.removeprefix(root)  # a base URL with `/v1` before paths that have it, too
        return base, path

    async def send(self, method: str, url: str, headers: Headers, body: bytes) -> httpx2.Response:
        """The upstream's answer, its body still to come. Raises httpx2's errors."""
        request = httpx2.Request(method, url, headers=list(headers), content=body)
        return await self._client.send(request, stream=True)

    async def keep(self, exchange: Exchange) -> None:
        """Put an exchange that has ended into the file; when this returns it is there."""
        recorder = self.session.recorder
        if recorder is None:
            return
        try:
            await asyncio.get_running_loop().run_in_executor(None, recorder.add, exchange)
        except CassetteError as error:
            self.failures.append(str(error))
            self.told(f"not recorded: {error}")
        else:
            path = exchange.path
            how = f", cut ({exchange.cut})" if exchange.cut else ""
            self.told(f"{len(recorder)}: {exchange.method} {path} → {exchange.status}, {len(exchange.body)} bytes{how}")


class _Client:
    """One connection of a client."""

    def __init__(self, proxy: RecordingProxy, incoming: Incoming, writer: asyncio.StreamWriter) -> None:
        self.proxy, self.incoming, self.writer = proxy, incoming, writer

    async def serve(self) -> None:
        while True:
            head = await self.incoming.head()
            if head is None:
                return
            words, headers = head
            if len(words) != 3 or not words[1].startswith("/"):
                await self._say(400, f"a path is needed, not {words[1] if len(words) > 1 else 'nothing'!r}")
                return
            if (value_of(headers, "expect") or "").lower() == "100-continue":
                self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await self.incoming.body(headers)
            if body is None:
                return
            if has_token(headers, "connection", "upgrade") and value_of(headers, "upgrade"):
                await Tunnel(self.proxy, self.incoming, self.writer).run(words[1], headers)
                return
            keeps = words[2] != "HTTP/1.0" and not has_token(headers, "connection", "close")
            if not await self._answer(words[0], words[1], headers, body) or not keeps:
                return

    async def _answer(self, method: str, target: str, headers: Headers, body: bytes) -> bool:
        """Answer one request; whether the connection can go on."""
        path, mark, query = target.partition("?")
        base, path = self.proxy.target(path)
        url = f"{base}{path}{mark}{query}"
        session = self.proxy.session
        if session.replays:
            request = Request(
                method=method,
                path=unquote(urlsplit(url).path),
                query=tuple(parse_qsl(query, keep_blank_values=True)),
                headers=tuple((name.lower(), value) for name, value in headers),
                body=body,
            )
            number = session.shelf.pick(match.asked(request))
            if number is not None:
                return await self._replay(session.known.exchanges[number])
        began, sent = time.time(), time.monotonic()
        exchange = Exchange(method=method, uri=url, request_headers=headers, request_body=body, at=began, frames=())
        try:
            response = await self.proxy.send(method, url, _forwarded(headers), body)
        except httpx2.HTTPError as error:
            return await self._no_answer(exchange, error, time.monotonic() - sent)
        try:
            return await self._through(exchange, response, sent)
        finally:
            await response.aclose()

    async def _through(self, exchange: Exchange, response: httpx2.Response, sent: float) -> bool:
        """Pass the answer on as it comes."""
        frames = [Frame(at=time.monotonic() - sent, head=True)]
        exchange.status, exchange.message = response.status_code, response.reason_phrase
        exchange.headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in response.headers.raw)
        length = value_of(exchange.headers, "content-length")
        bodiless = exchange.method == "HEAD" or exchange.status in (204, 304)
        kept = [pair for pair in exchange.headers if pair[0].lower() not in HOP_BY_HOP]
        chunked = length is None and not bodiless
        more = [("transfer-encoding", "chunked")] if chunked else []
        self.writer.write(head_bytes(status_line(exchange.status, exchange.message), [*kept, *more]))
        parts, size = list[bytes](), 0
        gone = asyncio.ensure_future(self.incoming.gone())
        try:
            async for data in _until(response, gone):
                if data is None:
                    frames.append(Frame(at=time.monotonic() - sent, gone=True))
                    await self._kept(exchange, parts, frames)
                    return False
                if isinstance(data, Exception):
                    how: Any = "reset" if isinstance(data, httpx2.ReadError) else "fin"
                    frames.append(Frame(at=time.monotonic() - sent, cut=how))
                    await self._kept(exchange, parts, frames)
                    await self._break(how)
                    return False
                parts.append(data)
                size += len(data)
                frames.append(Frame(at=time.monotonic() - sent, size=len(data)))
                if length is not None and size >= int(length):
                    await self._kept(exchange, parts, frames)  # the client takes these bytes for the end
                self.writer.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
                await self.writer.drain()
            if length is None or size < int(length):
                await self._kept(exchange, parts, frames)
            if chunked:
                self.writer.write(b"0\r\n\r\n")
            await self.writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            frames.append(Frame(at=time.monotonic() - sent, gone=True))
            await asyncio.shield(self._kept(exchange, parts, frames))
            raise
        finally:
            gone.cancel()
            await asyncio.wait({gone})  # only one may wait for what the client sends
        return True

    async def _kept(self, exchange: Exchange, parts: list[bytes], frames: list[Frame]) -> None:
        exchange.body, exchange.frames = b"".join(parts), tuple(frames)
        await self.proxy.keep(exchange)

    async def _no_answer(self, exchange: Exchange, error: httpx2.HTTPError, after: float) -> bool:
        """The upstream gave no head: a connection that broke is one, anything else is said and not recorded."""
        if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
            how: Any = "reset" if isinstance(error, httpx2.ReadError) else "fin"
            exchange.status, exchange.extra = 502, {"unanswered": True}
            await self._kept(exchange, [], [Frame(at=after, cut=how)])
            await self._break(how)
            return False
        host = urlsplit(exchange.uri).netloc.rpartition("@")[2]
        await self._say(502, f"{host} cannot be reached: {type(error).__name__}")
        return False

    async def _replay(self, exchange: Exchange) -> bool:
        found = played(exchange, scale=0.0)
        headers = [pair for pair in found.head.headers if pair[0] != "content-length"]
        self.writer.write(
            head_bytes(status_line(found.head.status, exchange.message), [*headers, ("transfer-encoding", "chunked")])
        )
        for event in found.timed:
            if isinstance(event, Chunk) and event.data:
                self.writer.write(b"%x\r\n%b\r\n" % (len(event.data), event.data))
                await self.writer.drain()
            elif not isinstance(event, Chunk | Wait):
                await self._break("fin")
                return False
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()
        return True

    async def _say(self, status: int, message: str) -> None:
        text = b'{"error":{"type":"claw_proxy_error","message":"%b"}}' % message.replace('"', "'").encode()
        self.proxy.told(message)
        headers = [("content-type", "application/json"), ("content-length", str(len(text))), ("connection", "close")]
        self.writer.write(head_bytes(status_line(status), headers) + text)
        await self.writer.drain()

    async def _break(self, how: str) -> None:
        transport: Any = self.writer.transport
        if how == "reset":
            await asyncio.sleep(0)
            reset(transport)
        else:
            transport.close()


class Tunnel:
    """A WebSocket on its way through."""

    def __init__(self, proxy: RecordingProxy, incoming: Incoming, writer: asyncio.StreamWriter) -> None:
        self.proxy, self.incoming, self.writer = proxy, incoming, writer
        self.frames: list[Frame] = []
        self._sent = time.monotonic()

    async def run(self, target: str, headers: Headers) -> None:
        path, mark, query = target.partition("?")
        base, path = self.proxy.target(path)
        url = urlsplit(f"{base}{path}{mark}{query}")
        secure = url.scheme in ("https", "wss")
        exchange = Exchange(method="GET", uri=url.geturl(), request_headers=headers, at=time.time())
        try:
            upstream, out = await asyncio.open_connection(
                url.hostname, url.port or (443 if secure else 80), ssl=ssl.create_default_context() if secure else None
            )
        except OSError as error:
            message = f"{url.hostname} cannot be reached: {error.strerror or type(error).__name__}"
            self.proxy.told(message)
            self.writer.write(head_bytes(status_line(502), [("content-length", "0"), ("connection", "close")]))
            return
        try:
            await self._handshake(exchange, Incoming(upstream), out, url.netloc.rpartition("@")[2], headers)
        finally:
            out.close()

    async def _handshake(
        self, exchange: Exchange, upstream: Incoming, out: asyncio.StreamWriter, host: str, headers: Headers
    ) -> None:
        url = urlsplit(exchange.uri)
        passed = [(n, v) for n, v in headers if n.lower() not in ("host", "sec-websocket-extensions")]
        target = f"{url.path or '/'}{'?' + url.query if url.query else ''}"
        out.write(head_bytes(f"GET {target} HTTP/1.1", [("host", host), *passed]))
        head = await upstream.head()
        if head is None:
            return
        words, answered = head
        exchange.status, exchange.message = int(words[1]), words[2] if len(words) > 2 else ""
        exchange.headers = answered
        self.frames.append(Frame(at=time.monotonic() - self._sent, head=True))
        self.writer.write(head_bytes(" ".join(words), answered))
        if exchange.status != 101:
            body = await upstream.body(answered) or b""
            self.frames.append(Frame(at=time.monotonic() - self._sent, size=len(body)))
            exchange.body, exchange.frames = body, tuple(self.frames)
            await self.proxy.keep(exchange)
            self.writer.write(body)
            return
        tasks = [
            asyncio.ensure_future(self._pump(self.incoming, out, "sent")),
            asyncio.ensure_future(self._pump(upstream, self.writer, "received")),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            exchange.frames = tuple(self.frames)
            await asyncio.shield(self.proxy.keep(exchange))

    async def _pump(self, incoming: Incoming, out: asyncio.StreamWriter, side: str) -> None:
        messages = websocket.Messages()
        while data := await incoming.some():
            out.write(data)
            await out.drain()
            for opcode, content in messages.feed(data):
                if opcode in (websocket.TEXT, websocket.BINARY):
                    value = content.decode("utf-8", "replace") if opcode == websocket.TEXT else content
                    at = time.monotonic() - self._sent
                    self.frames.append(Frame(at=at, sent=value) if side == "sent" else Frame(at=at, received=value))
                elif opcode == websocket.CLOSE and side == "received":
                    return


async def _until(response: httpx2.Response, gone: "asyncio.Future[None]") -> AsyncIterator[bytes | Exception | None]:
    """The raw pieces of a body as they come; None when the client leaves first, an error when the upstream breaks."""
    pieces = response.aiter_raw()
    while True:
        piece: asyncio.Future[bytes] = asyncio.ensure_future(anext(pieces, b""))
        both: set[asyncio.Future[Any]] = {piece, gone}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not piece.done():
            piece.cancel()
            await asyncio.wait({piece})
            yield None
            return
        error = piece.exception()
        if error is not None:
            if not isinstance(error, httpx2.HTTPError):
                raise error
            yield error
            return
        if not piece.result():
            return
        yield piece.result()


def _forwarded(headers: Headers) -> Headers:
    """A client's headers as they go on: nothing of its connection, no encoding that cannot be looked into."""
    asked = ", ".join(value for name, value in headers if name.lower() == "accept-encoding")
    wanted = [word for word in _OPENED if word in asked.lower()] or ["identity"]
    passed = [(name, value) for name, value in headers if name.lower() not in _OURS]
    return (*passed, ("accept-encoding", ", ".join(wanted)))
