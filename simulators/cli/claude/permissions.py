"""Whether a tool may run: hooks, rules, the mode, and whoever may be asked (a host, or a tool of an MCP server)."""

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.cli.claude.context import Context
from simulators.cli.claude.control import Refused
from simulators.cli.claude.hooks import Verdict
from simulators.cli.claude.mcp import Server
from simulators.cli.effects import Effect

_READ_ONLY = frozenset((
    "cat", "cd", "date", "df", "du", "echo", "env", "file", "find", "grep", "head", "hostname", "id", "ls", "printf",
    "ps", "pwd", "rg", "sort", "stat", "tail", "true", "uname", "uniq", "wc", "which", "whoami",
))  # fmt: skip
_GIT_READ_ONLY = frozenset(("status", "log", "diff", "show", "branch", "rev-parse"))
_FILE_COMMANDS = frozenset(("touch", "mkdir", "rm", "rmdir", "cp", "mv", "sed"))  # acceptEdits lets them through
_EDITS = ("Write", "Edit", "NotebookEdit")
_DENIED_HINT = "You may try to reach the goal in another reasonable way, or stop and tell the user why this is needed."
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


@dataclass(slots=True)
class ToolOutcome:
    """Of one tool call: the block for the model, what stdout tells besides, and why it ran or did not."""

    block: dict[str, Any]
    report: Any
    decision: dict[str, str] | None = None
    denied: str | None = None  # the message of a permission_denied event
    denied_by_mode: bool = False
    rejected: bool = False  # counted among permission_denials, without that event
    stops: bool = False  # the user wants the turn to end here
    meta: dict[str, Any] | None = None


@dataclass(slots=True)
class Leave:
    """A call may run: with this input, for this reason."""

    given: dict[str, Any]
    decision: dict[str, str]


def leave(
    context: Context, call: Mapping[str, Any], given: dict[str, Any], verdict: Verdict, server: Server | None
) -> Generator[Effect, Any, Leave | ToolOutcome]:
    """Decide on one call. `given` is its input, `server` whose tool it is if it is no built-in one."""
    name, id = str(call["name"]), str(call["id"])
    if verdict.decision == "deny":
        text = f"PreToolUse:{name} hook error: {verdict.reason}".rstrip()
        return _rejection(id, text, f"Error: {text}", {"decision": "reject", "source": "hook", "reason_type": "hook"})
    given = verdict.input or given
    if verdict.decision == "allow":
        return Leave(given, {"decision": "accept", "source": "hook", "reason_type": "hook"})
    allowed, reason = _permission(context, name, given, server)
    if allowed and verdict.decision != "ask":
        return Leave(given, {"decision": "accept", "source": "config", "reason_type": reason})
    asks = context.options.permission_prompt_tool
    if asks and context.mode != "dontAsk" and reason != "deny":
        return (yield from _ask(context, call, given, server))
    return _denied(context, id, name, given)


def _permission(context: Context, name: str, given: Mapping[str, Any], server: Server | None) -> tuple[bool, str]:
    """Whether a call may run, and by what: a rule, the mode, or its own harmlessness."""
    mode, options = context.mode, context.options
    if any(_matches(rule, name, given) for rule in [*options.disallowed_tools, *context.denied_rules]):
        return False, "deny"
    if any(_matches(rule, name, given) for rule in [*options.allowed_tools, *context.allowed_rules]):
        return True, "rule"
    if server is not None and f"mcp__{server.name}" in [*options.allowed_tools, *context.allowed_rules]:
        return True, "rule"
    if mode == "bypassPermissions":
        return True, "mode"
    if server is not None:
        return False, "other"
    if name == "Bash":
        command = str(given.get("command", ""))
        if mode == "acceptEdits" and command.split(" ")[0] in _FILE_COMMANDS and not _chained(command):
            return True, "subcommandResults"
        return mode != "dontAsk" and _harmless(command), "other"
    if name in _EDITS:
        return mode == "acceptEdits", "mode"
    return name not in ("AskUserQuestion", "ExitPlanMode"), "mode"


def _chained(command: str) -> bool:
    return re.search(r"[;&|><`\n]|\$\(", command) is not None


def _matches(rule: str, name: str, given: Mapping[str, Any]) -> bool:
    """`Bash`, `Bash(git log:*)`, `Bash(git *)`, `mcp__server__*`, `*`."""
    head, paren, pattern = rule.partition("(")
    if head != name and not (head.endswith("*") and name.startswith(head[:-1])):
        return False
    if not paren:
        return True
    pattern = pattern.removesuffix(")")
    text = str(given.get("command") or given.get("file_path") or "")
    if pattern.endswith(":*"):
        return text.startswith(pattern[:-2])
    if pattern.endswith(" *") and text == pattern[:-2]:
        return True
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


# -- who may be asked -------------------------------------------------------------------------------------------------


def _ask(
    context: Context, call: Mapping[str, Any], given: dict[str, Any], server: Server | None
) -> Generator[Effect, Any, Leave | ToolOutcome]:
    """Ask the host (`stdio`) or the MCP tool that --permission-prompt-tool names."""
    id = str(call["id"])
    try:
        if context.options.permission_prompt_tool == "stdio":
            answer = yield from _ask_host(context, call, given, server)
        else:
            answer = yield from _ask_tool(context, call, given)
    except Refused as refusal:
        text = f"Tool permission request failed: Error: {refusal}"
        return _rejection(id, text, f"Error: {text}", None)
    if answer.get("behavior") == "allow":
        changed = answer.get("updatedInput")
        _remember(context, answer.get("updatedPermissions") or ())
        lasting = any(u.get("destination") not in (None, "session") for u in answer.get("updatedPermissions") or ())
        source = "user_permanent" if lasting else "user_temporary"
        return Leave(dict(changed) if isinstance(changed, dict) else given, {"decision": "accept", "source": source})
    if answer.get("interrupt"):
        return rejected(id)
    text = str(answer.get("message", ""))
    return _rejection(id, text, f"Error: {text}", {"decision": "reject", "source": "user_reject"})


def _ask_host(
    context: Context, call: Mapping[str, Any], given: dict[str, Any], server: Server | None
) -> Generator[Effect, Any, dict[str, Any]]:
    if context.control is None:
        raise Refused("Stream closed")
    name = str(call["name"])
    request: dict[str, Any] = {"subtype": "can_use_tool", "tool_name": name}
    if context.version.rich_events:
        if server is not None:
            request["mcp_server"] = {"name": server.name, "source": server.source}
        request["display_name"] = name if server is None else name.split("__")[-1].capitalize()
    request["input"] = given
    if context.version.rich_events and isinstance(given.get("description"), str):
        request["description"] = given["description"]
    request["permission_suggestions"] = _suggestions(context, name, given)
    path = _touched(context, name, given)
    if path is not None:
        request["blocked_path"] = path
    if server is not None and context.version.rich_events:
        request["server_policy_ask_only"] = True
    request["tool_use_id"] = call["id"]
    yield from context.control.state("requires_action")
    try:
        return (yield from context.control.ask(request))
    finally:
        yield from context.control.state("running")


def _ask_tool(
    context: Context, call: Mapping[str, Any], given: dict[str, Any]
) -> Generator[Effect, Any, dict[str, Any]]:
    asked = str(context.options.permission_prompt_tool)
    found = context.mcp.find(asked) if context.mcp is not None else None
    if context.mcp is None or found is None:
        raise Refused(f"MCP tool {asked} (passed via --permission-prompt-tool) not found")
    about = {"tool_name": call["name"], "input": given, "tool_use_id": call["id"]}
    said = yield from context.mcp.call(context, *found, {"id": call["id"], "input": about})
    text = next((b.get("text", "") for b in said.get("content", ()) if b.get("type") == "text"), "")
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or answer.get("behavior") not in ("allow", "deny"):
        raise Refused(f"Permission prompt tool {asked} returned an invalid result")
    return answer


def _suggestions(context: Context, name: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a host may offer its user besides yes and no."""
    accept = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    if name in _EDITS:
        return [accept]
    rule: dict[str, Any] = {"toolName": name}
    if name == "Bash":
        rule["ruleContent"] = " ".join(str(given.get("command", "")).split(" ")[:2]) + " *"
    made: list[dict[str, Any]] = [
        {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}
    ]
    if _touched(context, name, given) is not None:
        made += [{"type": "addDirectories", "directories": [context.start.cwd], "destination": "session"}, accept]
    return made


def _touched(context: Context, name: str, given: Mapping[str, Any]) -> str | None:
    """The path that a shell command would change."""
    words = str(given.get("command", "")).split()
    if name != "Bash" or len(words) < 2 or words[0] not in _FILE_COMMANDS or _chained(str(given["command"])):
        return None
    return words[-1] if words[-1].startswith("/") else f"{context.start.cwd}/{words[-1]}"


def _remember(context: Context, updates: Any) -> None:
    """Apply the permission updates of an answer, for this process."""
    for update in updates:
        kind, behavior = update.get("type"), update.get("behavior")
        if kind == "setMode" and update.get("mode"):
            context.options.permission_mode = str(update["mode"])
        for rule in update.get("rules") or ():
            content = rule.get("ruleContent")
            text = str(rule.get("toolName", "")) + (f"({content})" if content else "")
            rules = context.denied_rules if behavior == "deny" else context.allowed_rules
            if kind == "addRules" and behavior in ("allow", "deny"):
                rules.append(text)
            elif kind == "removeRules" and text in rules:
                rules.remove(text)


# -- refusals ---------------------------------------------------------------------------------------------------------


def rejected(id: str) -> ToolOutcome:
    """The user stopped the turn before or while the tool ran."""
    block = {"type": "tool_result", "content": REJECTED, "is_error": True, "tool_use_id": id}
    meta = {"non_execution_kind": "user-rejected"}
    return ToolOutcome(block, "User rejected tool use", rejected=True, stops=True, meta=meta)


def _rejection(id: str, text: str, report: str, decision: dict[str, str] | None) -> ToolOutcome:
    block = {"type": "tool_result", "content": text, "is_error": True, "tool_use_id": id}
    return ToolOutcome(block, report, decision, rejected=True, meta={"non_execution_kind": "permission-rule"})


def _denied(context: Context, id: str, name: str, given: Mapping[str, Any]) -> ToolOutcome:
    by_mode = context.mode == "dontAsk"
    if by_mode:
        text = (
            f"Permission to use {name} has been denied because Claude Code is running in don't ask mode. {_DENIED_HINT}"
        )
    elif name == "Bash":
        text = f"{str(given.get('command', '')).split(' ')[0]} needs approval. {_DENIED_HINT}"
    else:
        what = f"write to {given.get('file_path', '')}" if name in _EDITS else f"use {name}"
        text = f"Claude requested permissions to {what}, but you haven't granted it yet."
    block = {"type": "tool_result", "content": text, "is_error": True, "tool_use_id": id}
    reject = {"decision": "reject", "source": "config", "reason_type": "mode" if by_mode else "other"}
    meta = {"non_execution_kind": "permission-rule"}
    return ToolOutcome(block, f"Error: {text}", reject, denied=text, denied_by_mode=by_mode, meta=meta)
