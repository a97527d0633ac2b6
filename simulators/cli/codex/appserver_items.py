"""The objects of app-server's protocol: threads, turns, items, errors."""

import base64
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from simulators.cli.codex.api import Trouble
from simulators.cli.codex.run import Run
from simulators.cli.effects import Effect, ReadFile

Object = dict[str, Any]
RATE_LIMITS = {
    "limitId": "codex",
    "limitName": None,
    "normalModelSlug": None,
    "primary": None,
    "secondary": None,
    "credits": None,
    "individualLimit": None,
    "spendControlReached": None,
    "planType": None,
    "rateLimitReachedType": None,
}


def thread(run: Run) -> Object:
    """A thread as it is told about."""
    it, at = run.thread, int(run.thread.created)
    return {
        "id": it.id,
        "environments": [{"environmentId": "local", "cwd": it.cwd, "runtimeWorkspaceRoots": [it.cwd]}],
        "extra": None,
        "sessionId": it.id,
        "forkedFromId": it.forked_from[0] if it.forked_from else None,
        "attachedToThreadId": None,
        "parentThreadId": None,
        "preview": it.preview,
        "ephemeral": not it.persist,
        "section": None,
        "sectionEnteredAt": None,
        "projectId": None,
        "historyMode": "paginated",
        "modelProvider": run.config.provider.id,
        "model": run.model.id,
        "reasoningEffort": run.config.effort,
        "createdAt": at,
        "updatedAt": max(at, int(run.turn.started)),
        "recencyAt": max(at, int(run.turn.started)),
        "status": {"type": "idle"},
        "path": it.path,
        "cwd": it.cwd,
        "cliVersion": run.version.name,
        "originator": run.originator,
        "source": it.source,
        "canAcceptDirectInput": True,
        "threadSource": None,
        "agentNickname": None,
        "agentRole": None,
        "gitInfo": None,
        "name": None,
        "daybreakEnabled": None,
        "turns": [],
    }


def opened(run: Run) -> Object:
    """The result of thread/start, resume and fork."""
    config, cwd = run.config, run.thread.cwd
    policies: Mapping[str, Object] = {
        "read-only": {"type": "readOnly", "networkAccess": False},
        "workspace-write": {
            "type": "workspaceWrite",
            "writableRoots": [],
            "networkAccess": False,
            "excludeTmpdirEnvVar": False,
            "excludeSlashTmp": False,
        },
        "danger-full-access": {"type": "dangerFullAccess"},
    }
    return {
        "thread": thread(run),
        "model": run.model.id,
        "modelProvider": config.provider.id,
        "serviceTier": None,
        "disabledPluginIds": [],
        "cwd": cwd,
        "runtimeWorkspaceRoots": [cwd],
        "instructionSources": [],
        "approvalPolicy": config.approval,
        "approvalsReviewer": "user",
        "sandbox": policies[config.sandbox],
        "activePermissionProfile": None,
        "reasoningEffort": config.effort,
        "multiAgentMode": "explicitRequestOnly",
    }


def turn(
    run: Run,
    status: str,
    *,
    started: bool = False,
    ended: float | None = None,
    items: Sequence[Object] = (),
    trouble: Trouble | None = None,
) -> Object:
    """A turn; times only once it runs and is over."""
    began = run.turn.started
    return {
        "id": run.turn.id,
        "rootTurnId": run.turn.id,
        "items": list(items),
        "itemsView": "summary" if items else "notLoaded",
        "status": status,
        "error": error(trouble) if trouble is not None else None,
        "startedAt": int(began) if started else None,
        "completedAt": int(ended) if ended is not None else None,
        "durationMs": int((ended - began) * 1000) if ended is not None else None,
    }


def error(trouble: Trouble) -> Object:
    """Why a turn failed."""
    return {
        "message": trouble.message,
        "codexErrorInfo": camel(trouble.info),
        "additionalDetails": None,
        "misalignment": None,
    }


def camel(value: Any) -> Any:
    """The rollout's names in the protocol's spelling."""
    if isinstance(value, dict):
        return {
            camel(key): item if item is None or isinstance(item, int) else camel(item) for key, item in value.items()
        }
    head, *rest = str(value).split("_")
    return head + "".join(word.capitalize() for word in rest)


def camel_usage(usage: Mapping[str, int]) -> Object:
    """Token figures in the protocol's spelling."""
    names = ("total", "input", "cached_input", "cache_write_input", "output", "reasoning_output")
    return {camel(f"{name}_tokens"): usage.get(f"{name}_tokens", 0) for name in names}


def item(it: Mapping[str, Any], started: int, completed: int | None) -> Object:
    """An item while it is made (`completed` None) and when it is whole; milliseconds."""
    times = {"startedAtMs": started, "completedAtMs": completed}
    kind, id = it["type"], it["id"]
    if kind == "userMessage":
        return {"type": kind, "id": id, "clientId": None, "content": it["content"], **times}
    if kind == "agentMessage":
        found = {"type": kind, "moderation": None, "id": id, "text": it["text"], "phase": it.get("phase")}
        return {**found, "memoryCitation": None, "delivery": None, "questions": None, **times}
    if kind == "reasoning":
        return {"type": kind, "id": id, "summary": it["summary"], "content": [], **times}
    if kind == "fileChange":
        changes = [{"path": c["path"], "kind": {"type": c["kind"]}, "diff": c["diff"]} for c in it["changes"]]
        return {"type": kind, "id": id, "changes": changes, "status": it["status"], **times}
    if kind == "commandExecution":
        over = completed is not None and it.get("exitCode") is not None
        return {
            "type": kind,
            "id": id,
            "pluginId": None,
            "scriptPath": None,
            "command": it["command"],
            "cwd": it["cwd"],
            "processId": it.get("processId"),
            "source": "unifiedExecStartup" if it.get("processId") else "agent",
            "status": it["status"],
            "commandActions": it["actions"],
            "aggregatedOutput": (it.get("output") or None) if over else None,
            "exitCode": it.get("exitCode"),
            "durationMs": completed - started if over and completed is not None else None,
            **times,
        }
    return {"type": kind, "id": id, **times}


def approval(it: Mapping[str, Any], where: Mapping[str, str], started: int) -> Object:
    """What the client is asked."""
    if it["type"] == "fileChange":
        return {**where, "itemId": it["id"], "startedAtMs": started, "reason": None, "grantRoot": None}
    words = ["/bin/bash", "-lc", it["actions"][0]["command"]]
    always = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words}}
    return {
        "kind": "command",
        **where,
        "itemId": it["id"],
        "startedAtMs": started,
        "environmentId": "local",
        "command": it["command"],
        "cwd": it["cwd"],
        "commandActions": it["actions"],
        "proposedExecpolicyAmendment": words,
        "availableDecisions": ["accept", always, "cancel"],
    }


def prompt(parts: Sequence[Mapping[str, Any]]) -> Generator[Effect, Any, list[Object]]:
    """The input of a turn as the turn takes it."""
    found: list[Object] = []
    for part in parts:
        if part.get("type") == "text":
            found.append({"type": "text", "text": str(part.get("text", ""))})
        elif part.get("type") == "image":
            found.append({"type": "image", "url": part.get("url")})
        elif part.get("type") == "localImage":
            data = yield ReadFile(str(part.get("path")))
            kind = str(part.get("path")).rpartition(".")[2].lower().replace("jpg", "jpeg")
            url = f"data:image/{kind};base64,{base64.b64encode(data or b'').decode()}"
            found.append({"type": "image", "url": url})
    return found


def models(default: str) -> list[Object]:
    """The models that are offered."""
    efforts = [{"reasoningEffort": name, "description": name} for name in ("low", "medium", "high", "xhigh")]
    found = []
    for id, effort in (("gpt-6.2-sol", "low"), ("gpt-5.5", "medium")):
        found.append(
            {
                "id": id,
                "model": id,
                "upgrade": None,
                "displayName": id.upper(),
                "description": "A model of the simulators.",
                "hidden": False,
                "supportedReasoningEfforts": efforts,
                "defaultReasoningEffort": effort,
                "inputModalities": ["text", "image"],
                "isDefault": id == default,
            }
        )
    return found
