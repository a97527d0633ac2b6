"""The CLI fakes in process: a `Processes` port whose programs are generators, run under the loop that runs now.

Under the virtual loop everything is deterministic and an hour of waiting costs nothing. Files are real, below the HOME
that the caller's environment names; a tool that a fake runs (Bash) is a real process.
"""

import asyncio
import os
import signal as signals
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from typing import Any, Protocol, TypeVar

from simulators.cli.config import FakeConfig, parse_config
from simulators.cli.effects import (
    WAITING,
    Call,
    Die,
    Effect,
    Exec,
    Executed,
    Exit,
    Hangup,
    Heard,
    HearServer,
    IgnoreSigterm,
    Interrupted,
    ListFiles,
    NextChunk,
    Now,
    Orphan,
    Program,
    ReadFile,
    ReadStdin,
    Start,
    StartServer,
    TellServer,
    Wait,
    WatchStdin,
    Write,
    WriteFile,
)
from simulators.cli.start import FAKES, start_fake
from simulators.shells.alone import alone_provider
from simulators.shells.answers import AnswerReader, Provider
from simulators.shells.file_effects import perform_file

T = TypeVar("T")
_FIRST_PID = 4_200_001  # above what Linux gives out, so that none of ours is ever somebody's


class Process(Protocol):
    """What a caller holds of a started program (structurally `claw.ports.Process`)."""

    pid: int

    def stdout(self) -> AsyncIterator[bytes]: ...
    def stderr(self) -> AsyncIterator[bytes]: ...
    async def wait(self) -> int: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Fallback(Protocol):
    """Who starts the programs that are no fakes."""

    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes = b"", pty: bool = False
    ) -> Any: ...


@dataclass(slots=True)
class Spawn:
    """One start of a fake. `exit` is None while it runs; `env` is the whole environment it was given."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes | None
    at: float
    exit: int | None = None


class FakeProcesses:
    """Starts the fakes in process; everything else goes to `fallback` (without one: FileNotFoundError).

    `config` is a document of DESIGN's CLI fakes (a mapping, YAML text, or `FakeConfig`); it may be replaced between
    runs. `spawns` records every start of a fake. `real_path` says where a path that a fake names really is, so that a
    caller may show its programs fixed names. Raises `DocumentError` for a bad document.
    """

    def __init__(
        self,
        simulator: Provider,
        *,
        config: FakeConfig | Mapping[str, Any] | str | None = None,
        fallback: Fallback | None = None,
        seed: int = 0,
        root: bool = False,
        real_path: Callable[[str], str] = str,
    ) -> None:
        self.config = config if isinstance(config, FakeConfig) else parse_config(config or {})
        self.spawns: list[Spawn] = []
        self._simulator, self._fallback, self._seed, self._root = simulator, fallback, seed, root
        self._real_path = real_path
        self._alone: Provider | None = None

    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes | None = b"", pty: bool = False
    ) -> Process:
        """Start a program. Raises `FileNotFoundError` for one that is no fake when there is no fallback.

        `stdin=None` leaves a fake's standard input open, to be written with `FakeProcess.write` until `close_stdin`.
        """
        name = os.path.basename(argv[0]) if argv else ""
        if name not in FAKES:
            if self._fallback is None:
                raise FileNotFoundError(2, "No such file or directory", argv[0] if argv else "")
            started: Process = await self._fallback.spawn(argv, cwd=cwd, env=env, stdin=stdin or b"", pty=pty)
            return started
        provider = self._provider()
        spawn = Spawn(name, tuple(argv), dict(env), cwd, stdin, provider.clock.now())
        self.spawns.append(spawn)
        run = sum(1 for s in self.spawns if s.name == name)
        seed = self._seed * 1_000_003 + len(self.spawns)
        program = start_fake(
            name,
            Start(tuple(argv[1:]), dict(env), cwd, seed=seed, root=self._root),
            version=self.config.version_of(name),
            auto_compact_window=self.config.auto_compact_window,
            alone=self.config.answer == "alone",
            misbehave=[way for way in self.config.misbehave if way.active(run)],
        )
        return FakeProcess(program, spawn, provider, pid=_FIRST_PID + len(self.spawns), real_path=self._real_path)

    def _provider(self) -> Provider:
        """The simulator, or with `answer: alone` one of the fakes' own with the document's `provider`."""
        if self.config.answer != "alone" or self.config.provider is None:
            return self._simulator
        if self._alone is None:
            self._alone = alone_provider(self.config.provider, clock=self._simulator.clock, seed=self._seed)
        return self._alone


@dataclass(slots=True)
class _Pipe:
    """One output of a fake: what was written, and a wake-up for whoever reads."""

    data: bytearray = field(default_factory=bytearray)
    closed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, data: bytes) -> None:
        if not self.closed:
            self.data += data
            self.changed.set()

    def close(self) -> None:
        self.closed = True
        self.changed.set()

    async def read(self) -> AsyncIterator[bytes]:
        while True:
            if self.data:
                taken = bytes(self.data)
                self.data.clear()
                yield taken
            elif self.closed:
                return
            else:
                self.changed.clear()
                await self.changed.wait()


class FakeProcess:
    """A fake while it runs: a task that performs its effects."""

    def __init__(
        self, program: Program, spawn: Spawn, provider: Provider, *, pid: int, real_path: Callable[[str], str] = str
    ) -> None:
        self.pid = pid
        self._real_path = real_path
        self._program, self._spawn, self._provider = program, spawn, provider
        self._out, self._err = _Pipe(), _Pipe()
        self._stdin = spawn.stdin or b""
        self._stdin_open = spawn.stdin is None
        self._stdin_changed = asyncio.Event()
        self._watched: WatchStdin | None = None
        self._waits = False  # at an effect into which a watched line may be thrown
        self._reader: AnswerReader | None = None
        self._ignores_sigterm = False
        self._linger = 0.0
        self._interrupt: Interrupted | Heard | None = None
        self._child: asyncio.subprocess.Process | None = None
        self._servers: dict[str, asyncio.subprocess.Process] = {}
        loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int] = loop.create_future()
        self._task = loop.create_task(self._run(), name=f"fake {spawn.name} {pid}")

    def stdout(self) -> AsyncIterator[bytes]:
        return self._out.read()

    def stderr(self) -> AsyncIterator[bytes]:
        return self._err.read()

    async def wait(self) -> int:
        """The exit code; negative for a signal."""
        code = await asyncio.shield(self._exited)
        if not self._task.done():
            await asyncio.wait([self._task])  # what it had started is gone as well
        return code

    def terminate(self) -> None:
        """SIGTERM: the CLI prints nothing more and exits with 143."""
        if not self._ignores_sigterm:
            self._end(143)

    def interrupt(self) -> None:
        """SIGINT: the CLI notes the interruption and exits with 0."""
        if not self._exited.done():
            self._interrupt = Interrupted()
            self._task.cancel()

    def write(self, data: bytes) -> None:
        """More standard input, for a fake that was started with `stdin=None`."""
        self._stdin += data
        self._stdin_changed.set()
        if self._waits and self._interrupt is None and (line := self._hear()) is not None:
            self._interrupt = Heard(line)
            self._task.cancel()

    def close_stdin(self) -> None:
        """The end of standard input."""
        self._stdin_open = False
        self._stdin_changed.set()

    def _hear(self) -> bytes | None:
        """Take the first watched line out of what came."""
        if self._watched is None:
            return None
        lines = self._stdin.splitlines(keepends=True)
        for index, line in enumerate(lines):
            if line.endswith(b"\n") and self._watched.wants(line):
                self._stdin = b"".join(lines[:index] + lines[index + 1 :])
                return line
        return None

    def kill(self) -> None:
        """SIGKILL, to the whole group."""
        self._linger = 0.0
        self._end(-signals.SIGKILL)
        self._out.close()
        self._err.close()

    def _end(self, code: int) -> None:
        if not self._exited.done():
            self._finish(code)
            self._task.cancel()

    def _finish(self, code: int) -> None:
        self._spawn.exit = code
        self._exited.set_result(code)
        if self._reader is not None:
            self._reader.leave()
        self._kill_children()
        if self._linger:
            loop = asyncio.get_running_loop()
            loop.call_later(self._linger, self._out.close)
            loop.call_later(self._linger, self._err.close)
        else:
            self._out.close()
            self._err.close()

    def _kill_children(self) -> None:
        """End the tool that runs and the servers, each with all that it started."""
        for child in (self._child, *self._servers.values()):
            if child is not None:
                _end_group(child)

    async def _run(self) -> None:
        try:
            await self._drive()
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            if not self._exited.done():
                self._err.write(f"the fake {self._spawn.name} broke: {error!r}\n".encode())
                self._finish(70)
            raise
        finally:
            if not self._exited.done():
                self._finish(-signals.SIGKILL)
            self._program.close()
            for child in (self._child, *self._servers.values()):
                if child is not None:
                    await child.wait()

    async def _drive(self) -> None:
        result: Any = None
        while not self._exited.done():
            try:
                effect = self._program.send(result)
                while True:
                    try:
                        result = await self._attend(effect)
                        break
                    except (asyncio.CancelledError, Heard) as thrown:
                        told = thrown if isinstance(thrown, Heard) else self._interrupt
                        if told is None:
                            raise
                        self._interrupt = None
                        effect = self._program.throw(told)
            except StopIteration:
                self._finish(0)

    async def _attend(self, effect: Effect) -> Any:
        """Perform an effect; a watched line ends the waiting."""
        if not isinstance(effect, WAITING) or isinstance(effect, ReadStdin):
            return await self._perform(effect)
        if (line := self._hear()) is not None:
            raise Heard(line)
        self._waits = True
        try:
            return await self._perform(effect)
        finally:
            self._waits = False
            if self._child is not None and self._child.returncode is None:
                _end_group(self._child)

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Write):
            (self._out if effect.stream == "stdout" else self._err).write(effect.data)
            await asyncio.sleep(0)
            return None
        if isinstance(effect, Wait):
            await (
                asyncio.get_running_loop().create_future() if isinf(effect.seconds) else asyncio.sleep(effect.seconds)
            )
            return None
        if isinstance(effect, Call | NextChunk | Hangup):
            return await self._talk(effect)
        if isinstance(effect, Exec):
            return await self._exec(effect)
        if isinstance(effect, StartServer | TellServer | HearServer):
            return await self._serve(effect)
        if isinstance(effect, ReadStdin):
            return await self._read_stdin(effect)
        if isinstance(effect, Now):
            return self._provider.clock.now()
        if isinstance(effect, ReadFile | ListFiles | WriteFile):
            return perform_file(replace(effect, path=self._real_path(effect.path)))
        if isinstance(effect, WatchStdin):
            self._watched = effect
        elif isinstance(effect, IgnoreSigterm):
            self._ignores_sigterm = True
        elif isinstance(effect, Orphan):
            self._linger = effect.seconds
        elif isinstance(effect, Exit):
            self._finish(effect.code)
        elif isinstance(effect, Die):
            self._finish(-effect.signal)
        return None

    async def _talk(self, effect: Call | NextChunk | Hangup) -> Any:
        if isinstance(effect, Call):
            self._reader = AnswerReader(self._provider, effect)
            return await _asleep(self._reader.head())
        assert self._reader is not None
        if isinstance(effect, NextChunk):
            return await _asleep(self._reader.chunk())
        self._reader.leave()
        return None

    async def _read_stdin(self, effect: ReadStdin) -> bytes:
        try:
            async with asyncio.timeout(effect.timeout_s):
                while self._stdin_open and (effect.all or b"\n" not in self._stdin):
                    self._stdin_changed.clear()
                    await self._stdin_changed.wait()
        except TimeoutError:
            return b""
        end = len(self._stdin) if effect.all else self._stdin.find(b"\n") + 1 or len(self._stdin)
        taken, self._stdin = self._stdin[:end], self._stdin[end:]
        return taken

    async def _start_program(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], *, stderr: int = asyncio.subprocess.PIPE
    ) -> asyncio.subprocess.Process:
        """Start a real program with pipes; the fake's environment and `env`. While it runs, virtual time is real."""
        pipe = asyncio.subprocess.PIPE
        environment = {name: self._real_path(value) for name, value in {**self._spawn.env, **env}.items()}
        real = self._real_path(cwd)
        return await asyncio.create_subprocess_exec(
            *argv, cwd=real, env=environment, stdin=pipe, stdout=pipe, stderr=stderr, start_new_session=True
        )

    async def _serve(self, effect: StartServer | TellServer | HearServer) -> bool | bytes | None:
        if isinstance(effect, StartServer):
            try:
                self._servers[effect.name] = await self._start_program(
                    effect.argv, self._spawn.cwd, effect.env, stderr=asyncio.subprocess.DEVNULL
                )
            except OSError:
                return False
            return True
        server = self._servers.get(effect.name)
        if server is None or server.stdin is None or server.stdout is None:
            return b"" if isinstance(effect, HearServer) else None
        if isinstance(effect, TellServer):
            server.stdin.write(effect.data)
            return None
        try:
            async with asyncio.timeout(effect.timeout_s):
                return await server.stdout.readline()
        except TimeoutError:
            return b""

    async def _exec(self, effect: Exec) -> Executed:
        self._child = child = await self._start_program(effect.argv, effect.cwd, {})
        try:
            async with asyncio.timeout(effect.timeout_s):
                out, err = await child.communicate(effect.stdin)
            return Executed(child.returncode or 0, out, err)
        except TimeoutError:
            _end_group(child)
            await child.wait()
            return Executed(-signals.SIGKILL, b"", b"", timed_out=True)


def _end_group(child: asyncio.subprocess.Process) -> None:
    """SIGKILL to a program's group, if it runs, and its pipes closed (by us, not by the garbage collector)."""
    if child.returncode is None:
        try:
            os.killpg(child.pid, signals.SIGKILL)
        except ProcessLookupError:
            pass
    child._transport.close()  # type: ignore[attr-defined]


async def _asleep(steps: Generator[float, None, T]) -> T:
    """Drive a generator of waits."""
    while True:
        try:
            seconds = next(steps)
        except StopIteration as stop:
            value: T = stop.value
            return value
        await (asyncio.get_running_loop().create_future() if isinf(seconds) else asyncio.sleep(seconds))
