"""The events of stream-json, key by key as each version prints them."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.cli.claude.texts import prose
from simulators.cli.claude.usage import Counts, Ledger, usage_object
from simulators.cli.claude.versions import Version

Event = dict[str, Any]
_COMMANDS_332 = (
    "agents", "autocompact", "clear", "code-review", "compact", "config", "context", "effort", "init", "loop", "mcp",
    "model", "security-review", "simplify", "usage", "verify",
)  # fmt: skip
_COMMANDS_19 = ("compact", "context", "cost", "init", "pr-comments", "release-notes", "review", "security-review")
_AGENTS_332 = ("claude", "Explore", "general-purpose", "Plan", "statusline-setup")
_AGENTS_19 = ("Bash", "general-purpose", "statusline-setup", "Explore", "Plan")


def commands(version: Version) -> tuple[str, ...]:
    """The slash commands that it lists."""
    return _COMMANDS_332 if version.init_extra else _COMMANDS_19


def agents(version: Version) -> tuple[str, ...]:
    """The kinds of subagents that it lists."""
    return _AGENTS_332 if version.init_extra else _AGENTS_19


def init(
    version: Version,
    *,
    cwd: str,
    home: str,
    session: str,
    tools: Sequence[str],
    mcp_servers: Sequence[Event],
    model: str,
    mode: str,
    key_source: str,
    uuid: str,
    temp: str,
) -> Event:
    """The first event of a turn: `system` / `init`."""
    new = version.init_extra
    made: Event = {
        "type": "system",
        "subtype": "init",
        "cwd": cwd,
        "session_id": session,
        "tools": list(tools),
        "mcp_servers": list(mcp_servers),
        "model": model,
        "permissionMode": mode,
        "slash_commands": list(commands(version)),
    }
    if new:
        made["terminal_slash_commands"] = []
    made |= {
        "apiKeySource": key_source,
        "claude_code_version": version.name,
        "output_style": "default",
        "agents": list(agents(version)),
        "skills": ["code-review", "loop", "simplify", "verify"] if new else [],
        "plugins": [],
    }
    if not new:
        return {**made, "uuid": uuid}
    project = "".join(c if c.isalnum() and c.isascii() else "-" for c in cwd)
    return {
        **made,
        "capabilities": ["interrupt_receipt_v1", "msg_lifecycle_v1"],
        "analytics_disabled": True,
        "product_feedback_disabled": True,
        "served_by_anthropic": False,
        "uuid": uuid,
        "sandbox_enabled": False,
        "memory_paths": {"auto": f"{home}/.claude/projects/{project}/memory/"},
        "original_cwd": cwd,
        "additional_directories": [],
        "messaging_socket_path": f"{temp}/cc-socks/6.sock",
        "fast_mode_state": "off",
        "fast_mode_disabled_reason": "sdk_opt_in_required",
        "per_turn_effort_active": True,
        "ultrathink_available": True,
        "ultrathink_typed_raises": False,
        "view_mode": "default",
    }


def compact_boundary(
    version: Version, *, session: str, uuid: str, trigger: str, pre: int, more: Mapping[str, Any], parent: str | None
) -> Event:
    """`more` is what newer versions add to `compact_metadata`, in the stream's spelling."""
    metadata: Event = {"trigger": trigger, "pre_tokens": pre, **more}
    made: Event = {"type": "system", "subtype": "compact_boundary", "session_id": session, "uuid": uuid}
    made["compact_metadata"] = metadata
    if version.rich_events:
        made["logical_parent_uuid"] = parent
    return made


def synthetic_message(version: Version, text: str, *, id: str, stop: str = "stop_sequence") -> Event:
    """A message that the CLI wrote itself: an error shown in the place of an answer."""
    usage: Event = {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": None,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    }
    if version.rich_events:
        nothing = {"inference_geo": None, "iterations": None, "speed": None, "fallback_credit": None}
        usage = {"output_tokens_details": None, **usage, **nothing}
    made: Event = {
        "id": id,
        "container": None,
        "model": "<synthetic>",
        "role": "assistant",
        "stop_reason": stop,
        "stop_sequence": "",
        "type": "message",
        "usage": usage,
        "content": [{"type": "text", "text": text}],
        "context_management": None,
    }
    if version.rich_events:
        made = {"diagnostics": None, **made, "stop_details": None}
    return made


SUBAGENTS: Event = {
    "spawned": 0,
    "requested": {"background": 0, "foreground": 0, "unset": 0},
    "started_in_background": 0,
    "max_depth": 0,
    "spawned_by_subagents": 0,
    "completed": 0,
    "failed": 0,
    "killed": {"parent": 0, "user": 0, "system": 0},
    "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
    "by_type": {},
}


def usage_totals(version: Version, total: Counts, *, geo: str) -> Event:
    """`usage` of a result."""
    return usage_object(total, version, geo=geo)


def since_last(version: Version, ledger: Ledger) -> Event:
    """`model_usage_since_last_result`: this turn, the summary's call included."""
    return ledger.report(version)


AGAIN = "\n\nFor this reply only: put the summary inside <summary></summary> tags. " + prose("summary again", 323)


def summary_prompt(version: Version, instructions: str, *, tail: bool) -> str:
    """What asks the model for a summary: as long as the real text, recognisable by how it begins.

    `tail` says that the newest messages are kept verbatim, which the real text explains in 551 characters.
    """
    if version.compact_prefix_shared:
        text = "CRITICAL: Respond with TEXT ONLY. " + prose("summary request", (6912 if tail else 6361) - 34)
        return text + (f"\n\nAdditional instructions:\n{instructions}" if instructions else "")
    text = "Your task is to create a detailed summary of the conversation so far. " + prose(
        "summary request", 5028 - 70
    )
    return text + (f"\n\nAdditional instructions:\n{instructions}" if instructions else "")
