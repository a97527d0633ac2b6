"""Hooks: commands of settings files, and callbacks of a host. What they are told, and what they may decide.

A command gets the event as JSON on stdin; exit code 2 forbids, with stderr as the reason; JSON on stdout decides as a
callback's answer does. `hook_started` and `hook_response` are printed for SessionStart, for others only with
--include-hook-events; callbacks are not announced (2.1.332).
"""

import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulators.cli.claude.control import Refused
from simulators.cli.claude.rows import attachment
from simulators.cli.claude.session import dump
from simulators.cli.effects import Effect, Exec, Executed

if TYPE_CHECKING:
    from simulators.cli.claude.context import Context

_TIMEOUT_S = 60.0
_ALWAYS_SHOWN = ("SessionStart", "Setup")
_WITH_EFFORT = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "PermissionRequest")
_PLAIN_OUTPUT_IS_CONTEXT = ("SessionStart", "UserPromptSubmit")


@dataclass(slots=True)
class Verdict:
    """What the hooks of one event decided together: the first to forbid wins, then the first to allow."""

    decision: str | None = None  # allow | deny | ask, of a tool
    reason: str = ""
    input: dict[str, Any] | None = None
    contexts: list[str] = field(default_factory=list)
    blocked: bool = False  # decision: block
    stopped: bool = False  # continue: false
    notes: list[str] = field(default_factory=list)


def run_hooks(
    context: "Context", event: str, about: Mapping[str, Any], *, subject: str = "", tool_use_id: str | None = None
) -> Generator[Effect, Any, Verdict]:
    """Run all hooks of an event whose matcher fits `subject` (a tool's name, a source)."""
    verdict = Verdict()
    if not context.hook_settings and (context.control is None or not context.control.hooks):
        return verdict
    said = {**_common(context, event), "hook_event_name": event, **about}
    for matcher in context.hook_settings.get(event, ()):
        if _fits(matcher.get("matcher"), subject):
            for hook in matcher.get("hooks", ()):
                if isinstance(hook, Mapping) and hook.get("type") == "command":
                    yield from _command(context, event, subject, hook, said, verdict)
    if context.control is not None:
        for matcher in context.control.hooks.get(event) or ():
            if _fits(matcher.get("matcher"), subject):
                for id in matcher.get("hookCallbackIds") or ():
                    yield from _callback(context, event, str(id), said, verdict, tool_use_id, matcher)
    for text in verdict.contexts:
        body = {"content": [text], "hookName": _name(event, subject), "hookEvent": event}
        made = attachment("hook_additional_context", body, f"{event} hook additional context: {text}")
        yield from context.add("attachment", **made)
    return verdict


def _name(event: str, subject: str) -> str:
    return f"{event}:{subject}" if subject else event


def _common(context: "Context", event: str) -> dict[str, Any]:
    session = context.session
    made: dict[str, Any] = {"session_id": session.id, "transcript_path": session.path, "cwd": context.start.cwd}
    if context.version.rich_events and context.prompt_id:
        made["prompt_id"] = context.prompt_id
    made["permission_mode"] = context.mode
    if context.version.rich_events and event in _WITH_EFFORT and context.effort:
        made["effort"] = {"level": context.effort}
    return made


def _fits(matcher: Any, subject: str) -> bool:
    """No matcher, "" and "*" fit all; else a name, names with `|`, or a pattern."""
    if matcher in (None, "", "*") or not subject:
        return True
    try:
        return re.fullmatch(str(matcher), subject) is not None
    except re.error:
        return str(matcher) == subject


def _command(
    context: "Context", event: str, subject: str, hook: Mapping[str, Any], said: Mapping[str, Any], verdict: Verdict
) -> Generator[Effect, Any, None]:
    name, id = _name(event, subject), context.ids.uuid()
    shown = context.version.rich_events and (event in _ALWAYS_SHOWN or context.options.include_hook_events)
    about = {"hook_id": id, "hook_name": name, "hook_event": event}
    if shown:
        yield from context.emit("system", subtype="hook_started", **about)
    timeout = float(hook.get("timeout") or _TIMEOUT_S)
    argv = ("/bin/sh", "-c", str(hook.get("command", "")))
    done = yield Exec(argv, context.start.cwd, stdin=dump(said).encode() + b"\n", timeout_s=timeout)
    assert isinstance(done, Executed)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if shown:
        outcome = "success" if done.code == 0 else "cancelled" if done.timed_out else "error"
        texts = {"output": out + err, "stdout": out, "stderr": err, "exit_code": done.code, "outcome": outcome}
        yield from context.emit("system", subtype="hook_response", **about, **texts)
    if done.code == 2:
        _forbid(verdict, event, f"[{hook.get('command', '')}]: {err or 'No stderr output'}".rstrip("\n"))
        return
    if done.code != 0:
        return
    answer = _object(out)
    if answer is not None:
        _apply(verdict, event, answer)
    plain = out.strip() if answer is None and event in _PLAIN_OUTPUT_IS_CONTEXT else ""
    body: dict[str, Any] = {
        "hookName": name,
        "toolUseID": str(said.get("tool_use_id") or context.ids.uuid()),
        "hookEvent": event,
    }
    body |= {"content": plain, "stdout": out, "stderr": err, "exitCode": 0, "command": hook.get("command", "")}
    text = f"{name} hook success: {plain}" if plain else None
    yield from context.add("attachment", **attachment("hook_success", body, text))


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _callback(
    context: "Context",
    event: str,
    id: str,
    said: Mapping[str, Any],
    verdict: Verdict,
    tool_use_id: str | None,
    matcher: Mapping[str, Any],
) -> Generator[Effect, Any, None]:
    assert context.control is not None
    request: dict[str, Any] = {"subtype": "hook_callback", "callback_id": id, "input": dict(said)}
    request["tool_use_id"] = tool_use_id or context.ids.uuid()
    try:
        answer = yield from context.control.ask(request)
    except Refused:
        if matcher.get("onFailure") not in (None, "continue"):
            _forbid(verdict, event, f"Hook callback {id} failed")
        elif context.version.rich_events:
            text = f"{event}: Hook callback {id} failed: the SDK host replied with an error or an invalid answer. "
            text += "Its answer was treated as empty."
            more = {"level": "warning", "tag": "hook_callback_failed"}
            yield from context.emit("system", subtype="informational", content=text, **more)
        return
    _apply(verdict, event, answer)


def _forbid(verdict: Verdict, event: str, reason: str) -> None:
    if event == "PreToolUse":
        verdict.decision = "deny"
    else:
        verdict.blocked = True
    verdict.reason = verdict.reason or reason


def _apply(verdict: Verdict, event: str, answer: Mapping[str, Any]) -> None:
    """Take an answer's fields into the verdict."""
    if answer.get("continue") is False:
        verdict.stopped = True
        verdict.reason = verdict.reason or str(answer.get("stopReason", ""))
    if isinstance(answer.get("systemMessage"), str):
        verdict.notes.append(answer["systemMessage"])
    if answer.get("decision") == "block":
        _forbid(verdict, event, str(answer.get("reason", "")))
    elif answer.get("decision") == "approve" and verdict.decision is None:
        verdict.decision = "allow"
    own = answer.get("hookSpecificOutput") or {}
    said = own.get("permissionDecision")
    if said == "deny" or (said in ("allow", "ask") and verdict.decision is None):
        verdict.decision = said
        verdict.reason = str(own.get("permissionDecisionReason", "")) or verdict.reason
    if isinstance(own.get("updatedInput"), dict) and verdict.decision != "deny":
        verdict.input = dict(own["updatedInput"])
    if isinstance(own.get("additionalContext"), str) and own["additionalContext"]:
        verdict.contexts.append(own["additionalContext"])


def merge_hooks(parts: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The `hooks` of several settings, one after the other."""
    merged: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        hooks = part.get("hooks")
        for event, matchers in hooks.items() if isinstance(hooks, Mapping) else ():
            merged.setdefault(str(event), []).extend(m for m in matchers if isinstance(m, Mapping))
    return merged
