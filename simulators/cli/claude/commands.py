"""Slash commands that a prompt may be: /compact."""

from collections.abc import Generator
from typing import Any

from simulators.cli.claude import compaction
from simulators.cli.claude.context import Context, Turn
from simulators.cli.claude.loop import emit_init
from simulators.cli.claude.result import finish
from simulators.cli.claude.rows import stamp
from simulators.cli.claude.texts import prose
from simulators.cli.effects import Effect, Now


def slash_command(context: Context, text: str) -> Generator[Effect, Any, bool | None]:
    """Run a command; True or False for how it went, None if the text is no command that is known here."""
    name, _, arguments = text[1:].partition(" ")
    if name != "compact":
        return None
    now = yield Now()
    context.turn = Turn(now)
    rich = context.version.rich_events
    if rich:
        yield from context.note("queue-operation", operation="enqueue", timestamp=stamp(now), content=text)
    yield from context.note("queue-operation", operation="dequeue", timestamp=stamp(now))
    made = yield from compaction.manual(context, arguments.strip())
    yield from emit_init(context)
    context.turn.steps = 0
    if made is None:
        yield from finish(context, "success", is_error=True, terminal=None, result="Error: Error during compaction")
        return False
    boundary, summary = made
    yield from context.out.event(boundary)
    synthetic: dict[str, Any] = {"isSynthetic": True} if rich else {}
    yield from compaction.say_summary(context, summary, isReplay=False, **synthetic)
    printed = "<local-command-stdout>Compacted </local-command-stdout>"
    yield from _remember_command(context, name, arguments.strip(), printed)
    stamped = {"timestamp": stamp(now)} if rich else {}
    message = {"role": "user", "content": printed}
    yield from context.emit("user", message=message, parent_tool_use_id=None, **stamped, isReplay=True)
    local: dict[str, Any] = {"local_command": "compact"} if rich else {}
    yield from finish(context, "success", is_error=False, terminal=None, result="", **local)
    return True


def _remember_command(context: Context, name: str, arguments: str, printed: str) -> Generator[Effect, Any, None]:
    """The command and what it printed are part of the conversation from now on."""
    caveat = f"<local-command-caveat>{prose('local command', 171)}</local-command-caveat>"
    pad = "\n            "
    parts = (("name", f"/{name}"), ("message", name), ("args", arguments))
    command = pad.join(f"<command-{part}>{value}</command-{part}>" for part, value in parts)
    yield from context.add("user", message={"role": "user", "content": caveat}, isMeta=True)
    yield from context.add("user", message={"role": "user", "content": command})
    yield from context.add("user", message={"role": "user", "content": printed})
    yield from compaction.announce(context)
