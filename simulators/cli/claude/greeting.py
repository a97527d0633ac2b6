"""What the CLI tells a host of itself: the answer to `initialize`, and to what it asks later."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from simulators.cli.claude import catalogue, events
from simulators.cli.claude.models import lookup
from simulators.cli.claude.rows import stamp
from simulators.cli.claude.session import dump
from simulators.cli.claude.texts import prose
from simulators.cli.claude.usage import estimate
from simulators.cli.effects import Effect, Now

if TYPE_CHECKING:
    from simulators.cli.claude.context import Context

_LEVELS = ["low", "medium", "high", "xhigh", "max"]
_STYLES_332 = ["default", "Proactive", "Concise", "Explanatory", "Learning"]
_STYLES_19 = ["default", "Explanatory", "Learning"]
_CAPABILITIES = [
    "ui_surface_v1", "mcp_call_result_not_for_model_v1", "mcp_call_soft_error_result_v1",
    "mcp_call_check_permissions_v1", "voice_call_talk_line_v1", "ui_pane_widget_v1", "reload_plugins_refuse_if_busy_v1",
    "get_usage_detached_v1",
]  # fmt: skip
AUTOCOMPACT_BUFFER = 33_000


def initialized(context: "Context") -> dict[str, Any]:
    """The answer to `initialize`."""
    version = context.version
    new = version.rich_events
    key = "ANTHROPIC_API_KEY" if context.env.get("ANTHROPIC_API_KEY") else "none"
    made: dict[str, Any] = {
        "commands": [
            {"name": name, "description": prose(f"command {name}", 60), "argumentHint": "", **_builtin(new)}
            for name in events.commands(version)
        ]
    }
    if new:
        made["agents"] = [{"name": n, "description": prose(f"agent {n}", 120)} for n in events.agents(version)]
    made |= {"output_style": "default", "available_output_styles": _STYLES_332 if new else _STYLES_19}
    if new:
        made["user_output_styles_dir"] = f"{context.home}/.claude/output-styles"
    made["models"] = [_model(context, "default", version.default_model)]
    made["models"] += [_model(context, alias, id) for alias, id in version.aliases.items()]
    if not new:
        return {**made, "account": {"tokenSource": "none", "apiKeySource": key}}
    made["account"] = {"tokenSource": "none", "apiKeySource": key, "apiProvider": "firstParty"}
    made |= {"pid": 1, "claude_code_version": version.name, "current_permission_mode": context.mode}
    made |= {"hook_on_failure_supported": True, "hooks_when_unanswered_kept": 0, "other_hook_ask_outranks_host": True}
    made |= {"feedback_mode": {"kind": "disabled"}, "analytics_disabled": True, "sandbox_enabled": False}
    remote = ("auto_enable", "auto_connect_default", "available", "auto_on_by_default")
    made |= {f"remote_control_{name}": False for name in remote}
    made |= {"ide_rc_auto_enable_gate": False, "fast_mode_state": "off"}
    made |= {"fast_mode_disabled_reason": "sdk_opt_in_required", "session_state": "idle"}
    return {**made, "capabilities": list(_CAPABILITIES)}


def _builtin(new: bool) -> dict[str, Any]:
    return {"builtin": True} if new else {}


def _model(context: "Context", value: str, id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"value": value}
    model = lookup(id)
    title = "Default (recommended)" if value == "default" else value.capitalize()
    if context.version.rich_events:
        made["resolvedModel"] = id
    made |= {"displayName": title, "description": model.title}
    if context.version.rich_events and model.effort:
        made |= {"supportsEffort": True, "supportedEffortLevels": list(_LEVELS), "supportsAdaptiveThinking": True}
    return made


def say_model(context: "Context", asked: str) -> Generator[Effect, Any, None]:
    """A change of model by the host is shown, and remembered, as the command `/model` would be."""
    now = yield Now()
    printed = f"<local-command-stdout>Set model to `{asked} ({context.model.id})`</local-command-stdout>"
    pad = "\n            "
    parts = (("name", "/model"), ("message", "model"), ("args", asked))
    command = pad.join(f"<command-{part}>{value}</command-{part}>" for part, value in parts)
    caveat = f"<local-command-caveat>{prose('local command', 171)}</local-command-caveat>"
    yield from context.add("user", message={"role": "user", "content": caveat}, isMeta=True)
    yield from context.add("user", message={"role": "user", "content": command})
    message = {"role": "user", "content": printed}
    row = yield from context.add("user", message=message)
    event = {"type": "user", "message": message, "session_id": context.session.id, "parent_tool_use_id": None}
    yield from context.out.event({**event, "uuid": row["uuid"], "timestamp": stamp(now), "isReplay": True})


def context_parts(context: "Context") -> list[tuple[str, str, int, str]]:
    """(id, name, tokens, kind) of what fills the window, as estimated from lengths."""
    version = context.version
    sections, _ = context.prompt()
    form = context.model.form
    built_in = [n for n in context.tool_names if n != "StructuredOutput"]
    tools = sum(estimate(dump(catalogue.tool(n, version.name, form))) for n in built_in)
    deferred = sum(estimate(dump(catalogue.tool(n, version.name, form))) for n in version.deferred_tools)
    said = sum(estimate(dump(m["content"])) for m in context.conversation())
    system = sum(estimate(s) for s in sections)
    parts = [
        ("system_prompt", "System prompt", system, "used"),
        ("system_tools", "System tools", tools, "used"),
        ("system_tools_deferred", "System tools (deferred)", deferred, "deferred"),
        ("messages", "Messages", said, "used"),
    ]
    return [part for part in parts if part[2]]


def context_usage(context: "Context") -> dict[str, Any]:
    """The answer to `get_context_usage`: categories in tokens, their sum, and the window."""
    parts = context_parts(context)
    window = context.model.window
    used = sum(tokens for _, _, tokens, kind in parts if kind == "used")
    buffer = min(AUTOCOMPACT_BUFFER, window)
    free = max(window - used - buffer, 0)
    parts.append(("free_space", "Free space", free, "free"))
    parts.append(("autocompact_buffer", "Autocompact buffer", buffer, "buffer"))
    rows = [{"id": i, "name": n, "tokens": t, "color": "inactive", "kind": k} for i, n, t, k in parts]
    return {
        "categories": rows,
        "totalTokens": used,
        "maxTokens": window,
        "rawMaxTokens": window,
        "autocompactSource": "model-default",
        "percentage": round(100 * used / window),
        "gridRows": [],
        "model": context.model.id,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "isAutoCompactEnabled": True,
    }
