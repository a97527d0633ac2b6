"""A provider whose answer is a list of events, to judge the doors alone."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import httpx2
import pytest

from simulators.core.wire import Request, WireEvent
from simulators.shells.http import HttpDoor
from simulators.shells.inprocess import transport_class
from simulators.shells.serving import RealClock, ServedOnThread
from simulators.shells.virtual_time import VirtualClock, run


@dataclass
class Canned:
    """Answers every request with the same events; remembers the requests and how each answer was closed."""

    events: Sequence[WireEvent] = ()
    clock: Any = field(default_factory=VirtualClock)
    requests: list[Request] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    closed_at: list[float] = field(default_factory=list)
    given: int = 0

    def handle(self, request: Request) -> "Canned":
        self.requests.append(request)
        self.given = 0
        return self

    def __iter__(self) -> Iterator[WireEvent]:
        for event in self.events:
            self.given += 1
            yield event

    def close(self, now: float, why: str) -> None:
        self.closed.append(why)
        self.closed_at.append(now)


def sync_read(client: Any, *, url: str = "http://provider/v1/messages", stop_after: int | None = None) -> list[Any]:
    """What a sync client sees: status, pieces of the body, and at last the exception if there was one."""
    seen: list[Any] = []
    try:
        with client.stream("POST", url, content=b"{}") as response:
            seen.append(response.status_code)
            for n, piece in enumerate(response.iter_raw(), 1):
                seen.append(piece)
                if n == stop_after:
                    break
    except Exception as error:
        seen.append(error)
    return seen


async def async_read(
    client: Any, *, url: str = "http://provider/v1/messages", stop_after: int | None = None
) -> list[Any]:
    """The same for an async client."""
    seen: list[Any] = []
    try:
        async with client.stream("POST", url, content=b"{}") as response:
            seen.append(response.status_code)
            pieces = response.aiter_raw()
            n = 0
            async for piece in pieces:
                seen.append(piece)
                if (n := n + 1) == stop_after:
                    break
            await pieces.aclose()
    except Exception as error:
        seen.append(error)
    return seen


Read = Callable[..., list[Any]]


@pytest.fixture(params=["httpx2-sync", "httpx2-async", "httpx-sync", "httpx-async"])
def library(request: pytest.FixtureRequest) -> tuple[Any, str, bool]:
    """The HTTP library, its name, and whether it is used sync."""
    name, way = request.param.split("-")
    return {"httpx": httpx, "httpx2": httpx2}[name], name, way == "sync"


@pytest.fixture
def read_in_process(library: tuple[Any, str, bool]) -> Read:
    """`read(canned, timeout=…, stop_after=…)` through the in-process transport, under virtual time when async."""
    module, name, sync = library

    def read(canned: Canned, *, timeout: float | None = None, stop_after: int | None = None) -> list[Any]:
        transport = transport_class(name)(canned)
        if sync:
            with module.Client(transport=transport, timeout=timeout) as client:
                return sync_read(client, stop_after=stop_after)

        async def main() -> list[Any]:
            async with module.AsyncClient(transport=transport, timeout=timeout) as client:
                return await async_read(client, stop_after=stop_after)

        return run(main())

    return read


@pytest.fixture
def read_on_socket(library: tuple[Any, str, bool]) -> Read:
    """The same over a real socket, in real time."""
    module, _, sync = library

    def read(canned: Canned, *, timeout: float | None = None, stop_after: int | None = None) -> list[Any]:
        canned.clock = RealClock()
        with ServedOnThread(HttpDoor(canned)) as served:
            if sync:
                with module.Client(timeout=timeout) as client:
                    seen = sync_read(client, url=f"{served.url}/v1/messages", stop_after=stop_after)
            else:

                async def main() -> list[Any]:
                    async with module.AsyncClient(timeout=timeout) as client:
                        return await async_read(client, url=f"{served.url}/v1/messages", stop_after=stop_after)

                seen = asyncio.run(main())
            until = time.monotonic() + 5
            while not canned.closed and time.monotonic() < until:
                time.sleep(0.001)  # the server hears of a client's leaving a moment later
            return seen

    return read


@pytest.fixture
def canned() -> type[Canned]:
    return Canned
