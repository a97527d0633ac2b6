"""One queue a session: runs of a session follow each other, runs of different sessions do not wait."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Lanes:
    """First come, first served, within this process. (Between processes the session's lock does it.)"""

    def __init__(self) -> None:
        self._lanes: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def enter(self, session: str, *, waiting: Callable[[int], None]) -> AsyncIterator[None]:
        """Hold the lane of a session. `waiting` is told how many are ahead, if any."""
        lock, users = self._lanes.get(session) or (asyncio.Lock(), 0)
        self._lanes[session] = (lock, users + 1)
        try:
            if users:
                waiting(users)
            async with lock:
                yield
        finally:
            users = self._lanes[session][1] - 1
            if users:
                self._lanes[session] = (lock, users)
            else:
                del self._lanes[session]
