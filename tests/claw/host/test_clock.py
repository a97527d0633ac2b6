"""The host clock follows the running loop, so virtual time needs nothing from the runtime."""

import asyncio
import time

import pytest

from claw.host import LoopClock


class FastLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.jumped = 0.0

    def time(self) -> float:
        return self.jumped

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.jumped = max(self.jumped, self._scheduled[0].when())
        super()._run_once()


def run_virtually(coro):
    loop = FastLoop()
    try:
        return loop.run_until_complete(coro)
    finally:
        loop.close()


def test_an_hour_of_virtual_sleep_moves_the_wall_clock_by_an_hour():
    async def story():
        clock = LoopClock(epoch=1_767_225_600.0)
        before = clock.now()
        await clock.sleep(3600)
        return before, clock.now(), clock.monotonic()

    started = time.perf_counter()
    before, after, monotonic = run_virtually(story())

    assert before == 1_767_225_600.0
    assert after - before == pytest.approx(3600)
    assert monotonic == pytest.approx(3600)
    assert time.perf_counter() - started < 1


def test_a_timeout_fires_in_loop_time_and_none_never_does():
    async def story():
        clock = LoopClock(epoch=0)
        async with clock.timeout(None):
            await clock.sleep(1e6)
        with pytest.raises(TimeoutError):
            async with clock.timeout(30):
                await clock.sleep(31)
        return clock.now()

    assert run_virtually(story()) == pytest.approx(1e6 + 30)


def test_without_an_epoch_it_is_the_systems_clock():
    assert LoopClock().now() == pytest.approx(time.time(), abs=5)


def test_outside_a_loop_virtual_time_stands_at_its_epoch():
    assert LoopClock(epoch=42.0).now() == 42.0
