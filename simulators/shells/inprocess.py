"""The simulators behind an HTTP client's transport: no socket, true streaming, timeouts of the client honoured.

One implementation serves httpx2 and httpx, sync and async. `Reading` does the thinking, without I/O: it walks through
an answer, says how long to wait, and raises what the library raises on a socket (types and words as measured there).
Like a server, an answer goes on while its reader is busy: what fell due meanwhile is there at once.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Generator, Iterator
from functools import lru_cache
from http import HTTPStatus
from importlib import import_module
from math import isinf
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import parse_qsl

from simulators.core.wire import Abort, Answer, Chunk, Ended, Head, Request, Wait
from simulators.shells.virtual_time import DeadEnd, virtual_loop


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds."""


class Provider(Protocol):
    """What a transport needs of the simulator."""

    @property
    def clock(self) -> Clock: ...

    def handle(self, request: Request) -> Answer: ...


class Reading:
    """One answer while it is read. Its generators yield seconds to wait; whoever drives them waits that long.

    `module` is the library whose errors are raised, `wording` how its sync or async side puts them.
    """

    def __init__(self, module: ModuleType, answer: Answer, clock: Clock, *, timeout: float | None, sync: bool) -> None:
        self._module, self._answer, self._clock, self._timeout = module, answer, clock, timeout
        self._events = iter(answer)
        self._due = clock.now()  # when the server has the next event ready
        self._closed = False
        self._headers_seen = False
        self._length: int | None = None
        self._received = 0
        # The socket back ends differ: the sync one passes the OS's words on, the async one (anyio) has none.
        self._timed_out, self._reset = ("timed out", "[Errno 104] Connection reset by peer") if sync else ("", "")

    def head(self) -> Generator[float, None, Head]:
        """The final head; informational ones are passed over, as clients do."""
        began = self._clock.now()
        while True:
            event = yield from self._next(began)
            if event is None:
                self.close("cut")
                raise self._module.RemoteProtocolError("Server disconnected without sending a response.")
            if isinstance(event, Head) and event.status >= 200:
                self._headers_seen = True
                self._length = _content_length(event)
                return event

    def body(self) -> Generator[float, None, bytes | None]:
        """The next piece of the body, or None at its proper end."""
        began = self._clock.now()
        while True:
            event = yield from self._next(began)
            if isinstance(event, Chunk):
                self._received += len(event.data)
                if event.data:
                    return event.data
            elif event is None:
                if self._length is not None and self._received < self._length:
                    self._end_early()
                self.close("complete")
                return None

    def _next(self, began: float) -> Generator[float, None, Head | Chunk | None]:
        """The next event that reaches the reader, who has been waiting since `began`; None when there are no more."""
        for event in self._events:
            if isinstance(event, Wait):
                self._due += event.seconds
                yield from self._wait(began)  # now, as what comes next takes effect when it is asked for
            elif not isinstance(event, Abort):
                return event
            elif event.how == "reset":
                self.close("cut")
                raise self._module.ReadError(self._reset)
            else:
                self._end_early()
        return None

    def _wait(self, began: float) -> Generator[float, None, None]:
        now = self._clock.now()
        if self._due <= now:
            return
        if self._timeout is not None and self._due - began > self._timeout:
            yield max(0.0, began + self._timeout - now)
            self.close("client_gone")
            raise self._module.ReadTimeout(self._timed_out)
        yield self._due - now

    def _end_early(self) -> None:
        """The connection was closed in the middle."""
        self.close("cut")
        if not self._headers_seen:
            raise self._module.RemoteProtocolError("Server disconnected without sending a response.")
        had = "incomplete chunked read"
        if self._length is not None:
            had = f"received {self._received} bytes, expected {self._length}"
        raise self._module.RemoteProtocolError(f"peer closed connection without sending complete message body ({had})")

    def leave(self) -> None:
        """The reader is done. Everything was received if nothing but the end was left, else the client has gone."""
        if not self._closed:
            self.close("complete" if next(self._events, None) is None else "client_gone")

    def close(self, why: Ended) -> None:
        if not self._closed:
            self._closed = True
            self._answer.close(self._clock.now(), why)


def _content_length(head: Head) -> int | None:
    for name, value in head.headers:
        if name == "content-length":
            return int(value)
    return None


def _sleep(clock: Any, seconds: float) -> None:
    """Wait in a sync client: a clock that can be advanced is, a real one passes."""
    if hasattr(clock, "advance"):
        if isinf(seconds):
            raise DeadEnd("the provider never answers and this client has no read timeout: it would wait for ever")
        clock.advance(seconds)
        return
    while seconds > 0:
        time.sleep(min(seconds, 3600.0))
        seconds -= 3600.0


async def _asleep(clock: Any, seconds: float) -> None:
    """Wait in an async client. Under a real loop a virtual clock is advanced, as in a sync client."""
    if virtual_loop() is not None or not hasattr(clock, "advance"):
        await asyncio.sleep(seconds)
    else:
        _sleep(clock, seconds)
        await asyncio.sleep(0)


def _drive(clock: Clock, steps: Generator[float, None, Any]) -> Any:
    try:
        while True:
            _sleep(clock, next(steps))
    except StopIteration as stop:
        return stop.value


async def _adrive(clock: Clock, steps: Generator[float, None, Any]) -> Any:
    try:
        while True:
            await _asleep(clock, next(steps))
    except StopIteration as stop:
        return stop.value


def wire_request(request: Any, body: bytes) -> Request:
    """A request of httpx2 or httpx as the simulators read it."""
    return Request(
        method=request.method,
        path=request.url.path,
        query=tuple(parse_qsl(request.url.query.decode("ascii"), keep_blank_values=True)) if request.url.query else (),
        headers=tuple(request.headers.multi_items()),
        body=body,
    )


@lru_cache
def transport_class(library: str) -> Any:
    """The transport class for `httpx2` or `httpx`, sync and async in one; made from a `Provider`."""
    http = import_module(library)

    class Stream(http.SyncByteStream, http.AsyncByteStream):  # type: ignore[misc,name-defined]
        """The body of one response, whichever way it is read."""

        def __init__(self, reading: Reading, clock: Clock) -> None:
            self._reading, self._clock = reading, clock

        def __iter__(self) -> Iterator[bytes]:
            try:
                while (data := _drive(self._clock, self._reading.body())) is not None:
                    yield data
            finally:
                self._reading.leave()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                while (data := await _adrive(self._clock, self._reading.body())) is not None:
                    yield data
            finally:
                self._reading.leave()

        def close(self) -> None:
            self._reading.leave()

        async def aclose(self) -> None:
            self._reading.leave()

    class SimulatorTransport(http.BaseTransport, http.AsyncBaseTransport):  # type: ignore[misc,name-defined]
        """Every request is answered by the simulator, whatever its host. Give it to a `Client` or an `AsyncClient`."""

        def __init__(self, provider: Provider) -> None:
            self._provider = provider

        def handle_request(self, request: Any) -> Any:
            reading = self._begin(request, request.read(), sync=True)
            try:
                return self._response(_drive(self._provider.clock, reading.head()), reading)
            except BaseException:
                reading.close("client_gone")
                raise

        async def handle_async_request(self, request: Any) -> Any:
            reading = self._begin(request, await request.aread(), sync=False)
            try:
                return self._response(await _adrive(self._provider.clock, reading.head()), reading)
            except BaseException:
                reading.close("client_gone")
                raise

        def _begin(self, request: Any, body: bytes, *, sync: bool) -> Reading:
            answer = self._provider.handle(wire_request(request, body))
            timeout = request.extensions.get("timeout", {}).get("read")
            return Reading(http, answer, self._provider.clock, timeout=timeout, sync=sync)

        def _response(self, head: Head, reading: Reading) -> Any:
            return http.Response(
                status_code=head.status,
                headers=[(k.encode("latin-1"), v.encode("latin-1")) for k, v in head.headers],
                stream=Stream(reading, self._provider.clock),
                extensions={"http_version": b"HTTP/1.1", "reason_phrase": _phrase(head.status)},
            )

    return SimulatorTransport


def _phrase(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode("ascii")
    except ValueError:
        return b""
