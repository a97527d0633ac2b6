"""The only loop: performs what the machine asks for, and brings back what came of it.

`Persist` and `Emit` are done on the spot, in order. A call, a tool and a sleep become tasks whose one result is an
event. Whatever happens, no task is left behind.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol

from claw.core.commands import (
    CallCli,
    CallModel,
    Cancel,
    Command,
    Emit,
    Finish,
    Outcome,
    Persist,
    RunTool,
    Sleep,
)
from claw.core.events import Aborted, Event, ModelFailed, ModelFinished, Steered, ToolFinished, TurnStarted, Woke
from claw.core.machine import step
from claw.core.messages import Message, TextPart, ToolResultPart
from claw.core.state import State, digest
from claw.core.transcript import CustomEntry
from claw.ports import Clock
from claw.runtime.watch import Watch
from claw.sessions import Session
from claw.tools.base import Tool, ToolContext


class ModelCalls(Protocol):
    """Performs `CallModel`."""

    async def call(self, command: CallModel) -> ModelFinished | ModelFailed: ...

    def partial(self) -> Message | None: ...


class CliCalls(Protocol):
    """Performs `CallCli`."""

    async def call(self, command: CallCli) -> ModelFinished | ModelFailed: ...

    def partial(self) -> Message | None: ...


class Driver:
    """Runs one run. Not reusable."""

    def __init__(
        self,
        *,
        clock: Clock,
        session: Session,
        model: ModelCalls,
        cli: CliCalls,
        tools: Mapping[str, Tool],
        context: ToolContext,
        watch: Watch,
        run_s: float = 0.0,
    ) -> None:
        self._clock = clock
        self._session = session
        self._model = model
        self._cli = cli
        self._tools = tools
        self._context = context
        self._watch = watch
        self._run_s = run_s
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._steered: list[Steered] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._outcome: Outcome | None = None
        self._crash: BaseException | None = None
        self._decisions: list[dict[str, Any]] = []

    def steer(self, text: str) -> bool:
        """A message for the model's next call. It is taken before whatever else has come in, so that a run does not
        end over it; False when the run has ended already."""
        if self._outcome is not None:
            return False
        self._steered.append(Steered(text=text))
        self._events.put_nowait(None)
        return True

    def abort(self) -> None:
        """End the run; what was said so far is kept."""
        self._events.put_nowait(Aborted(partial=self._partial()))

    async def run(self, state: State, start: TurnStarted) -> Outcome:
        """From the prompt to the outcome. When the task is cancelled the session is closed properly first."""
        if self._run_s:
            self._begin("deadline", self._deadline, lambda _: Aborted(reason="timeout", partial=self._partial()))
        try:
            state = await self._take(state, start)
            while self._outcome is None:
                event = await self._events.get()
                if self._crash is not None:
                    raise self._crash
                while self._steered:
                    state = await self._take(state, self._steered.pop(0))
                if event is not None:
                    state = await self._take(state, event)
            return self._outcome
        except asyncio.CancelledError:
            if self._outcome is None:
                await self._take(state, Aborted(partial=self._partial()))
            raise
        finally:
            await self._end_all()

    async def _take(self, state: State, event: Event) -> State:
        state, commands = step(state, event)
        for command in commands:
            await self._perform(command)
        return state

    async def _perform(self, command: Command) -> None:
        match command:
            case Persist(entries=entries):
                self._session.append(entries, now=self._clock.now())
            case Emit(type=type, fields=fields):
                self._watch.emit(type, fields)
                if (type == "attempt" and fields.get("kind")) or (type == "compaction_end" and not fields.get("ok")):
                    self._decisions.append({"type": type, **fields})
            case CallModel(id=id):
                self._begin(id, lambda: self._model.call(command), lambda event: event)
            case CallCli(id=id):
                self._begin(id, lambda: self._cli.call(command), lambda event: event)
            case RunTool(id=id):
                self._begin(id, lambda: self._tool(command), lambda result: ToolFinished(id=id, result=result))
            case Sleep(id=id, seconds=seconds):
                self._begin(id, lambda: self._clock.sleep(seconds), lambda _: Woke(id=id))
            case Cancel(target=target):
                await self._end(target)
            case Finish(id=id, outcome=outcome):
                self._outcome = outcome
                self._write_decisions(id)

    def _write_decisions(self, id: str) -> None:
        """What went wrong on the way and what was done about it, for `claw sessions show --trace`; no model sees it."""
        if not self._decisions:
            return
        path = self._session.path()
        parent = path[-1].id if path else None
        data = {"decisions": self._decisions}
        entry = CustomEntry(id=digest(f"{id}:decisions", 4), parent_id=parent, custom_type="decisions", data=data)
        with suppress(OSError):  # a full disk must not cost an answer that is there
            self._session.append((entry,), now=self._clock.now())

    def _begin(self, id: str, work: Callable[[], Coroutine[Any, Any, Any]], told: Callable[[Any], Event]) -> None:
        """`work` is only made once the task runs: one that is cancelled before leaves no coroutine behind."""

        async def perform() -> None:
            try:
                event = told(await work())
            except Exception as error:
                self._crash = error
                event = Aborted()
            self._events.put_nowait(event)

        self._tasks[id] = asyncio.create_task(perform(), name=id)

    async def _tool(self, command: RunTool) -> ToolResultPart:
        call = command.call
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            text = f"There is no tool {call.name}. Known: {known}."
            return ToolResultPart(call.id, call.name, (TextPart(text),), is_error=True)
        try:
            outcome = await tool.run(call.input, self._context)
        except Exception as error:  # a fault of the tool is the model's to know, not the run's end
            text = f"{call.name} broke: {type(error).__name__}: {error}"
            return ToolResultPart(call.id, call.name, (TextPart(text),), is_error=True)
        return ToolResultPart(call.id, call.name, outcome.parts, is_error=outcome.is_error)

    async def _deadline(self) -> None:
        await self._clock.sleep(self._run_s)

    def _partial(self) -> Message | None:
        return self._model.partial() or self._cli.partial()

    async def _end(self, id: str) -> None:
        task = self._tasks.pop(id, None)
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _end_all(self) -> None:
        for id in list(self._tasks):
            await self._end(id)
