"""What the CLI mends when it resumes a conversation that broke off (a process that was killed).

2.1.332 answers a tool call that has no result with an error and adds a reply of its own; 2.1.19 leaves such a call out
of what it sends, and puts a reply of its own behind a prompt that was never answered (a `/compact` among them). Both
seen on the real ones after kill −9 in the middle of a tool.
"""

from collections.abc import Sequence
from typing import Any

from simulators.cli.claude.context import Context, Steps
from simulators.cli.claude.events import synthetic_message
from simulators.cli.claude.session import Row
from simulators.cli.claude.texts import prose

_REPLY = "No response requested."
_INTERRUPTED = f"[Tool call interrupted: {prose('interrupted', 156)}]"


def mend(context: Context) -> Steps:
    """Add the rows that a resumed conversation needs before the next prompt."""
    said = [r for r in context.session.chain() if r["type"] in ("user", "assistant")]
    if not said:
        return
    if context.version.rich_events:
        missing = unanswered(said)
        if missing:
            blocks = [_interrupted(id) for id in missing]
            yield from context.add("user", message={"role": "user", "content": blocks}, toolUseResult=_INTERRUPTED)
            yield from _reply(context)
    elif said[-1]["type"] == "user":
        yield from _reply(context)


def _interrupted(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "content": _INTERRUPTED, "is_error": True, "tool_use_id": id}


def unanswered(rows: Sequence[Row]) -> list[str]:
    """Ids of tool calls that have no result, in order."""
    calls: list[str] = []
    for row in rows:
        content = row["message"]["content"] if row["type"] in ("user", "assistant") else ""
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                calls.append(block["id"])
            elif block.get("type") == "tool_result" and block["tool_use_id"] in calls:
                calls.remove(block["tool_use_id"])
    return calls


def _reply(context: Context) -> Steps:
    message = synthetic_message(context.version, _REPLY, id=context.ids.uuid())
    row = {key: value for key, value in message.items() if key != "context_management"}
    yield from context.add("assistant", message=row, isApiErrorMessage=False)
