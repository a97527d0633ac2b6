"""Running the HTTP door: in the foreground until a signal, or on a thread beside the code under test."""

import asyncio
import gc
import ipaddress
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Protocol, TypeVar

from simulators.shells.http import HttpDoor, Listener, bind, new_loop, url_of

T = TypeVar("T")


class RealClock:
    """The clock of the outside world. `rate` > 1 lets it run faster (and the door wait shorter)."""

    def __init__(self, *, rate: float = 1.0) -> None:
        self.rate = rate
        self._began, self._monotonic = time.time(), time.monotonic()

    def now(self) -> float:
        """Unix seconds."""
        return self._began + self.monotonic()

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return (time.monotonic() - self._monotonic) * self.rate


class Listening(Protocol):
    """What takes connections: `start` it in a running loop, `close` it there."""

    async def start(self, sockets: Iterable[socket.socket]) -> None: ...

    async def close(self) -> None: ...


Door = HttpDoor | Listening


def _listening(door: Door) -> Listening:
    return Listener(door) if isinstance(door, HttpDoor) else door


def is_loopback(host: str) -> bool:
    """Whether an address or name is one that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(app: Door, sock: socket.socket, *, ready: Callable[[str], None]) -> str:
    """Serve until SIGTERM or SIGINT; the name of the signal. `ready` is told the URL when connections are taken.

    For a process of its own: the collector of cycles is told to look less often, as answers leave hardly any.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_serve(app, sock, ready))


async def _serve(app: Door, sock: socket.socket, ready: Callable[[str], None]) -> str:
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    received: list[str] = []

    def stop(number: signal.Signals) -> None:
        received.append(number.name)
        end.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    listener = _listening(app)
    await listener.start([sock])
    ready(url_of(sock))
    await end.wait()
    await listener.close()
    return received[0]


class ServedOnThread:
    """A door open on a daemon thread with a loop of its own. Use it as a context manager, or call `close`."""

    def __init__(self, app: Door) -> None:
        self._socket = bind()
        self.url = url_of(self._socket)
        self._app = app
        self._loop = new_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="simulators", daemon=True)
        self._started: Future[None] = Future()
        self._pid = os.getpid()
        self._thread.start()
        self._started.result(timeout=30)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        except BaseException as error:
            if not self._started.done():
                self._started.set_exception(error)
            raise
        finally:
            self._loop.close()

    async def _main(self) -> None:
        listener = _listening(self._app)
        await listener.start([self._socket])
        self._started.set_result(None)
        await self._end.wait()
        await listener.close()

    def call(self, function: Callable[[], T]) -> T:
        """Run a function on the door's thread, so that it does not meet a request at work; its result or exception."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(function())
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(timeout=30)

    def close(self) -> None:
        """End the thread. In a forked child, whose thread does not exist, it does nothing."""
        if os.getpid() == self._pid and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(timeout=10)

    def __enter__(self) -> "ServedOnThread":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
