"""An asyncio event loop whose clock is virtual: an hour of sleeping costs nothing, and every run is the same.

When no callback is ready the loop does not wait for the next timer, it moves its clock there. Two things hold the
clock, because they happen outside of it: work in an executor thread freezes it (the SDKs probe the platform in a
thread, and a jump would fire their timeouts), and a real process lets it pass at real speed (so that a hang ends).
Loop time 0 is `EPOCH`. Real sockets may be registered, but do not hold the clock; wrap their use in `hold()`.

When nothing is ready, scheduled, held or registered, no future can ever be set again: `DeadEnd` says who waits where.
"""

import asyncio
import selectors
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH = 1767225600.0  # 2026-01-01T00:00:00Z


class DeadEnd(RuntimeError):
    """Every task waits for something that cannot happen; the message lists them."""


class _Selector(selectors.DefaultSelector):
    """Asks the loop how to wait."""

    wait: Callable[[Callable[..., list[Any]], float | None], list[Any]]

    def select(self, timeout: float | None = None) -> list[Any]:
        return self.wait(super().select, timeout)


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop. `time()` counts virtual seconds since `epoch`; `now()` is the same in Unix seconds."""

    def __init__(self, *, epoch: float = EPOCH) -> None:
        self.epoch = epoch
        self._elapsed = 0.0
        self._frozen = 0  # threads at work: time stands still
        self._flowing = 0  # processes at work: time passes as outside
        selector = _Selector()
        selector.wait = self._wait
        super().__init__(selector)
        self._own_fds = len(selector.get_map())  # the pipe that wakes the loop

    def time(self) -> float:
        return self._elapsed

    def now(self) -> float:
        """Unix seconds."""
        return self.epoch + self._elapsed

    def advance(self, seconds: float) -> None:
        """Move the clock by `seconds` ≥ 0 at once: what fell due meanwhile runs next, in order, and sees the new time.

        To let time pass so that everything happens at its own moment, await `asyncio.sleep(seconds)` instead.
        """
        if not seconds >= 0:
            raise ValueError(f"time cannot go back by {-seconds} seconds")
        self._elapsed += seconds

    @contextmanager
    def hold(self, *, flow: bool = True) -> Iterator[None]:
        """No jumps inside this block: time passes at real speed, or with `flow=False` not at all."""
        release = self._hold(flow=flow)
        try:
            yield
        finally:
            release()

    def _hold(self, *, flow: bool) -> Callable[[], None]:
        """Hold the clock until the returned function is called; calling it again does nothing."""
        held = True
        self._flowing += flow
        self._frozen += not flow

        def release() -> None:
            nonlocal held
            if held:
                held = False
                self._flowing -= flow
                self._frozen -= not flow

        return release

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)
        release = self._hold(flow=False)
        future.add_done_callback(lambda _: release())
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:
        with self.hold(flow=False):
            await super().shutdown_default_executor(*args)

    async def subprocess_exec(self, protocol_factory: Callable[[], Any], *args: Any, **options: Any) -> Any:
        release = self._hold(flow=True)
        try:
            return await super().subprocess_exec(_until_exit(protocol_factory, release), *args, **options)
        except BaseException:
            release()
            raise

    async def subprocess_shell(self, protocol_factory: Callable[[], Any], *args: Any, **options: Any) -> Any:
        release = self._hold(flow=True)
        try:
            return await super().subprocess_shell(_until_exit(protocol_factory, release), *args, **options)
        except BaseException:
            release()
            raise

    def _wait(self, select: Callable[..., list[Any]], timeout: float | None) -> list[Any]:
        """What the loop does between two rounds. `timeout` is None without timers and 0 if callbacks are ready."""
        events = select(0)
        if events or timeout == 0:
            return events
        if self._flowing:
            started = time.monotonic()
            events = select(timeout)
            self._elapsed += time.monotonic() - started
            return events
        if self._frozen or self._threads_at_work():
            return select(None)
        due = self._next_timer()
        if due is not None:
            self._elapsed = max(self._elapsed, due)
            return []
        if len(self._selector.get_map()) > self._own_fds:  # type: ignore[attr-defined]
            return select(None)
        raise DeadEnd(self._who_waits())

    def _next_timer(self) -> float | None:
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        return scheduled[0].when() if scheduled and isfinite(scheduled[0].when()) else None

    def _threads_at_work(self) -> bool:
        """Whether a worker thread of anyio, which knows nothing of `run_in_executor`, is busy for this loop."""
        if threading.active_count() == 1 or "anyio" not in sys.modules:
            return False
        workers = [t for t in threading.enumerate() if type(t).__name__ == "WorkerThread"]
        return any(getattr(t, "loop", None) is self and t not in getattr(t, "idle_workers", ()) for t in workers)

    def _who_waits(self) -> str:
        waiting = "\n".join(f"  {t.get_name()} at {_place(t)}" for t in asyncio.all_tasks(self)) or "  (no task)"
        return f"at {self.now():.3f} nothing is left that could happen, yet these wait:\n{waiting}"


def _until_exit(protocol_factory: Callable[[], Any], release: Callable[[], None]) -> Callable[[], Any]:
    """A factory of protocols that release the clock when their process exits."""

    def factory() -> Any:
        protocol = protocol_factory()
        exited = protocol.process_exited

        def process_exited() -> None:
            release()
            exited()

        protocol.process_exited = process_exited
        return protocol

    return factory


def _place(task: "asyncio.Task[Any]") -> str:
    """Where a suspended task stands: file, line and function of its innermost coroutine."""
    frame: Any = None
    coro: Any = task.get_coro()
    while coro is not None:
        frame = getattr(coro, "cr_frame", None) or getattr(coro, "ag_frame", None) or frame
        coro = getattr(coro, "cr_await", None) or getattr(coro, "ag_await", None)
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}" if frame else "its end"


def virtual_loop() -> VirtualLoop | None:
    """The virtual loop that runs in this thread, or None."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop if isinstance(loop, VirtualLoop) else None


def run(main: Coroutine[Any, Any, T], *, epoch: float = EPOCH) -> T:
    """`asyncio.run` under virtual time that begins at `epoch`. Raises `DeadEnd` instead of hanging."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(epoch=epoch)) as runner:
        return runner.run(main)


@contextmanager
def hold(*, flow: bool = True) -> Iterator[None]:
    """Hold the clock of the running virtual loop (see `VirtualLoop.hold`); elsewhere it does nothing."""
    loop = virtual_loop()
    if loop is None:
        yield
        return
    with loop.hold(flow=flow):
        yield


def advance(seconds: float) -> None:
    """Move the clock of the running virtual loop at once; see `VirtualLoop.advance`. RuntimeError without one."""
    loop = virtual_loop()
    if loop is None:
        raise RuntimeError("no virtual loop runs here; use run(coroutine)")
    loop.advance(seconds)


class VirtualClock:
    """A clock that follows the running virtual loop. Where none runs it stands still until it is advanced.

    It never goes back: in a second loop it goes on from where it was.
    """

    def __init__(self, *, epoch: float = EPOCH) -> None:
        self.epoch = epoch
        self._now = epoch
        self._ahead = 0.0  # of the loop it follows
        self._loop: VirtualLoop | None = None

    def now(self) -> float:
        """Unix seconds."""
        running = virtual_loop()
        if running is not None and running is not self._loop:
            self._ahead = max(0.0, self._read() - running.now())
            self._loop = running
        return self._read()

    def _read(self) -> float:
        if self._loop is not None:
            self._now = max(self._now, self._loop.now() + self._ahead)
        return self._now

    def monotonic(self) -> float:
        """Seconds since the clock's epoch."""
        return self.now() - self.epoch

    def advance(self, seconds: float) -> None:
        """Move on by `seconds` ≥ 0, the running virtual loop with it."""
        if not seconds >= 0:
            raise ValueError(f"time cannot go back by {-seconds} seconds")
        self.now()
        if self._loop is None or self._loop.is_closed():
            self._now += seconds
        else:
            self._loop.advance(seconds)
