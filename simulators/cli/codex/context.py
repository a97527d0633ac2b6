"""What the model is told of its surroundings: all of it at first, later only what became different."""

from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from simulators.cli.codex import texts
from simulators.cli.codex.catalogue import namespaces
from simulators.cli.codex.ids import blob
from simulators.cli.codex.rollout import PASSTHROUGH, Item
from simulators.cli.codex.run import Run
from simulators.cli.codex.toml_words import merged
from simulators.cli.effects import Effect, ListFiles, Now, ReadFile

_HARNESS: Item = {"type": "harness", "hook": False}
_DOC_LIMIT = 32768  # bytes of AGENTS.md that are read
Part = tuple[str, str, Item]  # text, kind, provenance


def agents_md(run: Run) -> Generator[Effect, Any, dict[str, str]]:
    """`{directory, text}` of what AGENTS.md files say, from CODEX_HOME and from the project's root down; {} if none."""
    cwd, config = run.thread.cwd, run.config
    folders = yield from _project_folders(cwd)
    found: list[str] = []
    for folder in (config.home, *folders):
        for name in ("AGENTS.override.md", "AGENTS.md", *config.data.get("project_doc_fallback_filenames", ())):
            data = yield ReadFile(f"{folder}/{name}")
            if data is not None and data.strip():
                found.append(data[: config.data.get("project_doc_max_bytes", _DOC_LIMIT)].decode("utf-8", "replace"))
                break
    text = "\n\n".join(part.strip() for part in found)
    return {"directory": cwd, "text": text} if text else {}


def _project_folders(cwd: str) -> Generator[Effect, Any, list[str]]:
    """From the repository's root to the working directory; only that one outside a repository."""
    parts = cwd.rstrip("/").split("/")
    folders = ["/".join(parts[: n + 1]) for n in range(1, len(parts))]
    for at in range(len(folders) - 1, -1, -1):
        names = yield ListFiles(folders[at])
        if ".git" in names:
            return folders[at:]
    return folders[-1:]


def world(run: Run) -> Generator[Effect, Any, dict[str, Any]]:
    """The surroundings as the rollout keeps them."""
    now = yield Now()
    doc = yield from agents_md(run)
    model, config, cwd = run.model, run.config, run.thread.cwd
    state: dict[str, Any] = {
        "agents_md": doc,
        "apps_instructions": False,
        "collaboration_mode": {"mode": "default", "model": model.id, "instructions": blob("collaboration default")},
        "context_window_guidance": "",
        "environments": {
            "environments": {"local": {"cwd": cwd, "status": "available", "shell": "bash"}},
            "current_date": f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}",
            "timezone": "Etc/UTC",
            "filesystem": texts.filesystem(cwd, config.sandbox),
        },
        "environments_instructions": False,
        "git_attribution": False,
        "host_skills": {
            "body": texts.skills_body(model.id, model.skills + len(config.home), config.home),
            "includeInstructions": True,
        },
        "managed_developer_instructions": {},
        "model": {"model": model.id, "instructions": blob(model.id)} if model.inline_tools else model.id,
        "model_catalog": blob(run.version.name),
        "multi_agent_mode": {},
        "permissions": {"instructions": blob(config.sandbox + config.approval), "approved_command_prefixes": []},
        "persistent_mode": {},
        "plugins_instructions": False,
        "realtime": {"active": False},
        "skills": {"includeInstructions": True},
    }
    if model.inline_tools:
        hint = blob("agents")
        state["multi_agent_mode"] = {"mode": "explicitRequestOnly", "usage_hint_hash": hint}
        state["multi_agent_usage_hint"] = hint
        names = ((space["name"], [tool["name"] for tool in space["tools"]]) for space in namespaces())
        known = sorted(n for a, bs in names for n in (a, *(f"{a}.{b}" for b in bs)))
        state["top_level_tools"] = {name: blob(name) for name in known}
    elif model.known:
        state["tools"] = {"multi_agent_v1": texts.TOOL_NAMESPACE}
    return state


def _permissions(run: Run) -> str:
    config, cwd = run.config, run.thread.cwd
    roots = ""
    if config.sandbox == "workspace-write":
        names = sorted({"/tmp", cwd, run.start.env.get("TMPDIR", "/tmp")})
        roots = ", ".join(f"`{name}`" for name in names)
    return texts.permissions(config.sandbox, config.approval, roots)


def initial(run: Run, state: Mapping[str, Any]) -> Generator[Effect, Any, list[Item]]:
    """The messages that tell everything, in order."""
    items: list[Item] = []
    if run.model.inline_tools:
        at = yield from run.new_id()
        items.append({"type": "additional_tools", "id": f"at_{at}", "role": "developer", "tools": namespaces()})
        items.append((yield from message(run, "developer", [(run.thread.base, "model.base_instructions", _HARNESS)])))
    parts: list[Part] = []
    if run.config.developer_instructions:
        source: Item = {"type": "developer_instructions", "from_additional_requirements": False}
        parts.append((run.config.developer_instructions, "generic.developer_instructions", source))
    skills = texts.skills(str(state["host_skills"]["body"]))
    parts.append((skills, "host_skills.instructions", {"type": "skills"}))
    parts.append((_permissions(run), "permissions.instructions", _HARNESS))
    if run.model.inline_tools:
        parts.append((_prompt("collaboration_mode", 1056), "collaboration_mode.instructions", _HARNESS))
    elif "tools" in state:
        parts.append(_deferred())
    items.append((yield from message(run, "developer", parts)))
    if run.model.inline_tools:
        agents: Item = {"type": "tool", "namespace": "collaboration"}
        for tag, length in (("multi_agent_role", 2400), ("multi_agent_mode", 271)):
            kind = f"multi_agent.{tag.rpartition('_')[2]}_instructions"
            items.append((yield from message(run, "developer", [(_prompt(tag, length), kind, agents)])))
    about: list[Part] = []
    if state["agents_md"]:
        about.append(_agents(state["agents_md"], again=False))
    about.append(_environment(run, state))
    items.append((yield from message(run, "user", about)))
    return items


def _prompt(tag: str, length: int) -> str:
    from simulators.cli.prose import prose

    return f"<{tag}>{prose(f'codex {tag}', length - 2 * len(tag) - 5)}</{tag}>"


def _deferred(*, removed: bool = False) -> Part:
    provenance = {"type": "tool", "namespace": "tool_search"}
    return texts.deferred_tools(removed=removed), "tools.deferred_namespaces", provenance


def _agents(doc: Mapping[str, str], *, again: bool) -> Part:
    said = texts.agents_md(doc.get("directory", ""), doc.get("text", ""), again=again)
    return said, "agents_md.instructions", {"type": "agents_md"}


def _environment(run: Run, state: Mapping[str, Any]) -> Part:
    env = state["environments"]
    said = texts.environment(run.thread.cwd, env["current_date"], env["filesystem"])
    return said, "environments.environment_context", _HARNESS


def news(run: Run, old: Mapping[str, Any], new: Mapping[str, Any]) -> Generator[Effect, Any, list[Item]]:
    """The messages that tell what is different; [] when nothing is."""
    items: list[Item] = []
    if old.get("model") != new.get("model"):
        base = texts.base_instructions(run.model.id, run.model.base)
        switch = (texts.model_switch(base), "model_switch.instructions", _HARNESS)
        items.append((yield from message(run, "developer", [switch])))
    parts: list[Part] = []
    if old.get("host_skills") != new["host_skills"]:
        skills = texts.skills(str(new["host_skills"]["body"]))
        parts.append((skills, "host_skills.instructions", {"type": "skills"}))
    if old.get("permissions") != new["permissions"]:
        parts.append((_permissions(run), "permissions.instructions", _HARNESS))
    if bool(old.get("tools")) != bool(new.get("tools")):
        parts.append(_deferred(removed=not new.get("tools")))
    if parts:
        items.append((yield from message(run, "developer", parts)))
    about: list[Part] = []
    if (old.get("agents_md") or {}) != new["agents_md"]:
        doc = new["agents_md"] or {"directory": run.thread.cwd, "text": ""}
        about.append(_agents(doc, again=bool(old.get("agents_md"))))
    if old.get("environments") != new["environments"]:
        about.append(_environment(run, new))
    if about:
        items.append((yield from message(run, "user", about)))
    return items


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What has to be laid over `old` to make `new`; a subject that is gone is null."""
    found: dict[str, Any] = {key: None for key in old if key not in new and old[key] is not None}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = difference(before, value)
            if inner:
                found[key] = inner
        elif value != before:
            found[key] = value
    return found


def message(run: Run, role: str, parts: Sequence[Part]) -> Generator[Effect, Any, Item]:
    """A message of codex's own, with what each part is."""
    id = yield from run.new_id()
    now = yield Now()
    item: Item = {"type": "message", "id": f"msg_{id}", "role": role}
    item["content"] = [{"type": "input_text", "text": text} for text, _, _ in parts]
    item[PASSTHROUGH] = {
        "turn_id": run.turn.id,
        "create_time": now,
        "content_item_kinds": [kind for _, kind, _ in parts],
        "content_item_metadata": [{"provenance": provenance} for _, _, provenance in parts],
    }
    return item


def tell(run: Run) -> Generator[Effect, Any, None]:
    """Bring the thread's knowledge up to date before a prompt."""
    state = yield from world(run)
    thread = run.thread
    old = {key: value for key, value in thread.world.items() if value is not None}
    items = yield from (news(run, old, state) if old else initial(run, state))
    for index, item in enumerate(items):
        yield from thread.add(item, attributed=index == 0)
    changed = difference(old, state) if old else state
    if changed:
        yield from thread.record("world_state", {"full": not old, "state": changed})
        thread.world = merged(thread.world, changed) if old else state
