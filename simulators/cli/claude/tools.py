"""The tools that the fake really runs: Bash, Read, Write, Edit, and those of MCP servers. What a result looks like."""

import json
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from simulators.cli.claude import catalogue, permissions
from simulators.cli.claude.context import Context
from simulators.cli.claude.hooks import run_hooks
from simulators.cli.claude.mcp import Server
from simulators.cli.claude.permissions import ToolOutcome
from simulators.cli.claude.probes import ask_for_paths
from simulators.cli.claude.rows import stamp
from simulators.cli.effects import Effect, Exec, Executed, Now, ReadFile, WriteFile

_OUTPUT_LIMIT = 30_000
# Commands that print nothing when they succeed.
_QUIET = frozenset(("mv", "cp", "rm", "mkdir", "rmdir", "chmod", "chown", "touch", "ln", "cd", "export", "wait"))


def run_tool(context: Context, call: Mapping[str, Any]) -> Generator[Effect, Any, ToolOutcome]:
    """Run one `tool_use` block: what hooks and permissions let through."""
    name, given, id = call["name"], dict(call.get("input") or {}), call["id"]
    found = context.mcp.find(name) if context.mcp is not None else None
    if found is None:
        if name == "StructuredOutput" and context.options.json_schema is not None:
            return _structured(context, id, given)
        if name not in _offered(context):
            return _refused(id, f"Error: No such tool available: {name}")
        wrong = catalogue.problems(name, context.version.name, given)
        if wrong:
            return _refused(id, _invalid(name, wrong))
    about = {"tool_name": name, "tool_input": given, "tool_use_id": id}
    verdict = yield from run_hooks(context, "PreToolUse", about, subject=name, tool_use_id=id)
    leave = yield from permissions.leave(context, call, given, verdict, found[0] if found is not None else None)
    if isinstance(leave, ToolOutcome):
        return leave
    began = yield Now()
    outcome = yield from _perform(context, call, leave.given, found)
    outcome.decision = leave.decision
    ended = yield Now()
    failed = bool(outcome.block.get("is_error"))
    after = {**about, "tool_input": leave.given}
    after |= {"error": str(outcome.report)} if failed else {"tool_response": outcome.report}
    if context.version.rich_events:
        after["duration_ms"] = round((ended - began) * 1000)
    event = "PostToolUseFailure" if failed and context.version.rich_events else "PostToolUse"
    yield from run_hooks(context, event, after, subject=name, tool_use_id=id)
    return outcome


def _perform(
    context: Context, call: Mapping[str, Any], given: dict[str, Any], found: tuple[Server, str] | None
) -> Generator[Effect, Any, ToolOutcome]:
    name, id = call["name"], call["id"]
    if found is not None:
        assert context.mcp is not None
        said = yield from context.mcp.call(context, *found, {**call, "input": given})
        content = said.get("content", [])
        return ToolOutcome(_block(id, content, error=True if said.get("isError") else None), content)
    runner = {"Bash": _bash, "Read": _read, "Write": _write, "Edit": _edit}.get(name)
    if runner is None:
        text = f"{name} has nothing to do here."
        return ToolOutcome(_block(id, text), text)
    return (yield from runner(context, id, given))


def _structured(context: Context, id: str, given: dict[str, Any]) -> ToolOutcome:
    """The answer in the form that --json-schema asked for ends the turn."""
    missing = catalogue.unfit(json.loads(context.options.json_schema or "{}"), given)
    if missing:
        text = f"Output does not match required schema: {missing}"
        block = {"type": "tool_result", "content": text, "is_error": True, "tool_use_id": id}
        return ToolOutcome(block, f"Error: {text}", {"decision": "accept", "source": "config"})
    context.turn.structured = given
    text = "Structured output provided successfully"
    return ToolOutcome(_block(id, text), text, {"decision": "accept", "source": "config"})


def deliver(context: Context, call: Mapping[str, Any], outcome: ToolOutcome) -> Generator[Effect, Any, None]:
    """Hand a result to the model, to stdout and to the books of the turn."""
    rich, turn = context.version.rich_events, context.turn
    turn.steps += 1
    if outcome.denied is not None or outcome.rejected:
        turn.denials.append({"tool_name": call["name"], "tool_use_id": call["id"], "tool_input": call["input"]})
    if outcome.denied is not None and rich:
        body = {"subtype": "permission_denied", "tool_name": call["name"], "tool_use_id": call["id"]}
        if outcome.denied_by_mode:
            body["decision_reason_type"] = "mode"
        yield from context.emit("system", **body, message=outcome.denied)
    message = {"role": "user", "content": [outcome.block]}
    yield from context.add("user", message=message, toolUseResult=outcome.report)
    now = yield Now()
    event: dict[str, Any] = {"type": "user", "message": message, "parent_tool_use_id": None}
    event |= {"session_id": context.session.id, "uuid": context.ids.uuid()}
    if rich:
        event["timestamp"] = stamp(now)
    event["tool_use_result"] = outcome.report
    meta = dict(outcome.meta or {})
    if outcome.decision is not None:
        meta["permission_decision"] = outcome.decision
    if rich and meta:
        event["tool_result_meta"] = [{"id": call["id"], **meta}]
    yield from context.out.event(event)


def _offered(context: Context) -> list[str]:
    return [*context.tool_names, *context.version.deferred_tools]


def _invalid(name: str, wrong: Sequence[tuple[str, str]]) -> str:
    said = {
        "missing": "The required parameter `{}` is missing",
        "unexpected": "An unexpected parameter `{}` was provided",
    }
    lines = "\n".join(said[kind].format(key) for kind, key in wrong)
    issue = "issue" if len(wrong) == 1 else "issues"
    return f"InputValidationError: {name} failed due to the following {issue}:\n{lines}"


def _refused(id: str, text: str) -> ToolOutcome:
    content = f"<tool_use_error>{text}</tool_use_error>"
    return ToolOutcome({"type": "tool_result", "content": content, "is_error": True, "tool_use_id": id}, text)


def _block(id: str, content: Any, *, error: bool | None = None) -> dict[str, Any]:
    made = {"tool_use_id": id, "type": "tool_result", "content": content}
    return made if error is None else {**made, "is_error": error}


def _bash(context: Context, id: str, given: Mapping[str, Any]) -> Generator[Effect, Any, ToolOutcome]:
    timeout = float(given.get("timeout") or 120_000) / 1000
    done = yield Exec(("/bin/sh", "-c", str(given["command"])), context.start.cwd, timeout_s=timeout)
    assert isinstance(done, Executed)
    yield from ask_for_paths(context, str(given["command"]), done.stdout.decode("utf-8", "replace").rstrip("\n"))
    out = done.stdout.decode("utf-8", "replace").rstrip("\n")[:_OUTPUT_LIMIT]
    err = done.stderr.decode("utf-8", "replace").rstrip("\n")[:_OUTPUT_LIMIT]
    if done.timed_out:
        text = f"Command timed out after {timeout:g}s\n{out}".strip()
        return ToolOutcome(_block(id, text, error=True), f"Error: {text}")
    if done.code != 0:
        text = "\n".join(part for part in (f"Exit code {done.code}", err, out) if part)
        return ToolOutcome(_block(id, text, error=True), f"Error: {text}")
    text = "\n".join(part for part in (out, err) if part)
    report = {"stdout": out, "stderr": err, "interrupted": False, "isImage": False}
    if context.version.rich_events:
        quiet = str(given["command"]).split(" ")[0] in _QUIET and not text
        report["noOutputExpected"] = quiet
        text = text or "(Bash completed with no output)"
    return ToolOutcome(_block(id, text, error=False), report)


def _path(context: Context, given: Mapping[str, Any]) -> str:
    path = str(given["file_path"])
    return path if path.startswith("/") else f"{context.start.cwd}/{path}"


def _read(context: Context, id: str, given: Mapping[str, Any]) -> Generator[Effect, Any, ToolOutcome]:
    path = _path(context, given)
    data = yield ReadFile(path)
    if data is None:
        text = "File does not exist."
        return ToolOutcome(_block(id, f"<tool_use_error>{text}</tool_use_error>", error=True), f"Error: {text}")
    content = data.decode("utf-8", "replace")
    lines = content.split("\n")
    first = max(int(given.get("offset") or 1), 1)
    shown = lines[first - 1 : first - 1 + int(given.get("limit") or 2000)]
    numbered = "\n".join(f"{first + i}\t{line}" for i, line in enumerate(shown))
    file = {
        "filePath": path,
        "content": "\n".join(shown),
        "numLines": len(shown),
        "startLine": first,
        "totalLines": len(lines),
    }
    return ToolOutcome(_block(id, numbered), {"type": "text", "file": file})


def _write(context: Context, id: str, given: Mapping[str, Any]) -> Generator[Effect, Any, ToolOutcome]:
    path = _path(context, given)
    before = yield ReadFile(path)
    problem = yield WriteFile(path, str(given["content"]).encode("utf-8", "surrogatepass"))
    if problem is not None:
        return ToolOutcome(_block(id, f"Error: {problem}", error=True), f"Error: {problem}")
    kind = "create" if before is None else "update"
    text = f"File created successfully at: {path}" if before is None else f"The file {path} has been updated."
    if context.version.rich_events:
        text += " (file state is current in your context — no need to Read it back)"
    report = {"type": kind, "filePath": path, "content": given["content"], "structuredPatch": [], "originalFile": None}
    return ToolOutcome(_block(id, text), report)


def _edit(context: Context, id: str, given: Mapping[str, Any]) -> Generator[Effect, Any, ToolOutcome]:
    path = _path(context, given)
    data = yield ReadFile(path)
    if data is None:
        return _refused(id, "File does not exist.")
    text = data.decode("utf-8", "replace")
    old, new = str(given["old_string"]), str(given["new_string"])
    found = text.count(old) if old else 0
    if found == 0:
        return _refused(id, f"String to replace not found in file.\nString: {old}")
    if found > 1 and not given.get("replace_all"):
        return _refused(id, f"Found {found} matches of the string to replace, but replace_all is false.\nString: {old}")
    problem = yield WriteFile(path, text.replace(old, new).encode("utf-8", "surrogatepass"))
    if problem is not None:
        return ToolOutcome(_block(id, f"Error: {problem}", error=True), f"Error: {problem}")
    report = {
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": text,
        "replaceAll": bool(given.get("replace_all")),
    }
    return ToolOutcome(_block(id, f"The file {path} has been updated successfully."), report)
