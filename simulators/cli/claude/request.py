"""The HTTP request of a model call: address, headers, and the body's keys in the CLI's order."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from simulators.cli.claude import catalogue
from simulators.cli.claude.conversation import Message, with_breakpoints
from simulators.cli.claude.models import Model
from simulators.cli.claude.session import dump
from simulators.cli.claude.texts import IDENTITY
from simulators.cli.claude.versions import Version

Body = dict[str, Any]


def cache_control(env: Mapping[str, str]) -> dict[str, Any] | None:
    """What marks a breakpoint, or None if caching is switched off."""
    if env.get("DISABLE_PROMPT_CACHING") == "1":
        return None
    return {"type": "ephemeral", "ttl": "1h"} if env.get("ENABLE_PROMPT_CACHING_1H") == "1" else {"type": "ephemeral"}


def system_blocks(
    version: Version, *, sections: Sequence[str], appended: bool, first_user: str, control: dict[str, Any] | None
) -> list[Body]:
    """The three system blocks. The first names the build, with a suffix that depends on the first user message."""
    suffix = sha256(f"{version.name} {first_user[:24]}".encode("utf-8", "surrogatepass")).hexdigest()[:3]
    end = ";" if version.rich_events else ""
    header = f"x-anthropic-billing-header: cc_version={version.name}.{suffix}; cc_entrypoint=sdk-cli{end}"
    marked = {} if control is None else {"cache_control": control}
    made: list[Body] = [
        {"type": "text", "text": header},
        {"type": "text", "text": IDENTITY[appended], **marked},
    ]
    if sections:  # an empty --system-prompt leaves the block out
        made.append({"type": "text", "text": "\n\n".join(sections), **marked})
    return made


def tools(version: Version, model: Model, *, names: Sequence[str], schema: str | None = None) -> list[Body]:
    """The tools that travel; deferred ones are found by the model through a search tool. `schema`: of --json-schema."""
    return [
        catalogue.structured_output(schema or "{}")
        if name == "StructuredOutput"
        else catalogue.tool(name, version.name, model.form)
        for name in names
    ]


def body(
    version: Version,
    model: Model,
    *,
    messages: Sequence[Message],
    system: Sequence[Body],
    tools: Sequence[Body],
    user_id: str,
    max_tokens: int,
    effort: str | None,
    display: str,
    control: dict[str, Any] | None,
    summary: bool = False,
) -> Body:
    """A request body. For a summary the breakpoint of 2.1.332 moves to the last message of the assistant."""
    if version.breakpoints == "last_two":
        places = [-2, -1]
    elif summary:
        places = [i - len(messages) for i, m in enumerate(messages) if m["role"] == "assistant"][-1:]
    else:
        places = [-1]
    made: Body = {
        "model": model.id,
        "messages": with_breakpoints(messages, control, at=places),
        "system": list(system),
        "tools": list(tools),
        "metadata": {"user_id": user_id},
        "max_tokens": max_tokens,
    }
    if version.rich_requests:
        if model.form == "announced":
            made["thinking"] = {"type": "adaptive", "display": display}
        else:
            made["thinking"] = {"budget_tokens": max_tokens - 1, "type": "enabled", "display": display}
        made["context_management"] = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
        if effort:
            made["output_config"] = {"effort": effort}
    made["stream"] = True
    return made


def user_id(version: Version, *, device: str, session: str) -> str:
    """`metadata.user_id`: a JSON string in newer versions, words before."""
    if version.rich_requests:
        return dump({"device_id": device, "account_uuid": "", "session_id": session})
    return f"user_{device}_account__session_{session}"


def betas(version: Version, model: Model, *, credit: bool, streaming_json: bool) -> list[str]:
    """The `anthropic-beta` values in the CLI's order. `credit`: a summary, or after a refusal."""
    names = list(version.for_model(version.betas, model.id, model.form))
    if not version.rich_requests:
        return names
    if credit:
        names.append("fallback-credit-2026-06-01")
    if streaming_json:
        names.append("thinking-display-updates-2026-08-18")
    return names


def guarded(names: Sequence[str]) -> list[str]:
    """The `anthropic-beta` values of a request that carries safeguards."""
    at = next((i for i, n in enumerate(names) if n.startswith("thinking-display-updates")), len(names))
    return [*names[:at], "dangerous-tool-use-2026-09-03", *names[at:], "afk-mode-2026-01-31"]


def with_safeguards(made: Body, *, cwd: str, home: str) -> Body:
    """The body with what plan mode adds: what a classifier is told of the place and its rules."""
    roots = (
        "projectSettings", "localSettings", "flagSettings", "policySettings", "cliArg", "command", "session",
        "toolsNarrowing", "mcpServerPolicy", "hostCredential",
    )  # fmt: skip
    git = dict.fromkeys(("root", "branch", "default_branch", "status"))
    visibility: Body = {"origin": None, "push_remote": None, "remotes": [], "visibility_cache": []}
    facts: Body = {"v": 1, "permission_mode": "plan", "platform": "linux", "live_cwd": cwd, "home_dir": home}
    facts["rule_roots"] = {"userSettings": f"{home}/.claude", **dict.fromkeys(roots, cwd)}
    facts["trusted_directories"] = {
        "primary": {"path": cwd, "resolved": [cwd]},
        "additional": [],
        "network": [],
        "block_reads_outside_working_directories": False,
    }
    facts["rules"] = {"allow": [], "deny": [], "ask": []}
    facts["auto_mode"] = {"allow": [], "soft_deny": [], "hard_deny": [], "environment": []}
    off = ("artifact_consent_holdback", "case_insensitive_paths", "restricted", "is_remote_mode", "classify_all_shell")
    facts |= dict.fromkeys(off, False)
    facts |= {"user_identity": None, "git_state": {"cwd": cwd, **git, "visibility": visibility, "error": "not_a_repo"}}
    facts |= {"classifier_facts": {"bashPrescreenRetry": "true"}, "refused_calls": []}
    guard = {"safeguards": [{"type": "dangerous_tool_use", "classifier_context": facts}]}
    changed: Body = {}
    for key, value in made.items():
        changed[key] = value
        if key == "tools":  # what Bash may do is told in fewer words
            changed[key] = [{**t, "description": t["description"][:1800]} if t["name"] == "Bash" else t for t in value]
        if key == "context_management":
            changed |= guard
    return changed


def headers(
    version: Version, *, env: Mapping[str, str], session: str, beta: Sequence[str], alone: bool = False
) -> list[tuple[str, str]]:
    """Everything that the CLI sends besides what the HTTP client adds. `alone` puts a key where there is none."""
    made = [
        ("Accept", "application/json"),
        ("Content-Type", "application/json"),
        ("User-Agent", f"claude-cli/{version.name} (external, sdk-cli)"),
    ]
    if version.rich_requests:
        made.append(("X-Claude-Code-Session-Id", session))
    made += [
        ("X-Stainless-Arch", "x64"),
        ("X-Stainless-Lang", "js"),
        ("X-Stainless-OS", "Linux"),
        ("X-Stainless-Package-Version", version.sdk_version),
        ("X-Stainless-Retry-Count", "0"),
        ("X-Stainless-Runtime", "node"),
        ("X-Stainless-Runtime-Version", "v26.12.1"),
        ("X-Stainless-Timeout", "600"),
        ("anthropic-beta", ",".join(beta)),
        ("anthropic-dangerous-direct-browser-access", "true"),
        ("anthropic-version", "2023-06-01"),
    ]
    if token := env.get("ANTHROPIC_AUTH_TOKEN"):
        made.append(("Authorization", f"Bearer {token}"))
    if key := env.get("ANTHROPIC_API_KEY") or ("sk-ant-alone" if alone else ""):
        made.append(("x-api-key", key))
    made.append(("x-app", "cli"))
    return made
