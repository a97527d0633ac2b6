"""The tools that the fake really runs: Bash, Read, Write, Edit. What is allowed, and what a result looks like."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.cli.claude import catalogue
from simulators.cli.claude.context import Context
from simulators.cli.claude.mcp import Server
from simulators.cli.claude.probes import ask_for_paths
from simulators.cli.effects import Effect, Exec, Executed, ReadFile, WriteFile

_READ_ONLY = frozenset((
    "cat", "cd", "date", "df", "du", "echo", "env", "file", "find", "grep", "head", "hostname", "id", "ls", "printf",
    "ps", "pwd", "rg", "sort", "stat", "tail", "true", "uname", "uniq", "wc", "which", "whoami",
))  # fmt: skip
_GIT_READ_ONLY = frozenset(("status", "log", "diff", "show", "branch", "rev-parse"))
_OUTPUT_LIMIT = 30_000
_DENIED_HINT = "You may try to reach the goal in another reasonable way, or stop and tell the user why this is needed."


@dataclass(slots=True)
class ToolOutcome:
    """Of one tool call: the block for the model, what stdout tells besides, and why it ran or did not."""

    block: dict[str, Any]
    report: Any
    decision: dict[str, str] | None = None
    denied: str | None = None  # the message of a permission_denied event
    denied_by_mode: bool = False
    meta: dict[str, Any] = field(default_factory=dict)


def run_tool(context: Context, call: Mapping[str, Any]) -> Generator[Effect, Any, ToolOutcome]:
    """Run one `tool_use` block."""
    name, given, id = call["name"], dict(call.get("input") or {}), call["id"]
    if context.mcp is not None and (found := context.mcp.find(name)) is not None:
        return (yield from _bridged(context, *found, call))
    if name not in _offered(context):
        return _refused(id, f"Error: No such tool available: {name}")
    wrong = catalogue.problems(name, context.version.name, given)
    if wrong:
        return _refused(id, _invalid(name, wrong))
    allowed, reason = _permission(context, name, given)
    if not allowed:
        return _denied(context, id, name, given)
    decision = {"decision": "accept", "source": "config", "reason_type": reason}
    runner = {"Bash": _bash, "Read": _read, "Write": _write, "Edit": _edit}.get(name)
    if runner is None:
        text = f"{name} has nothing to do here."
        return ToolOutcome(_block(id, text), text, decision)
    outcome: ToolOutcome = yield from runner(context, id, given)
    outcome.decision = decision
    return outcome


def _bridged(
    context: Context, server: Server, tool: str, call: Mapping[str, Any]
) -> Generator[Effect, Any, ToolOutcome]:
    """A tool of an MCP server; it needs leave as a command does."""
    assert context.mcp is not None
    name, id = call["name"], call["id"]
    rules = [rule for rule in context.options.allowed_tools if rule in (name, f"mcp__{server.name}", "*")]
    mode = context_mode(context)
    if not rules and mode != "bypassPermissions":
        return _denied(context, id, name, dict(call.get("input") or {}))
    said = yield from context.mcp.call(context, server, tool, call)
    content = said.get("content", [])
    block = _block(id, content, error=True if said.get("isError") else None)
    decision = {"decision": "accept", "source": "config", "reason_type": "rule" if rules else "mode"}
    return ToolOutcome(block, content, decision)


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


def _denied(context: Context, id: str, name: str, given: Mapping[str, Any]) -> ToolOutcome:
    by_mode = context_mode(context) == "dontAsk"
    if by_mode:
        text = (
            f"Permission to use {name} has been denied because Claude Code is running in don't ask mode. {_DENIED_HINT}"
        )
    elif name == "Bash":
        text = f"{str(given.get('command', '')).split(' ')[0]} needs approval. {_DENIED_HINT}"
    else:
        what = f"write to {given.get('file_path', '')}" if name in ("Write", "Edit", "NotebookEdit") else f"use {name}"
        text = f"Claude requested permissions to {what}, but you haven't granted it yet."
    block = {"type": "tool_result", "content": text, "is_error": True, "tool_use_id": id}
    reject = {"decision": "reject", "source": "config", "reason_type": "mode" if by_mode else "other"}
    meta = {"non_execution_kind": "permission-rule"}
    return ToolOutcome(block, f"Error: {text}", reject, denied=text, denied_by_mode=by_mode, meta=meta)


def context_mode(context: Context) -> str:
    """The permission mode in force."""
    if context.options.dangerously_skip_permissions:
        return "bypassPermissions"
    return context.options.permission_mode or "default"


def _permission(context: Context, name: str, given: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a call may run, and by what: a rule of --allowedTools, the mode, or its own harmlessness."""
    mode = context_mode(context)
    for rule in context.options.disallowed_tools:
        if "(" in rule and _matches(rule, name, given):
            return False, "rule"
    if any(_matches(rule, name, given) for rule in context.options.allowed_tools):
        return True, "rule"
    if mode == "bypassPermissions":
        return True, "mode"
    if name == "Bash":
        return mode != "dontAsk" and _harmless(str(given.get("command", ""))), "other"
    if name in ("Write", "Edit", "NotebookEdit"):
        return mode == "acceptEdits", "mode"
    return True, "mode"


def _matches(rule: str, name: str, given: Mapping[str, Any]) -> bool:
    """`Bash`, `Bash(git log:*)`, `Bash(git *)`."""
    head, paren, pattern = rule.partition("(")
    if head != name:
        return False
    if not paren:
        return True
    pattern = pattern.removesuffix(")")
    text = str(given.get("command") or given.get("file_path") or "")
    if pattern.endswith(":*"):
        return text.startswith(pattern[:-2])
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.S) is not None


def _harmless(command: str) -> bool:
    """Commands that only read need no permission; anything with redirection or substitution does."""
    if re.search(r"[><`]|\$\(", command):
        return False
    for part in re.split(r"&&|\|\||[;|&\n]", command):
        words = part.split()
        if not words:
            continue
        if words[0] == "git":
            if len(words) < 2 or words[1] not in _GIT_READ_ONLY:
                return False
        elif words[0] not in _READ_ONLY:
            return False
    return True


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
        report["noOutputExpected"] = False
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
