"""One queue a session."""

import asyncio

from claw.runtime.lanes import Lanes
from simulators.shells.virtual_time import run


def test_the_same_lane_is_first_come_first_served_and_another_is_free() -> None:
    order: list[str] = []
    ahead: list[int] = []

    async def work(lanes: Lanes, session: str, name: str) -> None:
        async with lanes.enter(session, waiting=ahead.append):
            order.append(f"{name}+")
            await asyncio.sleep(10)
            order.append(f"{name}-")

    async def story() -> None:
        lanes = Lanes()
        await asyncio.gather(*(work(lanes, s, n) for s, n in (("a", "1"), ("a", "2"), ("b", "x"), ("a", "3"))))
        assert lanes._lanes == {}

    run(story())
    assert order == ["1+", "x+", "1-", "x-", "2+", "2-", "3+", "3-"]
    assert ahead == [1, 2]


def test_one_that_gives_up_waiting_leaves_the_lane_to_the_next() -> None:
    async def story() -> None:
        lanes = Lanes()
        async with lanes.enter("a", waiting=lambda _: None):
            waiter = asyncio.create_task(enter(lanes))
            await asyncio.sleep(1)
            waiter.cancel()
            await asyncio.gather(waiter, return_exceptions=True)
        await enter(lanes)
        assert lanes._lanes == {}

    async def enter(lanes: Lanes) -> None:
        async with lanes.enter("a", waiting=lambda _: None):
            pass

    run(story())


def test_so_many_sessions_are_at_work_at_once() -> None:
    most = at_work = 0

    async def work(lanes: Lanes, session: str) -> None:
        nonlocal most, at_work
        async with lanes.enter(session, waiting=lambda _: None):
            at_work += 1
            most = max(most, at_work)
            await asyncio.sleep(10)
            at_work -= 1

    async def story(at_once: int) -> None:
        lanes = Lanes(at_once)
        await asyncio.gather(*(work(lanes, name) for name in "abcde"))

    run(story(2))
    assert most == 2
    run(story(0))
    assert most == 5
