"""Input stream-json: one turn for each user message, control requests between and during turns, interrupts."""

from collections.abc import Callable, Generator
from typing import Any

from simulators.cli.claude.context import Context
from simulators.cli.claude.control import Control
from simulators.cli.claude.permissions import rejected
from simulators.cli.claude.result import finish
from simulators.cli.claude.rows import stamp
from simulators.cli.claude.tools import deliver
from simulators.cli.effects import Effect, Hangup, Heard, Now

Steps = Generator[Effect, Any, None]
INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"


def run_stream(
    context: Context, run_prompt: Callable[[Context, Any], Generator[Effect, Any, int]]
) -> Generator[Effect, Any, int]:
    """Turns until stdin ends; the exit code is that of the last. Raises `BadInput`."""
    control = context.control = Control(context)
    yield from control.open()
    code = 0
    while True:
        message = yield from control.next_prompt()
        if message is None:
            return code
        yield from control.state("running")
        try:
            yield from context.join_host_servers()
            code = yield from run_prompt(context, message["message"]["content"])
        except Heard as heard:
            yield from control.confirm(heard.line)
            yield from interrupted(context)
            code = 1
        yield from control.state("idle")


def interrupted(context: Context) -> Steps:
    """Close a turn that the host broke off: open tool calls are answered, the interruption noted, a result ends it."""
    yield Hangup()
    open_calls = _open_calls(context)
    for call in open_calls:
        yield from deliver(context, call, rejected(call["id"]))
    yield from say_interrupted(context, tools=bool(open_calls))


def say_interrupted(context: Context, *, tools: bool) -> Steps:
    """The user's note and the result of a turn that was stopped, in the midst of `tools` or of an answer."""
    content = [{"type": "text", "text": INTERRUPTED_TOOL if tools else INTERRUPTED}]
    now = yield Now()
    row = yield from context.add("user", message={"role": "user", "content": content})
    event: dict[str, Any] = {"type": "user", "message": row["message"], "parent_tool_use_id": None}
    event |= {"session_id": context.session.id, "uuid": row["uuid"]}
    if context.version.rich_events:
        event["timestamp"] = stamp(now)
    yield from context.out.event(event)
    turn = context.turn
    turn.steps += 1
    if turn.underway is not None:
        turn.ledger.add(context.model.id, turn.underway)
        context.ledger.add(context.model.id, turn.underway)
        turn.underway = None
    rich = context.version.rich_events
    said = f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={turn.stop_reason or 'null'}"
    terminal = "aborted_tools" if tools else "aborted_streaming"
    errors = [said] if rich else []
    yield from finish(context, "error_during_execution", is_error=rich, terminal=terminal, errors=errors)


def _open_calls(context: Context) -> list[dict[str, Any]]:
    """Tool calls at the conversation's end that have no result yet."""
    calls: list[dict[str, Any]] = []
    answered: set[str] = set()
    for row in reversed(context.session.chain()):
        if row["type"] == "user":
            content = row["message"]["content"]
            blocks = content if isinstance(content, list) else []
            ids = {str(b["tool_use_id"]) for b in blocks if "tool_use_id" in b}
            if not ids:
                break
            answered |= ids
        elif row["type"] == "assistant":
            calls = [b for b in row["message"]["content"] if b.get("type") == "tool_use"] + calls
    return [call for call in calls if call["id"] not in answered]
