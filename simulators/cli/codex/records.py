"""Lines of the rollout that say what a turn went by and what it cost."""

from collections.abc import Generator
from typing import Any

from simulators.cli.codex.run import Run
from simulators.cli.codex.usage import Usage
from simulators.cli.effects import Effect

Steps = Generator[Effect, Any, None]
RATE_LIMITS = {
    "limit_id": "codex",
    "limit_name": None,
    "primary": None,
    "secondary": None,
    "credits": None,
    "individual_limit": None,
    "spend_control_reached": None,
    "plan_type": None,
    "rate_limit_reached_type": None,
}


def permission_profile(mode: str, cwd: str) -> dict[str, Any]:
    """What a sandbox lets be read and written."""
    if mode == "danger-full-access":
        return {"type": "disabled"}
    entries: list[dict[str, Any]] = [{"path": _special("root"), "access": "read"}]
    if mode == "workspace-write":
        entries.append({"path": {"type": "path", "path": cwd}, "access": "write"})
        entries += [{"path": _special(kind), "access": "write"} for kind in ("slash_tmp", "tmpdir")]
        for name in (".git", ".agents", ".codex", ".aws"):
            kept = {"path": {"type": "path", "path": f"{cwd}/{name}"}, "access": "read"}
            entries.append({**kept, "missing_path_behavior": "skip"})
    files = {"type": "restricted", "entries": entries}
    return {"type": "managed", "file_system": files, "network": "restricted"}


def _special(kind: str) -> dict[str, Any]:
    return {"type": "special", "value": {"kind": kind}}


def _modes(run: Run) -> dict[str, Any]:
    config = run.config
    found: dict[str, Any] = {
        "approval_policy": config.approval,
        "approvals_reviewer": "user",
        "permission_profile": permission_profile(config.sandbox, run.thread.cwd),
    }
    if config.sandbox == "read-only":
        found["active_permission_profile"] = {"id": ":read-only"}
    return found


def _collaboration(run: Run) -> dict[str, Any]:
    settings = {"model": run.model.id, "reasoning_effort": run.config.effort, "developer_instructions": None}
    return {"mode": "default", "settings": settings}


def turn_context(run: Run) -> Steps:
    """What a turn goes by."""
    payload = {
        "turn_id": run.turn.id,
        "root_turn_id": run.turn.id,
        "disabled_plugin_ids": [],
        "cwd": run.thread.cwd,
        **_modes(run),
        "model": run.model.id,
    }
    if run.model.comp_hash is not None:
        payload["comp_hash"] = run.model.comp_hash
    payload |= {
        "collaboration_mode": _collaboration(run),
        "multi_agent_version": "v2" if run.model.inline_tools else "v1",
        "realtime_active": False,
        "summary": run.config.summary,
        "sandbox_policy": _policy(run),
    }
    if run.config.sandbox == "workspace-write":
        entries = permission_profile(run.config.sandbox, run.thread.cwd)["file_system"]["entries"]
        payload["file_system_sandbox_policy"] = {"kind": "restricted", "entries": entries}
    yield from run.thread.record("turn_context", payload)


def _policy(run: Run) -> dict[str, Any]:
    mode = run.config.sandbox
    if mode != "workspace-write":
        return {"type": mode}
    return {"type": mode, "network_access": False, "exclude_tmpdir_env_var": False, "exclude_slash_tmp": False}


def settings_applied(run: Run) -> Steps:
    """The settings of the thread, once they are in force."""
    modes = _modes(run)
    settings = {
        "model": run.model.id,
        "model_provider_id": run.config.provider.id,
        "approval_policy": modes.pop("approval_policy"),
        "approvals_reviewer": modes.pop("approvals_reviewer"),
        "requested_approvals_reviewer": "user",
        **modes,
        "cwd": run.thread.cwd,
        "runtime_workspace_roots": [run.thread.cwd],
        "collaboration_mode": _collaboration(run),
        "disabled_plugin_ids": [],
    }
    yield from run.thread.event("thread_settings_applied", thread_id=run.thread.id, thread_settings=settings)


def attribution(run: Run) -> dict[str, Any]:
    """Who began a turn."""
    origin = {"turn_id": run.turn.id, "turn_trigger": run.trigger, "parent_turn_id": None}
    return {**origin, "initiating_agent_path": None, "root_turn_id": run.turn.id}


def usage_payload(run: Run, response: str, usage: Usage) -> dict[str, Any]:
    """What one response cost, the turn so far, the thread so far."""
    return {
        "thread_id": run.thread.id,
        "turn_id": run.turn.id,
        "session_id": run.thread.id,
        "root_turn_id": run.turn.id,
        "response_id": response,
        "usage": usage.recorded(),
        "turn_token_usage": run.turn.usage.recorded(),
        "thread_token_usage": run.thread.spent.recorded(),
    }


def usage_record(run: Run, response: str, usage: Usage) -> Steps:
    """The same, noted."""
    yield from run.thread.record("token_usage_record", usage_payload(run, response, usage))


def count_tokens(run: Run, last: Usage | None = None, *, estimated: bool | None = False, limits: bool = True) -> Steps:
    """The totals and the last call's figures (None: those that stand); nothing is known before the first answer.

    `estimated`: whether codex guessed the size itself; None where it does not say.
    """
    thread = run.thread
    if last is not None:
        thread.context_tokens = last.total
        info: dict[str, Any] = {"total_token_usage": thread.totals.recorded(), "last_token_usage": last.recorded()}
        if estimated is not None:
            info["last_usage_includes_reasoning"] = estimated
        thread.info = {**info, "model_context_window": run.window}
    yield from thread.event("token_count", info=thread.info, rate_limits=RATE_LIMITS if limits else None)
