"""The tools that codex has of its own: commands in a shell, and patches."""

import json
import shlex
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulators.cli.codex import patch
from simulators.cli.codex.patch import Change, PatchError
from simulators.cli.codex.rollout import PASSTHROUGH, Item
from simulators.cli.codex.run import Run
from simulators.cli.effects import Effect, Exec, Executed, Now, WriteFile

Outcome = Generator[Effect, Any, str]
_LIMIT = 10_000  # tokens of output that the model is shown, where it does not ask for another number
READ_ONLY = "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"


@dataclass(slots=True)
class Ran:
    """How a command went."""

    code: int
    output: str
    seconds: float = 0.0
    aborted: bool = False


@dataclass(slots=True)
class Tool:
    """One call of a tool while it is carried out: what others are shown of it."""

    run: Run
    call: Mapping[str, Any]
    started: float = 0.0
    item: Item = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.call["call_id"])

    def begin(self, item: Item) -> Generator[Effect, Any, None]:
        """Others hear that it begins."""
        self.started = yield Now()
        self.item = {"id": self.id, **item}
        yield from self.run.listener.started(self.item)

    def end(self, recorded: Item, **outcome: Any) -> Generator[Effect, Any, None]:
        """And that it is over; the rollout gets its line."""
        now = yield Now()
        self.item = {**self.item, **outcome}
        yield from self.run.thread.event(
            "item_completed",
            thread_id=self.run.thread.id,
            turn_id=self.run.turn.id,
            item=recorded,
            started_at_ms=int(self.started * 1000),
            completed_at_ms=int(now * 1000),
        )
        yield from self.run.listener.completed(self.item)


def use(run: Run, call: Mapping[str, Any]) -> Generator[Effect, Any, bool]:
    """Carry out a call and put its output into the conversation. False if the turn is to end here."""
    tool = Tool(run, call)
    custom = call["type"] == "custom_tool_call"
    try:
        if call["name"] == "apply_patch":
            text = yield from _apply_patch(tool, _patch_text(call))
        elif call["name"] == "exec_command" and not custom:
            text = yield from _exec_command(tool, _arguments(call, "cmd"))
        elif call["name"] == "write_stdin" and not custom:
            session = _arguments(call, "session_id")["session_id"]
            raise _Refused(f"write_stdin failed: Unknown process id {session}")
        else:
            raise _Refused(f"unsupported call: {call['name']}")
    except _Refused as refusal:
        text = str(refusal)
        yield from run.listener.log("codex_core::tools::router", f"error={text}")
    now = yield Now()
    id = yield from run.new_id()
    kind, prefix = ("custom_tool_call_output", "ctco") if custom else ("function_call_output", "fco")
    output: Item = {"type": kind, "id": f"{prefix}_{id}", "call_id": tool.id, "output": text}
    output[PASSTHROUGH] = {"turn_id": run.turn.id, "create_time": now}
    yield from run.thread.add(output, fallback_token_limit_override=12000)
    return not text.endswith("aborted by user")


class _Refused(Exception):
    """The call cannot be carried out; the model is told why."""


def _arguments(call: Mapping[str, Any], needed: str) -> dict[str, Any]:
    text = str(call.get("arguments", ""))
    try:
        given = json.loads(text)
    except ValueError as error:
        raise _Refused(f"failed to parse function arguments: {error}") from None
    if not isinstance(given, dict) or needed not in given:
        where = f"at line 1 column {len(text)}"
        raise _Refused(f"failed to parse function arguments: missing field `{needed}` {where}")
    return given


def _exec_command(tool: Tool, given: Mapping[str, Any]) -> Outcome:
    run, command = tool.run, str(given["cmd"])
    shell = "-lc" if given.get("login", True) else "-c"
    argv = ["/bin/bash", shell, command]
    cwd = str(given.get("workdir") or run.thread.cwd)
    cwd = cwd if cwd.startswith("/") else f"{run.thread.cwd}/{cwd}"
    shown = " ".join([*argv[:2], _quoted(command)])
    action = {"type": "unknown", "command": command}
    begun = {"type": "commandExecution", "command": shown, "cwd": cwd, "status": "inProgress", "actions": [action]}
    yield from tool.begin(begun)
    recorded: Item = {
        "type": "CommandExecution",
        "id": tool.id,
        "process_id": str(10_000 + int(run.ids.fraction() * 80_000)),
        "command": argv,
        "cwd": f"file://{cwd}",
        "parsed_cmd": [{"type": "unknown", "cmd": command}],
        "source": "unified_exec_startup",
    }
    tool.item["processId"] = recorded["process_id"]
    verdict = yield from _may_run(tool)
    if verdict in ("decline", "cancel"):
        recorded |= {"status": "declined", "aggregated_output": "", "exit_code": None}
        yield from tool.end(recorded, status="declined", output="", exitCode=None)
        return "exec command rejected by user" + ("\naborted by user" if verdict == "cancel" else "")
    ran = yield from run.listener.execute(argv, cwd)
    if ran.aborted:
        return f"Wall time: {ran.seconds:.1f} seconds\naborted by user"
    status = "completed" if ran.code == 0 else "failed"
    recorded |= {"status": status, "aggregated_output": ran.output, "exit_code": ran.code}
    recorded["duration"] = {"secs": int(ran.seconds), "nanos": int(ran.seconds % 1 * 1e9)}
    yield from tool.end(recorded, status=status, output=ran.output, exitCode=ran.code)
    tokens = -(-len(ran.output) // 4)
    shown_output = _shortened(ran.output, int(given.get("max_output_tokens") or _LIMIT))
    return (
        f"Chunk ID: {run.ids.hex(6)}\nWall time: {ran.seconds:.4f} seconds\nProcess exited with code {ran.code}\n"
        f"Original token count: {tokens}\nOutput:\n{shown_output}"
    )


def _quoted(command: str) -> str:
    """As the shell words are joined: single quotes around, unless a quote inside asks for the other kind."""
    if "'" in command and not set(command) & set('"$`\\!'):
        return f'"{command}"'
    return shlex.quote(command)


def _shortened(text: str, tokens: int) -> str:
    """The beginning and the end of what is too long."""
    room = tokens * 4
    if len(text) <= room:
        return text
    left = (len(text) - room) // 4
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"Total output lines: {lines}\n\n{text[: room // 2]}…{left} tokens truncated…{text[-room // 2 :]}"


def _may_run(tool: Tool) -> Generator[Effect, Any, str]:
    """Whether somebody has to be asked, and what they say. Without anybody to ask everything may run."""
    run = tool.run
    if run.config.approval != "untrusted" or tool.item["command"] in run.approved:
        return "accept"
    verdict = yield from run.listener.approve(tool.item)
    if verdict == "acceptForSession":
        run.approved.add(tool.item["command"])
    return verdict


def plain_exec(argv: list[str], cwd: str) -> Generator[Effect, Any, Ran]:
    """Run a command to its end, its stderr where its stdout goes."""
    before = yield Now()
    merged = [argv[0], "-c", 'exec "$0" "$@" 2>&1', *argv]
    done = yield Exec(merged, cwd)
    assert isinstance(done, Executed)
    after = yield Now()
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    code = done.code if done.code >= 0 else 128 - done.code
    return Ran(code, output, after - before)


def _patch_text(call: Mapping[str, Any]) -> str:
    if call["type"] == "custom_tool_call":
        return str(call.get("input", ""))
    return str(_arguments(call, "input")["input"])


def _apply_patch(tool: Tool, text: str) -> Outcome:
    run = tool.run
    try:
        changes = patch.parse(text)
        yield from patch.resolve(changes, run.thread.cwd)
    except PatchError as error:
        raise _Refused(f"apply_patch verification failed: {error}") from None
    blocked = run.config.sandbox == "read-only"
    if blocked and run.config.approval == "never":
        raise _Refused(READ_ONLY)
    shown = [
        {"path": c.path, "kind": c.kind, "diff": patch.diff(c), "git": patch.git_diff(c, run.thread.cwd)}
        for c in changes
    ]
    yield from tool.begin({"type": "fileChange", "changes": shown, "status": "inProgress"})
    recorded: Item = {"type": "FileChange", "id": tool.id, "changes": {c.target: _recorded(c) for c in changes}}
    if blocked or run.config.approval == "untrusted":
        verdict = yield from run.listener.approve(tool.item)
        if verdict in ("decline", "cancel"):
            yield from tool.end({**recorded, "status": "declined", "stdout": "", "stderr": ""}, status="declined")
            return "patch rejected by user" + ("\naborted by user" if verdict == "cancel" else "")
    problem = yield from _write(changes)
    if problem:
        yield from tool.end({**recorded, "status": "failed", "stdout": "", "stderr": problem}, status="failed")
        return f"Exit code: 1\nWall time: 0 seconds\nOutput:\n{problem}"
    said = patch.summary(changes)
    yield from tool.end({**recorded, "status": "completed", "stdout": said, "stderr": ""}, status="completed")
    return f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{said}"


def _recorded(change: Change) -> Item:
    if change.kind == "update":
        return {"type": "update", "unified_diff": patch.diff(change), "move_path": change.move_to}
    return {"type": change.kind, "content": change.content if change.kind == "add" else change.before}


def _write(changes: list[Change]) -> Generator[Effect, Any, str]:
    for change in changes:
        if change.kind != "delete":
            problem = yield WriteFile(change.target, change.content.encode("utf-8", "surrogatepass"))
            if problem is not None:
                return f"Failed to write file {change.target}: {problem}"
        if change.kind == "delete" or change.move_to:
            removed = yield Exec(["/bin/rm", "-f", "--", change.path], "/")
            if removed.code:
                return f"Failed to delete file {change.path}"
    return ""
