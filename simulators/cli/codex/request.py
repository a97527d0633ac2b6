"""A request as codex makes it: headers and body in its order."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from simulators.cli.codex.catalogue import PLAIN, STANDARD, tools
from simulators.cli.codex.ids import base_id
from simulators.cli.codex.models import lookup
from simulators.cli.codex.rollout import PASSTHROUGH, Item
from simulators.cli.codex.run import Run

Headers = list[tuple[str, str]]


def url(run: Run) -> str:
    """Where responses are asked for."""
    provider = run.config.provider
    query = f"?{urlencode(provider.query)}" if provider.query else ""
    return f"{provider.base_url}/responses{query}"


def metadata(run: Run, kind: str, compaction: Mapping[str, Any] | None = None) -> str:
    """What `x-codex-turn-metadata` says of the turn, as JSON."""
    thread, mode = run.thread, run.config.sandbox
    said: dict[str, Any] = {
        "installation_id": run.installation,
        "session_id": thread.id,
        "thread_id": thread.id,
        "agent_name": "/root",
        "turn_id": "" if kind == "prewarm" else run.turn.id,
        "window_id": f"{thread.id}:{thread.window_number}",
        "window_number": thread.window_number,
        "context_window_id": thread.window_uuid,
        "request_kind": kind,
        "history_initialization": thread.origin,
    }
    if thread.forked_from is not None:
        said["forked_from_thread_id"], said["forked_from_ordinal_exclusive"] = thread.forked_from
    if kind != "prewarm":
        said["root_turn_id"] = run.turn.id
    if run.trigger is not None:
        said["thread_source"] = "user"
        if kind != "prewarm":
            said["turn_trigger"] = run.trigger
    said |= {
        "sandbox": "none" if mode == "danger-full-access" else "seccomp",
        "sandbox_mode": mode,
        "auto_review_enabled": False,
        "node_repl_auto_review_required": run.model.inline_tools,
        "node_repl_disabled": False,
    }
    if kind != "prewarm":
        said["turn_started_at_unix_ms"] = int(run.turn.started * 1000)
    said["analytics_enabled"] = run.config.analytics
    if compaction is not None:
        said["compaction"] = compaction
    else:
        said["model"] = run.model.id
        if run.effort:
            said["reasoning_effort"] = run.effort
    return json.dumps(said, separators=(",", ":"))


def headers(run: Run, said: str) -> Headers:
    """The headers of a POST; `said` is the turn's metadata."""
    provider, thread = run.config.provider, run.thread
    found: Headers = [("version", run.version.name)] if provider.builtin else []
    found += provider.headers.items()
    found += [
        ("x-codex-beta-features", run.version.beta_features),
        ("x-codex-window-id", f"{thread.id}:{thread.window_number}"),
        ("x-codex-turn-metadata", said),
        *((("x-openai-internal-codex-responses-lite", "true"),) if run.model.inline_tools else ()),
        ("x-client-request-id", thread.id),
        ("session-id", thread.id),
        ("thread-id", thread.id),
        ("accept", "text/event-stream"),
        ("content-type", "application/json"),
    ]
    if provider.key:
        found.append(("authorization", f"Bearer {provider.key}"))
    return [*found, ("originator", run.originator), ("user-agent", run.user_agent)]


def upgrade_headers(run: Run, said: str) -> Headers:
    """The headers with which a WebSocket is asked for."""
    provider, thread = run.config.provider, run.thread
    found: Headers = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    if provider.key:
        found.append(("authorization", f"Bearer {provider.key}"))
    found += [
        ("user-agent", run.user_agent),
        ("originator", run.originator),
        ("openai-beta", run.version.websocket_beta),
        ("x-codex-turn-metadata", said),
    ]
    if provider.builtin:
        found.append(("version", run.version.name))
    return [
        *found,
        ("x-codex-beta-features", run.version.beta_features),
        ("x-client-request-id", thread.id),
        ("session-id", thread.id),
        ("thread-id", thread.id),
        ("x-codex-window-id", f"{thread.id}:{thread.window_number}"),
        ("sec-websocket-extensions", "permessage-deflate; client_max_window_bits"),
    ]


def body(run: Run, items: Sequence[Item], said: str, *, with_tools: bool = True, parallel: bool = True) -> bytes:
    """The body of a call. `items` is the conversation without the base instructions."""
    model, thread, config = run.model, run.thread, run.config
    found: dict[str, Any] = {"model": model.id, "stream": True, "input": [*_base(run), *items]}
    if not model.inline_tools:
        found["tools"] = tools(STANDARD if model.known else PLAIN) if with_tools else []
    found |= {"tool_choice": "auto", "parallel_tool_calls": parallel and model.parallel_tools}
    found["reasoning"] = _reasoning(run)
    found |= {"store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": thread.id}
    text: dict[str, Any] = {}
    verbosity = config.data.get("model_verbosity") or model.verbosity
    if verbosity:
        text["verbosity"] = verbosity
    if config.data.get("output_schema") is not None:
        schema = config.data["output_schema"]
        text["format"] = {"type": "json_schema", "strict": True, "schema": schema, "name": "codex_output_schema"}
    if text:
        found["text"] = text
    told = {
        "session_id": thread.id,
        "thread_id": thread.id,
        "turn_id": run.turn.id,
        "root_turn_id": run.turn.id,
        "x-codex-window-id": f"{thread.id}:{thread.window_number}",
        "x-codex-installation-id": run.installation,
        "x-codex-turn-metadata": said,
    }
    if config.provider.builtin:
        told["mcp_attribution"] = '{"status":"none"}'
    found["client_metadata"] = told
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _base(run: Run) -> list[Item]:
    if run.model.inline_tools:
        return []
    item: Item = {"type": "message", "id": base_id(run.thread.id), "role": "developer"}
    item["content"] = [{"type": "input_text", "text": _sent(run)}]
    if run.tagged:
        item[PASSTHROUGH] = {"content_item_kinds": ["model.base_instructions"]}
    return [item]


def _sent(run: Run) -> str:
    """A model's own instructions are recorded with their placeholders, and sent without."""
    source = run.thread.base_source
    length = lookup(str(source["model"])).base if source.get("type") == "model" else len(run.thread.base)
    return run.thread.base[:length]


def _reasoning(run: Run) -> dict[str, Any]:
    if run.model.inline_tools:
        return {"effort": run.effort, "context": "all_turns"}
    if not run.model.known:
        said: dict[str, Any] = {"effort": run.config.effort} if run.config.effort else {}
        return {**said, "summary": "auto" if run.config.summary == "none" else run.config.summary}
    summary = {} if run.config.summary == "none" else {"summary": run.config.summary}
    return {"effort": run.effort, **summary}
