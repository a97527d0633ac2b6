"""`config.toml`, typed. Every table and key that claw knows is here; anything else is an error that names the line."""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from claw.core.calls import CacheRetention, Thinking
from claw.core.errors import ClawError
from claw.core.queueing import Drop, Mode


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: keys that are not fields are refused."""


class ModelChoice(_Table, frozen=True, kw_only=True):
    """`primary` and `fallbacks` are `PROVIDER/MODEL`; a fallback is tried when the models before it cannot answer."""

    primary: str = "anthropic/claude-sonnet-5"
    fallbacks: tuple[str, ...] = ()


class Profile(_Table, frozen=True, kw_only=True):
    """One credential of a provider. Tried in the order of the file; `model` limits it to one model."""

    id: str
    provider: str
    key: str | None = None
    key_env: str | None = None
    model: str | None = None


class ProviderOptions(_Table, frozen=True, kw_only=True):
    """`api`: which API, or whose manners, a provider of another name has, as `openai-chat` or `groq`. `params`: extra
    fields of the vendor's request; `models.M` those for one model, over them."""

    base_url: str | None = None
    api: str | None = None
    params: dict[str, Any] = {}
    models: dict[str, dict[str, Any]] = {}
    context_window: int | None = None  # tokens; of all models, where it is another than claw knows
    windows: dict[str, int] = {}  # the same, by model


class Watchdog(_Table, frozen=True, kw_only=True):
    """A CLI that prints nothing for `ratio` of its time-out, kept within `min_s` and `max_s`, is ended."""

    ratio: float
    min_s: float
    max_s: float

    def seconds(self, timeout_s: float) -> float:
        allowed = min(max(timeout_s * min(max(self.ratio, 0.05), 0.95), self.min_s), self.max_s)
        return max(1.0, min(allowed, timeout_s - 1.0))


class CliOptions(_Table, frozen=True, kw_only=True):
    """How one CLI is started: what is set here goes over the back end's own choice."""

    command: str | None = None
    env: dict[str, str] = {}
    clear_env: tuple[str, ...] = ()
    model_aliases: dict[str, str] = {}
    timeout_s: float = 172_800.0
    watchdog_fresh: Watchdog = Watchdog(ratio=0.8, min_s=180.0, max_s=600.0)
    watchdog_resume: Watchdog = Watchdog(ratio=0.3, min_s=60.0, max_s=180.0)
    reseed_chars: int = 12_288  # of the history that a new CLI session is told when the old one is gone
    context_window: int | None = None


class CompactionOptions(_Table, frozen=True, kw_only=True):
    """Tokens. A conversation above window − `reserve_tokens` is summarised, all but its last `keep_recent_tokens`."""

    reserve_tokens: int = 20_000
    keep_recent_tokens: int = 20_000
    attempts: int = 3


class RetryOptions(_Table, frozen=True, kw_only=True):
    """One budget for a whole run: `attempts` repeats and `seconds` of waiting, whatever the reasons were."""

    attempts: int = 8
    seconds: float = 600.0
    base_s: float = 1.0
    cap_s: float = 30.0
    patience_s: float = 10.0  # a rate limit that asks for more than this moves to a spare profile at once


class AuthOptions(_Table, frozen=True, kw_only=True):
    """`spread`: among several credentials of a provider, `order` takes the first of the file that does not rest,
    `round_robin` the one used longest ago. A session stays with the one that it has used, whose cache it reads."""

    spread: Literal["order", "round_robin"] = "order"


class QueueOptions(_Table, frozen=True, kw_only=True):
    """What happens to messages that find their session at work. `debounce_s`: the quiet moment before `collect` runs;
    `cap`: how many may wait (0: any number); `drop`: which go beyond that; `runs`: sessions at work at once."""

    mode: Mode = "steer"
    debounce_s: float = 0.5
    cap: int = 20
    drop: Drop = "summarize"
    runs: int = 4  # 0: any number


class Timeouts(_Table, frozen=True, kw_only=True):
    """Seconds; 0 switches one off."""

    first_event_s: float = 120.0
    idle_s: float = 120.0
    run_s: float = 172_800.0
    tool_s: float = 1_800.0


class ToolOptions(_Table, frozen=True, kw_only=True):
    allow: tuple[str, ...] = ("read", "exec")


class AgentOptions(_Table, frozen=True, kw_only=True):
    """One agent; what is left out is as everywhere. `fallbacks` are its own: none of the configured ones then."""

    workspace: str | None = None
    model: str | None = None
    fallbacks: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None


class Settings(_Table, frozen=True, kw_only=True):
    """The neutral names that scenarios use. The value that brings an old bug back stands behind each.

    * `cli_system_prompt_when`: `first` loses the instructions on a resume of CLIs that do not keep them.
    * `clock_in_prompt`: true puts the time among the stable system blocks, so that no prefix is ever cached.
    * `usage_from`: `result` takes a CLI's sum over its calls for the size of the context.
    * `compaction`: `off` leaves an overflow where it is.
    * `honour_retry_after`: false sends again at once.
    * `partial_reply`: `surface` ends the run when a stream breaks after visible text; `retract` calls it back
      (the `attempt` line of `--stream-json` says `retracted`) and asks again.
    """

    cli_system_prompt_when: Literal["always", "first", "never"] = "always"
    clock_in_prompt: bool = False
    usage_from: Literal["last_call", "result"] = "last_call"
    compaction: Literal["auto", "off"] = "auto"
    compaction_coordination: Literal["observe", "own", "hybrid"] = "observe"
    honour_retry_after: bool = True
    cli_tools: Literal["native", "claw", "hybrid"] = "native"
    thinking: Thinking = "off"
    stream: bool = True
    cache: CacheRetention = "short"
    partial_reply: Literal["retract", "surface"] = "retract"


class Config(_Table, frozen=True, kw_only=True):
    """The whole file. Every table may be left out."""

    model: ModelChoice = ModelChoice()
    profiles: tuple[Profile, ...] = ()
    providers: dict[str, ProviderOptions] = {}
    cli: dict[str, CliOptions] = {}
    compaction: CompactionOptions = CompactionOptions()
    auth: AuthOptions = AuthOptions()
    queue: QueueOptions = QueueOptions()
    retry: RetryOptions = RetryOptions()
    timeouts: Timeouts = Timeouts()
    tools: ToolOptions = ToolOptions()
    agents: dict[str, AgentOptions] = {}
    settings: Settings = Settings()


def parse_config(text: str, source: str) -> Config:
    """Read the text of a `config.toml`. Raises `ClawError`: `SOURCE:LINE: path: what is wrong; did you mean …?`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rstrip(")").partition(" (at ")
        line = place.split(",")[0].removeprefix("line ")
        raise ClawError(f"{source}:{line if line.isdigit() else len(text.splitlines())}: {what}") from None
    try:
        config = convert_config(data)
    except msgspec.ValidationError as error:
        raise ClawError(_explain(str(error), text, source)) from None
    for place, table in (("model.primary", [config.model.primary]), ("model.fallbacks", config.model.fallbacks)):
        for ref in table:
            if "/" not in ref:
                line = str(_line(text, place.split(".")))
                raise ClawError(f"{source}:{line}: {place}: `{ref}` should be PROVIDER/MODEL, as anthropic/{ref}")
    return config


def convert_config(data: Mapping[str, Any]) -> Config:
    """The same from plain values. Raises `msgspec.ValidationError`."""
    return msgspec.convert(data, Config)


def _explain(message: str, text: str, source: str) -> str:
    """msgspec's sentence with the line of the file and the nearest right key."""
    what, _, path = message.partition(" - at `$")
    names = [name for name in path.rstrip("`").replace("[...]", "").split(".") if name]
    hint = ""
    if "unknown field `" in what:
        key = what.split("`")[1]
        near = get_close_matches(key, _fields(names), n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        what, names = "there is no such key", [*names, key]
    elif "Invalid enum value" in what or "missing required" in what or what.startswith("Expected"):
        what = what[0].lower() + what[1:]
    return f"{source}:{_line(text, names)}: {'.'.join(names) or 'file'}: {what}{hint}"


def _fields(names: list[str]) -> list[str]:
    """The keys that the table under `names` knows."""
    table: Any = Config
    for name in names:
        hint: Any = Any
        if isinstance(table, type) and issubclass(table, msgspec.Struct):
            hint = get_type_hints(table).get(name, Any)
            inside: list[Any] = [a for a in get_args(hint) if isinstance(a, type) and issubclass(a, msgspec.Struct)]
            hint = inside[-1] if inside else hint
        elif isinstance(table, type):
            continue
        table = hint if hint is not Any else table
    return list(table.__struct_fields__) if isinstance(table, type) and issubclass(table, msgspec.Struct) else []


def _line(text: str, names: list[str]) -> int:
    """The line where the key that ends `names` stands; 1 if it cannot be told."""
    table: list[str] = []
    best = 1
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("["):
            table = [part.strip().strip('"') for part in line.strip("[]").split("#")[0].rstrip("] ").split(".")]
            if table == names[: len(table)]:
                best = number
            continue
        key = [part.strip().strip('"') for part in line.partition("=")[0].strip().split(".")]
        if "=" in line and [*table, *key] == names[: len(table) + len(key)]:
            return number
    return best
