"""Messages that arrive at any time, from people or programs: each is answered once, whatever a session is doing.

What happens to one that finds a run at work is the mode of the queue (`claw.core.queueing`). A message with a key that
was seen before is not answered again: whoever sends it a second time gets the first one's answer.
"""

import asyncio
from collections import OrderedDict
from typing import Protocol

import msgspec

from claw.core.queueing import Backlog, Mode, Queued, is_stop
from claw.ports import Clock
from claw.runtime.config import QueueOptions
from claw.runtime.result import RunResult

REMEMBERED = 1_000  # keys


class Runner(Protocol):
    """What answers: `claw.runtime.agent.Agent`."""

    async def run(self, prompt: str, session: str | None = None) -> RunResult: ...

    def steer(self, session: str, text: str) -> bool: ...

    def abort(self, session: str) -> bool: ...


Answer = asyncio.Future[RunResult | None]


class _Desk(msgspec.Struct):
    """One session at work: who waits for the run, and what waits behind it."""

    waiting: list[Answer]
    backlog: Backlog = Backlog()
    mode: Mode = "steer"
    worker: asyncio.Task[None] | None = None


class Inbox:
    """The queues of all sessions. Belongs to one event loop; `await close()` ends the runs at work."""

    def __init__(self, runner: Runner, clock: Clock, options: QueueOptions | None = None) -> None:
        self._runner = runner
        self._clock = clock
        self._options = options or QueueOptions()
        self._desks: dict[str, _Desk] = {}
        self._answers: dict[str, Answer] = {}  # by the key of what waits in a backlog
        self._seen: OrderedDict[str, Answer] = OrderedDict()
        self._count = 0

    async def submit(
        self, prompt: str, session: str, *, mode: Mode | None = None, sender: str = "", key: str = ""
    ) -> RunResult | None:
        """Answer a message, now or when its turn comes; returns the result of the run that took it.

        None: it was dropped because too many wait, or it asked for the run to stop. `key`: the same message sent again
        has the same. Raises what the run raises.
        """
        known = self._seen.get(key) if key else None
        if known is None:
            known = asyncio.get_running_loop().create_future()
            if key:
                self._remember(key, known)
            self._place(prompt, session, mode or self._options.mode, sender, known)
        return await asyncio.shield(known)

    async def close(self) -> None:
        """End every run, and tell those who wait that nothing comes (None)."""
        for session, desk in list(self._desks.items()):
            self._forget(desk)
            self._runner.abort(session)
            if desk.worker is not None:
                await asyncio.gather(desk.worker, return_exceptions=True)

    def _remember(self, key: str, answer: Answer) -> None:
        self._seen[key] = answer
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)

    def _place(self, prompt: str, session: str, mode: Mode, sender: str, answer: Answer) -> None:
        desk = self._desks.get(session)
        if is_stop(prompt):
            if desk is not None:
                self._forget(desk)
                self._runner.abort(session)
            answer.set_result(None)
        elif desk is None:
            desk = self._desks[session] = _Desk([answer])
            desk.worker = asyncio.create_task(self._work(session, desk, prompt))
        elif mode == "steer" and self._runner.steer(session, prompt):
            desk.waiting.append(answer)
        else:
            if mode == "interrupt":
                self._forget(desk)
            self._enqueue(desk, prompt, mode, sender, answer)
            if mode == "interrupt":
                self._runner.abort(session)

    def _enqueue(self, desk: _Desk, prompt: str, mode: Mode, sender: str, answer: Answer) -> None:
        self._count += 1
        item = Queued(text=prompt, at=self._clock.now(), sender=sender, key=str(self._count))
        after = desk.backlog.add(item, cap=self._options.cap, drop=self._options.drop)
        if after is None:
            answer.set_result(None)
            return
        self._answers[item.key] = answer
        gone = {old.key for old in desk.backlog.items} - {kept.key for kept in after.items}
        self._drop(gone)
        desk.backlog, desk.mode = after, mode

    def _forget(self, desk: _Desk) -> None:
        self._drop({item.key for item in desk.backlog.items})
        desk.backlog = Backlog()

    def _drop(self, keys: set[str]) -> None:
        for key in keys:
            _settle([self._answers.pop(key)], None)

    async def _work(self, session: str, desk: _Desk, prompt: str) -> None:
        """Run after run, until nothing waits for this session."""
        while True:
            try:
                result = await self._runner.run(prompt, session)
            except BaseException as error:
                _settle(desk.waiting, error)
                if isinstance(error, asyncio.CancelledError):
                    del self._desks[session]
                    raise
            else:
                _settle(desk.waiting, result)
            desk.waiting = []
            if desk.mode == "collect":
                while wait := desk.backlog.ready(now=self._clock.now(), debounce_s=self._options.debounce_s):
                    await self._clock.sleep(wait)
            if not desk.backlog.items:
                del self._desks[session]
                return
            prompt = self._next(desk)

    def _next(self, desk: _Desk) -> str:
        items = desk.backlog.items
        if desk.mode == "collect":
            prompt, taken, desk.backlog = desk.backlog.take_all(), items, Backlog()
        else:
            prompt, desk.backlog = desk.backlog.take_one()
            taken = items[:1]
        desk.waiting = [self._answers.pop(item.key) for item in taken]
        return prompt


def _settle(answers: list[Answer], result: RunResult | BaseException | None) -> None:
    for answer in answers:
        if answer.done():
            continue
        if isinstance(result, asyncio.CancelledError):
            answer.cancel()
        elif isinstance(result, BaseException):
            answer.set_exception(result)
            answer.exception()  # told, whether or not anybody still waits
        else:
            answer.set_result(result)
