"""Real processes: each leads its own session and group, so that ending it ends what it started."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

BUFFER = 2**24  # bytes read ahead of the consumer, per stream; beyond that the program has to wait
LINGER_S = 0.2  # how long output may still come after the program is gone, from what it left behind


class HostProcesses:
    """`claw.ports.Processes` over the running loop. `env` is the whole environment of the program."""

    def __init__(self, *, linger_s: float = LINGER_S) -> None:
        self._linger_s = linger_s

    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes = b"", pty: bool = False
    ) -> "HostProcess":
        """Start a program. Without `stdin` it reads end-of-file at once: a CLI that finds an open pipe waits for it."""
        loop = asyncio.get_running_loop()
        streams = _Streams(loop, self._linger_s)
        if pty:
            return await _spawn_on_terminal(loop, streams, argv, cwd, dict(env), stdin)
        transport, _ = await loop.subprocess_exec(
            lambda: _Protocol(streams),
            *argv,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
        for fd in (1, 2):
            streams.attach(fd, cast(asyncio.ReadTransport, transport.get_pipe_transport(fd)))
        if stdin:
            pipe = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
            pipe.write(stdin)
            pipe.close()
        return HostProcess(transport, streams)


class HostProcess:
    """A started program. Read both streams, or neither: an unread one is buffered up to `BUFFER` bytes."""

    def __init__(self, transport: asyncio.SubprocessTransport, streams: "_Streams") -> None:
        self._transport = transport
        self._streams = streams
        self.pid: int = transport.get_pid() or 0

    def stdout(self) -> AsyncIterator[bytes]:
        return self._streams.read(1)

    def stderr(self) -> AsyncIterator[bytes]:
        return self._streams.read(2)

    async def wait(self) -> int:
        """The exit code, as soon as the program itself is gone: a grandchild that holds its output does not count."""
        return await asyncio.shield(self._streams.exited)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the whole group, and with it its output. Await `wait` afterwards: only then is nothing left behind."""
        self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        if self._streams.exited.done():
            self._close()
        else:
            self._streams.exited.add_done_callback(lambda _: self._close())

    def _close(self) -> None:
        self._streams.close()
        self._transport.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":  # pragma: no cover
                self._transport.send_signal(number)
            else:
                os.killpg(self.pid, number)


class _Streams:
    """What a program has said and not yet been asked for, and how it ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, linger_s: float) -> None:
        self.exited: asyncio.Future[int] = loop.create_future()
        self._loop = loop
        self._linger_s = linger_s
        self._queues: dict[int, deque[bytes]] = {1: deque(), 2: deque()}
        self._sizes = {1: 0, 2: 0}
        self._open = {1, 2}
        self._pipes: dict[int, asyncio.ReadTransport] = {}
        self._news = {1: asyncio.Event(), 2: asyncio.Event()}

    def attach(self, fd: int, pipe: asyncio.ReadTransport) -> None:
        self._pipes[fd] = pipe

    def arrived(self, fd: int, data: bytes) -> None:
        self._queues[fd].append(data)
        self._sizes[fd] += len(data)
        if self._sizes[fd] > BUFFER and fd in self._pipes:
            self._pipes[fd].pause_reading()
        self._news[fd].set()

    def ended(self, fd: int) -> None:
        self._open.discard(fd)
        self._news[fd].set()

    def exit(self, code: int) -> None:
        if not self.exited.done():
            self.exited.set_result(code)
        for news in self._news.values():
            news.set()

    def close(self) -> None:
        """Nothing more is read; what is buffered can still be had."""
        for fd, pipe in self._pipes.items():
            pipe.close()
            self.ended(fd)

    async def read(self, fd: int) -> AsyncIterator[bytes]:
        """Chunks as they came. Ends at end-of-file, or when the program is gone and its heirs stay silent."""
        queue, news, left = self._queues[fd], self._news[fd], self._linger_s
        while True:
            while queue:
                data = queue.popleft()
                self._sizes[fd] -= len(data)
                if self._sizes[fd] <= BUFFER // 2 and fd in self._open and fd in self._pipes:
                    self._pipes[fd].resume_reading()
                yield data
            if fd not in self._open:
                return
            news.clear()
            gone, since = self.exited.done(), self._loop.time()
            try:
                async with asyncio.timeout(left if gone else None):
                    await news.wait()
                left -= self._loop.time() - since if gone else 0.0
            except TimeoutError:
                self._open.discard(fd)
                if fd in self._pipes:
                    self._pipes[fd].close()


class _Protocol(asyncio.SubprocessProtocol):
    def __init__(self, streams: _Streams) -> None:
        self._streams = streams
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._streams.arrived(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd:
            self._streams.ended(fd)

    def process_exited(self) -> None:
        assert self._transport is not None
        code = self._transport.get_returncode()
        self._streams.exit(code if code is not None else -1)


class _Terminal(asyncio.Protocol):
    """The master side of a pseudo-terminal: both output streams of the program, in one."""

    def __init__(self, streams: _Streams) -> None:
        self._streams = streams

    def data_received(self, data: bytes) -> None:
        self._streams.arrived(1, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._streams.ended(1)


async def _spawn_on_terminal(
    loop: asyncio.AbstractEventLoop, streams: _Streams, argv: Sequence[str], cwd: str, env: dict[str, str], stdin: bytes
) -> HostProcess:
    import fcntl
    import termios

    master, slave = os.openpty()
    try:
        transport, _ = await loop.subprocess_exec(
            lambda: _Protocol(streams),
            *argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: cast(Any, fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    if stdin:
        os.write(master, stdin)
    pipe, _ = await loop.connect_read_pipe(lambda: _Terminal(streams), os.fdopen(master, "rb", buffering=0))
    streams.attach(1, pipe)
    streams.ended(2)
    return HostProcess(transport, streams)
