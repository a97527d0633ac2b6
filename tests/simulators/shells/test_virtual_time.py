"""Virtual time: what happens at once, what holds the clock, and what is said when nothing can happen any more."""

import asyncio
import sys
import threading
import time

import anyio
import anyio.to_thread
import pytest

from simulators.shells.virtual_time import EPOCH, DeadEnd, VirtualClock, VirtualLoop, advance, hold, run


def loop() -> VirtualLoop:
    running = asyncio.get_running_loop()
    assert isinstance(running, VirtualLoop)
    return running


def test_a_day_of_sleep_costs_nothing_and_is_exact() -> None:
    async def sleep() -> float:
        for seconds in (0.1, 0.2, 86_400.0 * 3, 0.0):
            await asyncio.sleep(seconds)
        return loop().now()

    started = time.perf_counter()
    assert run(sleep()) == EPOCH + 0.1 + 0.2 + 86_400 * 3
    assert time.perf_counter() - started < 1


def test_tasks_run_in_the_order_of_their_timers() -> None:
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, *delays: float) -> None:
        for delay in delays:
            await asyncio.sleep(delay)
            seen.append((name, loop().time()))

    async def main() -> None:
        await asyncio.gather(sleeper("slow", 3, 3), sleeper("quick", 1, 1, 2))

    run(main())
    assert seen == [("quick", 1), ("quick", 2), ("slow", 3), ("quick", 4), ("slow", 6)]


@pytest.mark.parametrize("timeout", [asyncio.timeout, anyio.fail_after], ids=["asyncio", "anyio"])
def test_timeouts_fire_at_their_virtual_second(timeout) -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            scope = timeout(30)
            if hasattr(scope, "__aenter__"):
                async with scope:
                    await asyncio.sleep(1000)
            else:
                with scope:
                    await asyncio.sleep(1000)
        return loop().time()

    assert run(main()) == 30


@pytest.mark.parametrize("in_thread", [asyncio.to_thread, anyio.to_thread.run_sync], ids=["asyncio", "anyio"])
def test_a_thread_freezes_the_clock(in_thread) -> None:
    """The SDKs look at the platform in a thread; their timeout must not fire meanwhile."""

    async def main() -> float:
        async with asyncio.timeout(0.001):
            await in_thread(time.sleep, 0.03)
        return loop().time()

    assert run(main()) == 0


def test_an_idle_worker_thread_of_anyio_does_not_hold_the_clock() -> None:
    async def main() -> float:
        await anyio.to_thread.run_sync(threading.get_ident)
        await asyncio.sleep(3600)
        return loop().time()

    started = time.perf_counter()
    assert run(main()) == 3600
    assert time.perf_counter() - started < 2


def test_a_real_process_lets_time_pass_at_real_speed() -> None:
    """A timeout does not fire early while a program runs, and a program that hangs is still timed out."""

    async def main() -> tuple[bytes, float]:
        async with asyncio.timeout(20):
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('ran')", stdout=-1)
            out, _ = await process.communicate()
        hung = await asyncio.create_subprocess_exec("sleep", "60")
        started = loop().time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await hung.wait()
        waited = loop().time() - started
        hung.kill()
        await hung.wait()
        await asyncio.sleep(3600)  # no process is left: time jumps again
        return out, waited

    out, waited = run(main())
    assert out == b"ran\n"
    assert 0.05 <= waited < 5


def test_a_program_that_cannot_be_started_does_not_hold_the_clock() -> None:
    async def main() -> None:
        with pytest.raises(FileNotFoundError):
            await asyncio.create_subprocess_exec("/no/such/program")
        await asyncio.sleep(3600)

    started = time.perf_counter()
    run(main())
    assert time.perf_counter() - started < 2


def test_hold_keeps_timers_from_jumping() -> None:
    async def main() -> tuple[float, float]:
        with hold():
            await asyncio.sleep(0.02)
        real = time.perf_counter() - started
        await asyncio.sleep(100)
        return real, loop().time()

    started = time.perf_counter()
    real, virtual = run(main())
    assert real >= 0.02
    assert 100.02 <= virtual < 101


def test_a_future_that_nobody_can_set_is_a_dead_end() -> None:
    """It names the task and the place; waiting for ever by `sleep(inf)` is the same."""

    async def never_told() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadEnd, match=r"Task-\d+ at .*test_virtual_time\.py:\d+ in never_told"):
        run(never_told())
    with pytest.raises(DeadEnd):
        run(asyncio.sleep(float("inf")))


def test_a_registered_socket_is_no_dead_end() -> None:
    async def main() -> bytes:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello\n")
        line = await reader.readline()
        writer.close()
        server.close()
        return line

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    assert run(main()) == b"hello\n"


def test_advance_moves_the_clock_at_once() -> None:
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, delay: float) -> None:
        await asyncio.sleep(delay)
        seen.append((name, loop().time()))

    async def main() -> None:
        sleepers = [asyncio.create_task(sleeper("b", 2)), asyncio.create_task(sleeper("a", 1))]
        await asyncio.sleep(0)
        advance(301)
        assert loop().time() == 301
        await asyncio.gather(*sleepers)

    run(main())
    assert seen == [("a", 301), ("b", 301)]
    with pytest.raises(RuntimeError):
        advance(1)


def test_the_clock_follows_the_loop_and_never_goes_back() -> None:
    clock = VirtualClock()
    assert (clock.now(), clock.monotonic()) == (EPOCH, 0)
    clock.advance(5)
    assert clock.now() == EPOCH + 5

    async def main() -> None:
        clock.now()
        await asyncio.sleep(60)
        clock.advance(10)

    run(main())
    assert clock.monotonic() == 5 + 70
    run(main())
    assert clock.monotonic() == 5 + 70 + 70
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)


def test_the_epoch_can_be_chosen() -> None:
    async def main() -> float:
        await asyncio.sleep(1)
        return VirtualClock(epoch=100.0).now()

    assert run(main(), epoch=100.0) == 101
