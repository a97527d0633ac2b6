"""A load client that costs little: raw HTTP/1.1 on asyncio, one request after the other on each connection."""

import asyncio
import time
from urllib.parse import urlsplit

import msgspec


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What came back in a time. `gaps` are the seconds between two pieces of one answer, where they were asked for."""

    requests: int
    failed: int
    seconds: float
    gaps: tuple[float, ...] = ()

    @property
    def per_s(self) -> float:
        return self.requests / self.seconds

    def gap(self, share: float) -> float:
        """The gap that `share` of all do not exceed."""
        ordered = sorted(self.gaps)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class _Client(asyncio.Protocol):
    def __init__(self, request: bytes, tally: "_Tally") -> None:
        self._request, self._tally = request, tally
        self._transport: asyncio.Transport
        self._head = b""
        self._begun = False
        self._left: int | None = None
        self._tail = b""
        self._last = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._head, self._begun, self._left, self._tail, self._last = b"", False, None, b"", 0.0
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self._begun:
            self._head += data
            head, end, data = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            self._begun, lower = True, head.lower()
            self._tally.failed += not lower.startswith(b"http/1.1 200")
            _, found, length = lower.partition(b"content-length: ")
            self._left = int(length.split(b"\r", 1)[0]) if found else None
        if self._tally.gaps is not None and data:
            now = time.perf_counter()
            if self._last:
                self._tally.gaps.append(now - self._last)
            self._last = now
        if self._left is not None:
            self._left -= len(data)
            done = self._left <= 0
        else:
            self._tail = (self._tail + data)[-7:]
            done = self._tail.endswith(b"0\r\n\r\n")
        if done:
            self._tally.requests += 1
            if self._tally.over:
                self._transport.close()
            else:
                self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self._tally.failed += not self._tally.over


class _Tally:
    def __init__(self, gaps: bool) -> None:
        self.requests = self.failed = 0
        self.over = False
        self.gaps: list[float] | None = [] if gaps else None


async def press(
    url: str, body: bytes, *, clients: int, seconds: float, warmup: float = 0.5, gaps: bool = False
) -> Load:
    """Ask `POST /v1/messages` from so many clients at once for so long. Raises OSError if nobody listens."""
    place = urlsplit(url)
    head = (
        f"POST /v1/messages HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        f"x-api-key: sk-load\r\nanthropic-version: 2023-06-01\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    loop, tally = asyncio.get_running_loop(), _Tally(gaps)
    transports = []
    for _ in range(clients):
        transport, _ = await loop.create_connection(
            lambda: _Client(head.encode() + body, tally), place.hostname or "", place.port or 80
        )
        transports.append(transport)
    await asyncio.sleep(warmup)
    began, before, failed = time.perf_counter(), tally.requests, tally.failed
    if tally.gaps is not None:
        tally.gaps.clear()
    await asyncio.sleep(seconds)
    load = Load(
        requests=tally.requests - before,
        failed=tally.failed - failed,
        seconds=time.perf_counter() - began,
        gaps=tuple(tally.gaps or ()),
    )
    tally.over = True
    for transport in transports:
        transport.abort()
    await asyncio.sleep(0)
    return load
