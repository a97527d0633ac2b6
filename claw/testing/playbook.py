"""Playbook tests of the turn machine: events in, commands out, and the story between.

    play(state(profiles=2), [
        (started("fix it"),             [Persist, CallModel]),
        (failed(RATE_LIMITED, after=7), [Sleep(7)]),
        (woke(),                        [CallModel]),
    ])

An event finds the command that it answers by itself. `Emit` is left out of the comparison unless the expected list
names one with `emitted`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from claw.core.commands import CallCli, CallModel, Command, Emit, Finish, Persist, RunTool, Sleep
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.events import (
    CliReport,
    Event,
    ModelFailed,
    ModelFinished,
    ToolFinished,
    TurnStarted,
    Woke,
)
from claw.core.machine import step
from claw.core.messages import Message, Part, TextPart, ToolCallPart, ToolResultPart, user
from claw.core.state import Setup, State, Target
from claw.core.stream import ModelTurn, Stop
from claw.core.usage import Usage

Expected = type | Callable[[Command], bool]
RUN = "11111111-1111-4111-8111-111111111111"


def state(*targets: Target, profiles: int = 1, **setup: Any) -> State:
    """A run about to begin: one model of 200,000 tokens with `profiles` credentials, unless `targets` are given."""
    names = tuple(f"profile-{n}" for n in range(1, profiles + 1))
    chosen = targets or (Target(provider="anthropic", model="claude-sonnet-4-5", profiles=names),)
    return State(setup=Setup(session="s", targets=chosen, **setup))


def started(text: str = "do it") -> TurnStarted:
    return TurnStarted(run=RUN, prompt=user(text))


def answered(
    text: str = "", *calls: ToolCallPart, stop: Stop | None = None, cli: CliReport | None = None, **usage: int
) -> ModelFinished:
    parts: tuple[Part, ...] = ((TextPart(text),) if text else ()) + calls
    ending: Stop = stop or ("tool_use" if calls else "end_turn")
    message = Message("assistant", parts)
    turn = ModelTurn(id="msg", model="m", message=message, stop=ending, usage=Usage(**usage))
    return ModelFinished(id="", turn=turn, cli=cli)


def failed(
    kind: FailureKind, *, after: float | None = None, delivered: bool = False, cli: CliReport | None = None, **more: Any
) -> ModelFailed:
    failure = ProviderFailure(kind=kind, retry_after=after, **more)
    return ModelFailed(id="", failure=failure, delivered=delivered, cli=cli)


def woke() -> Woke:
    return Woke(id="")


def tool_done(call: str, text: str = "ok", *, ok: bool = True) -> ToolFinished:
    return ToolFinished(id="", result=ToolResultPart(call, "", (TextPart(text),), is_error=not ok))


def asked(purpose: str = "main", **wanted: Any) -> Callable[[Command], bool]:
    """A `CallModel` for this purpose; `wanted`: fields of the command or its request."""

    def check(command: Command) -> bool:
        if not isinstance(command, CallModel) or command.request.purpose != purpose:
            return False
        found = {name: getattr(command, name, getattr(command.request, name, None)) for name in wanted}
        return found == wanted

    return check


def slept(at_least: float, at_most: float | None = None) -> Callable[[Command], bool]:
    top = at_least if at_most is None else at_most
    return lambda command: isinstance(command, Sleep) and at_least <= command.seconds <= top


def kept(entry: str) -> Callable[[Command], bool]:
    """A `Persist` of one entry: `user`, `assistant`, `tool`, `compaction`, or a custom type."""

    def name(value: Any) -> str:
        message = getattr(value, "message", None)
        return message.role if message else getattr(value, "custom_type", "compaction")

    return lambda command: isinstance(command, Persist) and [name(e) for e in command.entries] == [entry]


def emitted(type: str, **fields: Any) -> Callable[[Command], bool]:
    def check(command: Command) -> bool:
        return isinstance(command, Emit) and command.type == type and fields.items() <= command.fields.items()

    check.emits = True  # type: ignore[attr-defined]
    return check


def finished(**wanted: Any) -> Callable[[Command], bool]:
    """A `Finish` with these fields of the outcome; `failure` is the kind."""

    def check(command: Command) -> bool:
        if not isinstance(command, Finish):
            return False
        outcome = command.outcome
        seen = {name: getattr(outcome, name) for name in wanted}
        if "failure" in seen and outcome.failure is not None:
            seen["failure"] = outcome.failure.kind
        return seen == wanted

    return check


def addressed(state: State, event: Event) -> Event:
    """The event with the id of the command that it answers."""
    if isinstance(event, ToolFinished):
        tool = next(p for p in state.pending if p.call.id == event.result.call_id and p.command)
        result = msgspec.structs.replace(event.result, name=tool.call.name)
        return ToolFinished(id=tool.command or "", result=result)
    if isinstance(event, ModelFinished | ModelFailed | Woke) and not event.id:
        return msgspec.structs.replace(event, id=state.awaited or "nothing")
    return event


def play(state: State, script: Sequence[tuple[Event, Sequence[Expected]]]) -> tuple[State, list[Command]]:
    """Play it; a difference fails with the line of the script. Returns the last state and all commands."""
    every: list[Command] = []
    for number, (event, expected) in enumerate(script, 1):
        state, commands = step(state, addressed(state, event))
        every += commands
        loud = any(getattr(want, "emits", False) for want in expected)
        seen = [c for c in commands if loud or not isinstance(c, Emit)]
        fits = len(seen) == len(expected) and all(map(_fits, seen, expected))
        assert fits, f"line {number}, {type(event).__name__}: came {[_short(c) for c in seen]}"
    return state, every


def _fits(command: Command, want: Expected) -> bool:
    return isinstance(command, want) if isinstance(want, type) else want(command)


def _short(command: Command) -> str:
    match command:
        case CallModel():
            return f"CallModel({command.request.purpose}, {command.profile}, max_tokens={command.request.max_tokens})"
        case CallCli():
            return f"CallCli({command.session}, resume={command.resume})"
        case Sleep():
            return f"Sleep({command.seconds})"
        case Finish():
            return f"Finish({command.outcome.stop}, {command.outcome.reply!r}, {command.outcome.failure})"
        case RunTool():
            return f"RunTool({command.call.name})"
        case Persist():
            return f"Persist({[getattr(e, 'custom_type', type(e).__name__) for e in command.entries]})"
        case Emit():
            return f"Emit({command.type}, {command.fields})"
        case _:
            return repr(command)
