"""One queue a session: runs of a session follow each other; of different sessions so many may be at work at once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext


class Lanes:
    """First come, first served, within this process. (Between processes the session's lock does it.)"""

    def __init__(self, at_once: int = 0) -> None:
        self._lanes: dict[str, tuple[asyncio.Lock, int]] = {}
        self._all = asyncio.Semaphore(at_once) if at_once > 0 else None

    @asynccontextmanager
    async def enter(self, session: str, *, waiting: Callable[[int], None]) -> AsyncIterator[None]:
        """Hold the lane of a session, and one of the places of all. `waiting` is told how many are ahead, if any."""
        lock, users = self._lanes.get(session) or (asyncio.Lock(), 0)
        self._lanes[session] = (lock, users + 1)
        try:
            if users:
                waiting(users)
            async with lock, self._all or nullcontext():
                yield
        finally:
            users = self._lanes[session][1] - 1
            if users:
                self._lanes[session] = (lock, users)
            else:
                del self._lanes[session]
