"""config.toml under CODEX_HOME, profiles, `-c` overrides and flags, laid over each other and checked."""

import tomllib
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.cli.codex.flags import Options
from simulators.cli.codex.toml_words import OverrideError, lay, merged, override
from simulators.cli.codex.versions import Version
from simulators.cli.effects import Effect, ReadFile

OPENAI = "https://api.openai.com/v1"
_MODES = ("read-only", "workspace-write", "danger-full-access")
_POLICIES = ("untrusted", "on-failure", "on-request", "never")


class ConfigError(Exception):
    """The configuration cannot be used; `str()` is what stands on stderr before exit code 1."""


@dataclass(frozen=True, slots=True)
class ApiProvider:
    """Where calls go. `remote_compaction`: it condenses by itself, and is told what each item was."""

    id: str
    name: str
    base_url: str
    env_key: str | None
    request_retries: int
    stream_retries: int
    websockets: bool
    headers: Mapping[str, str]
    query: Mapping[str, str]
    key: str | None = None

    @property
    def remote_compaction(self) -> bool:
        return self.name == "OpenAI"

    @property
    def builtin(self) -> bool:
        return self.id == "openai"


@dataclass(frozen=True, slots=True)
class Config:
    """What a run goes by."""

    model: str
    provider: ApiProvider
    sandbox: str
    approval: str
    effort: str | None
    summary: str
    base_instructions: str | None
    developer_instructions: str | None
    compact_prompt: str | None
    compact_limit: int | None
    window: int | None
    home: str  # CODEX_HOME
    analytics: bool
    data: Mapping[str, Any]


def load(
    options: Options, env: Mapping[str, str], version: Version, cwd: str, *, approval: str
) -> Generator[Effect, Any, Config]:
    """Read and check. `approval` is the policy where nothing says one. Raises `ConfigError`."""
    home = env.get("CODEX_HOME") or f"{env.get('HOME', '/root')}/.codex"
    data = yield from _files(options, home)
    for word in options.overrides:
        try:
            lay(data, *override(word))
        except OverrideError as error:
            raise ConfigError(str(error)) from None
    sandbox = options.values.get("--sandbox") or data.get("sandbox_mode", "read-only")
    _choose(sandbox, _MODES, "sandbox_mode")
    policy = data.get("approval_policy", approval)
    _choose(policy, _POLICIES, "approval_policy")
    if "--dangerously-bypass-approvals-and-sandbox" in options.switches:
        sandbox, policy = "danger-full-access", "never"
    base = yield from _instructions(data, cwd)
    return Config(
        model=options.values.get("--model") or data.get("model") or version.default_model,
        provider=_provider(data, env, version),
        sandbox=sandbox,
        approval="never" if options.command != "app-server" else policy,
        effort=data.get("model_reasoning_effort"),
        summary=data.get("model_reasoning_summary", "none"),
        base_instructions=base,
        developer_instructions=data.get("developer_instructions"),
        compact_prompt=data.get("compact_prompt"),
        compact_limit=data.get("model_auto_compact_token_limit"),
        window=data.get("model_context_window"),
        home=home,
        analytics=bool((data.get("analytics") or {}).get("enabled", options.command != "app-server")),
        data=data,
    )


def _files(options: Options, home: str) -> Generator[Effect, Any, dict[str, Any]]:
    data: dict[str, Any] = {}
    names = ["config.toml"]
    profile = options.values.get("--profile")
    if profile:
        names.append(f"{profile}.config.toml")
    if "--ignore-user-config" in options.switches:
        return data
    for name in names:
        raw = yield ReadFile(f"{home}/{name}")
        if raw is None:
            continue
        try:
            data = merged(data, tomllib.loads(raw.decode("utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"Error loading config.toml: {home}/{name}: {error}") from None
    legacy = data.get("profile")
    if isinstance(legacy, str):
        table = (data.get("profiles") or {}).get(legacy)
        if table is None:
            raise ConfigError(f"Error: config profile `{legacy}` not found")
        data = merged(data, table)
    return data


def _choose(word: Any, choices: tuple[str, ...], name: str) -> None:
    if word not in choices:
        shown = ", ".join(f"`{choice}`" for choice in choices)
        raise ConfigError(f"Error loading config.toml: unknown variant `{word}`, expected one of {shown}\nin `{name}`")


def _instructions(data: Mapping[str, Any], cwd: str) -> Generator[Effect, Any, str | None]:
    path = data.get("model_instructions_file")
    if not path:
        return data.get("instructions") or None
    where = path if str(path).startswith("/") else f"{cwd}/{path}"
    raw = yield ReadFile(where)
    if raw is None:
        said = "No such file or directory (os error 2)"
        raise ConfigError(f"Error: failed to read model instructions file {where}: {said}")
    text: str = raw.decode("utf-8", "replace").strip()
    if not text:
        raise ConfigError(f"Error: model instructions file is empty: {where}")
    return text


def _provider(data: Mapping[str, Any], env: Mapping[str, str], version: Version) -> ApiProvider:
    id = data.get("model_provider", "openai")
    tables = data.get("model_providers") or {}
    for name, table in tables.items():
        if table.get("wire_api") == "chat":
            raise ConfigError(
                'Error loading config.toml: `wire_api = "chat"` is no longer supported.\n'
                'How to fix: set `wire_api = "responses"` in your provider config.\n'
                "More info: https://github.com/openai/codex/discussions/7782\n"
                f"in `model_providers.{name}.wire_api`\n"
            )
    if id == "openai":
        table = {"name": "OpenAI", "base_url": data.get("openai_base_url") or OPENAI, "supports_websockets": True}
    elif id in tables:
        table = tables[id]
    else:
        raise ConfigError(f"Error: Model provider `{id}` not found")
    env_key = table.get("env_key")
    key = env.get(env_key) if env_key else env.get("CODEX_API_KEY") or env.get("OPENAI_API_KEY")
    headers = dict(table.get("http_headers") or {})
    headers |= {k: env[v] for k, v in (table.get("env_http_headers") or {}).items() if env.get(v)}
    return ApiProvider(
        id=id,
        name=table.get("name") or id,
        base_url=str(table.get("base_url") or OPENAI).rstrip("/"),
        env_key=env_key,
        request_retries=table.get("request_max_retries", version.request_retries),
        stream_retries=table.get("stream_max_retries", version.stream_retries),
        websockets=bool(table.get("supports_websockets")),
        headers=headers,
        query=dict(table.get("query_params") or {}),
        key=(key or table.get("experimental_bearer_token") or "").strip() or None,
    )
