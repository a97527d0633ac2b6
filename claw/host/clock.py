"""Time as the running event loop tells it, so that a virtual loop slows or speeds everything at once."""

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Any


class LoopClock:
    """`claw.ports.Clock` over the running loop.

    With an `epoch` (Unix seconds at loop time 0) wall time follows the loop, which is what virtual time needs;
    without one, `now()` is the system's clock.
    """

    def __init__(self, epoch: float | None = None) -> None:
        self._epoch = epoch

    def now(self) -> float:
        """Unix seconds. With an epoch but outside any loop: the epoch itself."""
        if self._epoch is None:
            return time.time()
        loop = _running()
        return self._epoch + (loop.time() if loop else 0.0)

    def monotonic(self) -> float:
        loop = _running()
        return loop.time() if loop else time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[Any]:
        return asyncio.timeout(seconds)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
