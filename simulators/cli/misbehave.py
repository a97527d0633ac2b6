"""Turns a well-behaved fake into a bad program: a transform over its effects, the same for every CLI.

It watches what is printed and acts at a point: `start` before anything, `init` after the first event, `text` and `tool`
after the first text or tool call, `result` in the place of (or around) the last word.
"""

import json
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from simulators.cli import lines
from simulators.cli.effects import Die, Effect, Exit, IgnoreSigterm, Interrupted, Orphan, Program, ReadFile, Wait, Write

_SIGNALS = {"HUP": 1, "INT": 2, "ABRT": 6, "KILL": 9, "SEGV": 11, "TERM": 15}
_HUGE = 10_000_000  # characters, more than readers allow for a line
_SESSIONS = ("/projects/", "/sessions/", "/chats/")  # below these each CLI keeps what was said
Steps = Generator[Effect, Any, None]


class Misbehaviour(Protocol):
    """The fields of `simulators.cli.config.Misbehaviour` (kept apart so that a fake starts without it)."""

    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> str: ...
    @property
    def code(self) -> int | None: ...
    @property
    def signal(self) -> str | None: ...
    @property
    def bytes_per_s(self) -> float: ...
    @property
    def seconds(self) -> float: ...


def misbehaving(program: Program, ways: Sequence[Misbehaviour]) -> Program:
    """The same program, behaving in these ways. Without any it is `program` itself."""
    return _interruptible(program, list(ways)) if ways else program


def _interruptible(program: Program, ways: list[Misbehaviour]) -> Program:
    """An interruption reaches the program itself, which then ends as it always would."""
    try:
        yield from _bad(program, ways)
    except Interrupted as interruption:
        try:
            effect = program.throw(interruption)
            while True:
                effect = program.send((yield effect))
        except StopIteration:
            return
        except Interrupted:  # it had not begun
            yield Exit(130)


def _bad(program: Program, ways: list[Misbehaviour]) -> Program:
    kinds = {way.kind for way in ways}
    seen: set[str] = set()
    held = b""  # a line that waits to be glued to the next
    yield from _act(ways, "start")
    result: Any = None
    while True:
        try:
            effect = program.send(result)
        except StopIteration:
            return
        result = None
        if isinstance(effect, Write) and effect.stream == "stdout":
            point = _point(effect.data)
            new = point if point not in seen else None
            seen.add(point or "")
            if new == "result":
                if held:
                    yield from _print(held, ways)
                    held = b""
                yield from _act(ways, "result")
            data = _rewritten(effect.data, kinds)
            if "glue" in kinds and data.endswith(b"\n") and not held and point != "result":
                held = data[:-1]
            else:
                yield from _print(held + data, ways)
                held = b""
            if new is not None and new != "result":
                yield from _act(ways, new)
        elif isinstance(effect, Exit):
            if held:
                yield from _print(held + b"\n", ways)
            yield Exit(0) if kinds & {"error_exit_0", "empty_success"} else effect
        elif (
            isinstance(effect, ReadFile) and "lost_session" in kinds and any(part in effect.path for part in _SESSIONS)
        ):
            result = None
        else:
            result = yield effect


def _point(data: bytes) -> str | None:
    """What a printed line is: init, text, tool or result; None for others. Text that is no JSON is the result."""
    try:
        event = json.loads(data)
    except ValueError:
        return "result" if data.strip() else None
    return lines.point(event)


def _act(ways: Sequence[Misbehaviour], point: str) -> Steps:
    """What happens at a point."""
    for way in ways:
        if way.at != point:
            continue
        if way.kind == "hang":
            yield Wait(float("inf"))
        elif way.kind == "die":
            yield Die(_SIGNALS[way.signal]) if way.signal else Exit(1 if way.code is None else way.code)
        elif way.kind == "noise":
            yield Write(b"(node:7) Warning: something that is no JSON\n")
        elif way.kind == "huge_line":
            yield Write(json.dumps({"type": "system", "subtype": "debug", "text": "x" * _HUGE}).encode() + b"\n")
        elif way.kind == "bad_utf8":
            yield Write(b'{"type":"system","subtype":"debug","text":"\xff\xfe\xc3"}\n')
        elif way.kind == "ignore_sigterm":
            yield IgnoreSigterm()
        elif way.kind == "orphan":
            yield Orphan(way.seconds)


def _print(data: bytes, ways: Sequence[Misbehaviour]) -> Steps:
    """Print whole, in two pieces, or drop by drop."""
    for way in ways:
        if way.kind == "drip":
            step = max(1, int(way.bytes_per_s / 10))
            for i in range(0, len(data), step):
                yield Write(data[i : i + step])
                yield Wait(len(data[i : i + step]) / way.bytes_per_s)
            return
    if any(way.kind == "split" for way in ways) and len(data) > 2:
        half = len(data) // 2
        yield Write(data[:half])
        yield Wait(0.05)
        yield Write(data[half:])
    elif data:
        yield Write(data)


def _rewritten(data: bytes, kinds: set[str]) -> bytes:
    """The line with what the ways change about its content; empty if it is swallowed."""
    change = _CHANGES.keys() & kinds
    if not change:
        return data
    try:
        event = json.loads(data)
    except ValueError:
        return b"" if change & {"no_result", "empty_success"} else data
    for kind in sorted(change):
        event = _CHANGES[kind](event)
        if event is None:
            return b""
    return (json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


_CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
    "wrong_session": lines.wrong_session,
    "no_result": lines.no_result,
    "error_exit_0": lines.error,
    "empty_success": lines.empty,
}
