"""The CLI fakes as programs: `python -m simulators.shells.program claude ARGS…` behaves as the `claude` on PATH would.

`claude@2.1.19` plays that release. Only the standard library is imported at start, so that a run takes no longer than
the real CLI; a document in `CLAW_FAKE_CONFIG` (a path, or the document itself if it begins with `{`) and a simulator
of the fake's own (`answer: alone`) are loaded when they are asked for.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import isinf
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simulators.cli.effects import (
    WAITING,
    Call,
    CallFailed,
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
    Reply,
    Start,
    StartServer,
    TellServer,
    Wait,
    WatchStdin,
    Write,
    WriteFile,
)
from simulators.cli.start import BASE_URLS, FAKES, VENDORS, FakePlan, start_fake
from simulators.shells.file_effects import perform_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPConnection, HTTPResponse

    from simulators.shells.answers import AnswerReader, Provider
    from simulators.shells.stdin_watch import StdinWatch

_CHUNK = 65536
_TIMEOUT_S = 600.0  # the CLI's own limit on a silent connection


class RealClock:
    """The machine's clock, for a simulator of the fake's own."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()


class Performer:
    """Performs effects for real. `open_provider` makes who answers calls in this process, at the first call; without
    it they go over HTTP, as do those to any other host than `vendor` where that is given."""

    def __init__(self, open_provider: "Callable[[], Provider] | None" = None, vendor: str | None = None) -> None:
        self._open_provider, self._vendor = open_provider, vendor
        self._provider: Provider | None = None
        self._connection: HTTPConnection | None = None
        self._response: HTTPResponse | None = None
        self._reader: AnswerReader | None = None
        self.child: subprocess.Popen[bytes] | None = None
        self.watch: StdinWatch | None = None
        self._servers = Servers()

    def perform(self, effect: Effect) -> Any:
        """The result that the fake is sent. `Exit` and `Die` do not come here."""
        if isinstance(effect, Write):
            return self._write(effect)
        if isinstance(effect, Wait):
            return _sleep(effect.seconds)
        if isinstance(effect, ReadStdin):
            return _read_stdin(effect) if self.watch is None else _watched(self.watch, effect)
        if isinstance(effect, WatchStdin):
            from simulators.shells.stdin_watch import StdinWatch

            self.watch = StdinWatch(effect)
            return None
        if isinstance(effect, Call):
            return self._call(effect)
        if isinstance(effect, NextChunk):
            return self._chunk()
        if isinstance(effect, Hangup):
            return self._hang_up()
        if isinstance(effect, Exec):
            return self._exec(effect)
        if isinstance(effect, StartServer | TellServer | HearServer):
            return self._servers.perform(effect)
        if isinstance(effect, ReadFile | ListFiles | WriteFile):
            return perform_file(effect)
        if isinstance(effect, Now):
            return time.time()
        if isinstance(effect, IgnoreSigterm):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif isinstance(effect, Orphan):
            subprocess.Popen(["/bin/sleep", str(effect.seconds)], stdin=subprocess.DEVNULL, start_new_session=True)
        return None

    def _write(self, effect: Write) -> None:
        fd = 1 if effect.stream == "stdout" else 2
        left = memoryview(effect.data)
        while left:
            left = left[os.write(fd, left) :]

    def _call(self, effect: Call) -> Reply | CallFailed:
        self._hang_up()
        own = self._vendor is None or urlsplit(effect.url).hostname == self._vendor
        if self._open_provider is not None and own:
            from simulators.shells.answers import AnswerReader

            self._provider = self._provider or self._open_provider()
            self._reader = AnswerReader(self._provider, effect)
            reply: Reply | CallFailed = _slept(self._reader.head())
            return reply
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        url = urlsplit(effect.url)
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        self._connection = kind(url.hostname or "127.0.0.1", url.port, timeout=_TIMEOUT_S)
        target = url.path + (f"?{url.query}" if url.query else "")
        try:
            self._connection.putrequest(effect.method, target, skip_accept_encoding=True)
            for name, value in effect.headers:
                self._connection.putheader(name, value.encode("utf-8"))
            self._connection.putheader("Content-Length", str(len(effect.body)))
            self._connection.endheaders(effect.body)
            self._response = response = self._connection.getresponse()
        except TimeoutError as error:
            return CallFailed("timeout", str(error))
        except (OSError, HTTPException) as error:
            return CallFailed("connect", str(error))
        return Reply(response.status, tuple((name.lower(), value) for name, value in response.getheaders()))

    def _chunk(self) -> bytes | CallFailed:
        if self._reader is not None:
            chunk: bytes | CallFailed = _slept(self._reader.chunk())
            return chunk
        from http.client import HTTPException

        assert self._response is not None
        try:
            return self._response.read1(_CHUNK)
        except TimeoutError as error:
            return CallFailed("timeout", str(error))
        except (OSError, HTTPException, ValueError) as error:
            return CallFailed("reset", str(error))

    def _hang_up(self) -> None:
        if self._reader is not None:
            self._reader.leave()
        if self._connection is not None:
            self._connection.close()
        self._reader = self._connection = self._response = None

    def _exec(self, effect: Exec) -> Executed:
        pipe = subprocess.PIPE
        self.child = child = subprocess.Popen(
            list(effect.argv), cwd=effect.cwd, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        try:
            out, err = child.communicate(effect.stdin, timeout=effect.timeout_s)
            return Executed(child.returncode, out, err)
        except subprocess.TimeoutExpired:
            self.kill_child()
            out, err = child.communicate()
            return Executed(-signal.SIGKILL, out, err, timed_out=True)

    def close(self) -> None:
        """Let go of servers and connections."""
        self._servers.close()
        self._hang_up()

    def kill_all(self) -> None:
        """End the tool that runs and the servers."""
        self._servers.close()
        self.kill_child()

    def interruption(self) -> Interrupted | Heard:
        """What was meant by a SIGINT: a line on stdin that must be heard, or the user's Ctrl-C."""
        line = self.watch.heard() if self.watch is not None else None
        if line is None:
            self.kill_all()
            return Interrupted()
        self.kill_child()
        return Heard(line)

    def kill_child(self) -> None:
        """End the tool that runs, with all that it started."""
        if self.child is not None and self.child.poll() is None:
            try:
                os.killpg(self.child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Servers:
    """Programs that a fake talks to by lines."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def perform(self, effect: StartServer | TellServer | HearServer) -> bool | bytes | None:
        """The effect's result."""
        if isinstance(effect, StartServer):
            return self._start(effect)
        server = self._running.get(effect.name)
        if isinstance(effect, HearServer):
            return b"" if server is None else _line(server.stdout, effect.timeout_s)
        try:
            if server is not None and server.stdin is not None:
                server.stdin.write(effect.data)
                server.stdin.flush()
        except OSError:
            pass
        return None

    def _start(self, effect: StartServer) -> bool:
        pipe = subprocess.PIPE
        env = {**os.environ, **effect.env}
        try:
            self._running[effect.name] = subprocess.Popen(
                list(effect.argv), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env, start_new_session=True
            )
        except OSError:
            return False
        return True

    def close(self) -> None:
        """End them all."""
        for server in self._running.values():
            try:
                os.killpg(server.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            server.communicate()
        self._running = {}


def _line(stream: Any, timeout_s: float) -> bytes:
    """The next line of a pipe, b"" if none comes in time. The pipe is read unbuffered, so that waiting is honest."""
    parts: list[bytes] = []
    while not parts or parts[-1] != b"\n":
        if not select.select([stream], [], [], timeout_s)[0]:
            return b""
        taken = os.read(stream.fileno(), 1)
        if not taken:
            return b""
        parts.append(taken)
    return b"".join(parts)


def _sleep(seconds: float) -> None:
    if isinf(seconds):
        while True:
            time.sleep(3600)
    time.sleep(seconds)


def _slept(steps: Any) -> Any:
    """Drive a generator of waits to its value."""
    while True:
        try:
            _sleep(next(steps))
        except StopIteration as stop:
            return stop.value


def _read_stdin(effect: ReadStdin) -> bytes:
    """From the descriptor itself, so that a line is there as soon as it was written."""
    parts: list[bytes] = []
    while True:
        if effect.timeout_s is not None and not parts and not select.select([0], [], [], effect.timeout_s)[0]:
            return b""
        taken = os.read(0, _CHUNK if effect.all else 1)
        parts.append(taken)
        if not taken or (taken == b"\n" and not effect.all):
            return b"".join(parts)


def _watched(watch: "StdinWatch", effect: ReadStdin) -> bytes:
    return watch.rest() if effect.all else watch.line(effect.timeout_s)


class Gate:
    """Lets SIGINT through only while the fake waits: at any other moment it is kept until it does."""

    def __init__(self) -> None:
        self._open = self._pending = False

    def knock(self, _number: int, _frame: Any) -> None:
        """The signal's handler."""
        if self._open:
            self._open = False
            raise KeyboardInterrupt
        self._pending = True

    @contextmanager
    def open(self, effect: Effect, watch: "StdinWatch | None") -> Iterator[None]:
        """Raises KeyboardInterrupt inside when there is something to tell."""
        if not isinstance(effect, WAITING):
            yield
            return
        listens = watch is not None and not isinstance(effect, ReadStdin)
        self._open = True
        try:
            if self._pending or (listens and watch is not None and watch.arm()):
                self._pending = False
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False
            if listens and watch is not None:
                watch.disarm()


def drive(program: Program, performer: Performer) -> int:
    """Perform a fake's effects to its end; the exit code. SIGINT is thrown into the fake, SIGTERM ends it with 143."""

    def terminated(_number: int, _frame: Any) -> None:
        performer.kill_all()
        os._exit(143)

    gate = Gate()
    signal.signal(signal.SIGTERM, terminated)
    signal.signal(signal.SIGINT, gate.knock)
    result: Any = None
    try:
        effect = program.send(None)
        while True:
            if isinstance(effect, Exit):
                return effect.code
            if isinstance(effect, Die):
                signal.signal(effect.signal, signal.SIG_DFL) if effect.signal != signal.SIGKILL else None
                os.kill(os.getpid(), effect.signal)
            try:
                with gate.open(effect, performer.watch):
                    result = performer.perform(effect)
            except KeyboardInterrupt:
                effect = program.throw(performer.interruption())
                continue
            effect = program.send(result)
    except StopIteration:
        return 0
    except BrokenPipeError:
        return 141


def _own() -> Any:
    """The simulator of a fake that was told nothing."""
    from simulators.shells.alone import alone_provider

    return alone_provider(None, clock=RealClock(), seed=0)


def main(argv: list[str] | None = None) -> int:
    """Run the fake that the first word names. A bad document or name: a message on stderr, exit code 2."""
    words = sys.argv[1:] if argv is None else argv
    name, _, pinned = (words[0] if words else "").partition("@")
    if name not in FAKES:
        print(f"there is no fake of `{name}`; there are {', '.join(FAKES)}", file=sys.stderr)
        return 2
    env = dict(os.environ)
    document = env.get("CLAW_FAKE_CONFIG", "")
    plan = FakePlan(pinned)
    if not document and pinned and name in VENDORS:
        plan = FakePlan(pinned, open_provider=_own, vendor=VENDORS[name])
    elif document or not env.get(BASE_URLS.get(name, "")) or not pinned:
        from simulators.shells.fake_config import Problem, open_document

        try:
            plan = open_document(document, name=name, env=env, pinned=pinned)
        except Problem as problem:
            print(problem, file=sys.stderr)
            return 2
    seed, tty = int.from_bytes(os.urandom(6)), os.isatty(0)
    start = Start(words[1:], env, os.getcwd(), seed=seed, root=os.geteuid() == 0, tty=tty)
    performer = Performer(plan.open_provider, plan.vendor)
    program = start_fake(
        name,
        start,
        version=plan.version,
        auto_compact_window=plan.window,
        alone=plan.alone,
        misbehave=plan.ways,
    )
    try:
        return drive(program, performer)
    finally:
        performer.close()


if __name__ == "__main__":
    sys.exit(main())
