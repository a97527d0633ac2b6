"""Reads the command line as the CLI does: names, arities, and the words with which it refuses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Arity = Literal["none", "one", "maybe", "many"]


class UsageError(Exception):
    """The command line is refused: `str()` goes to stderr, the exit code is 1."""


@dataclass(slots=True)
class Options:
    """What the flags say. Names follow the flags; absent is None, False or ()."""

    prompt: str | None = None
    print: bool = False
    output_format: str = "text"
    input_format: str = "text"
    verbose: bool = False
    include_partial_messages: bool = False
    replay_user_messages: bool = False
    session_id: str | None = None
    resume: str | None = None
    continue_: bool = False
    fork_session: bool = False
    no_session_persistence: bool = False
    model: str | None = None
    fallback_model: str | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    system_prompt_snapshot: str | None = None
    permission_mode: str | None = None
    dangerously_skip_permissions: bool = False
    allowed_tools: list[str] = field(default_factory=list)
    disallowed_tools: list[str] = field(default_factory=list)
    tools: list[str] | None = None
    mcp_config: list[str] = field(default_factory=list)
    strict_mcp_config: bool = False
    max_turns: int | None = None
    max_budget_usd: float | None = None
    effort: str | None = None
    autocompact: str | None = None
    bare: bool = False
    json_schema: str | None = None
    permission_prompt_tool: str | None = None
    setting_sources: str | None = None
    settings: str | None = None
    include_hook_events: bool = False
    max_thinking_tokens: int | None = None
    show: Literal["version", "help"] | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: what follows it, the field it fills (None: known and without effect here), its choices."""

    arity: Arity
    field: str | None = None
    spelled: str = ""  # as error messages name it
    choices: tuple[str, ...] = ()
    short: str = ""
    since: str = ""  # only versions whose flags carry this mark know it


_FORMATS = ("text", "json", "stream-json")
_MODES_19 = ("acceptEdits", "bypassPermissions", "default", "delegate", "dontAsk", "plan")
_MODES_332 = ("acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan")
_COMMON: dict[str, Flag] = {
    "--add-dir": Flag("many", spelled="--add-dir <directories...>"),
    "--agent": Flag("one", spelled="--agent <agent>"),
    "--agents": Flag("one", spelled="--agents <json>"),
    "--allow-dangerously-skip-permissions": Flag("none"),
    "--allowedTools": Flag("many", "allowed_tools", "--allowedTools, --allowed-tools <tools...>"),
    "--append-system-prompt": Flag("one", "append_system_prompt", "--append-system-prompt <prompt>"),
    "--append-system-prompt-file": Flag("one", "append_system_prompt_file", "--append-system-prompt-file <file>"),
    "--betas": Flag("many", spelled="--betas <betas...>"),
    "--chrome": Flag("none"),
    "--continue": Flag("none", "continue_", short="-c"),
    "--dangerously-skip-permissions": Flag("none", "dangerously_skip_permissions"),
    "--debug": Flag("maybe", short="-d"),
    "--disable-slash-commands": Flag("none"),
    "--disallowedTools": Flag("many", "disallowed_tools", "--disallowedTools, --disallowed-tools <tools...>"),
    "--fallback-model": Flag("one", "fallback_model", "--fallback-model <model>"),
    "--file": Flag("many", spelled="--file <specs...>"),
    "--fork-session": Flag("none", "fork_session"),
    "--help": Flag("none", "show", short="-h"),
    "--ide": Flag("none"),
    "--include-partial-messages": Flag("none", "include_partial_messages"),
    "--input-format": Flag("one", "input_format", "--input-format <format>", ("text", "stream-json")),
    "--json-schema": Flag("one", "json_schema", "--json-schema <schema>"),
    "--max-budget-usd": Flag("one", "max_budget_usd", "--max-budget-usd <amount>"),
    "--max-turns": Flag("one", "max_turns", "--max-turns <turns>"),
    "--mcp-config": Flag("many", "mcp_config", "--mcp-config <configs...>"),
    "--mcp-debug": Flag("none"),
    "--model": Flag("one", "model", "--model <model>"),
    "--no-chrome": Flag("none"),
    "--no-session-persistence": Flag("none", "no_session_persistence"),
    "--output-format": Flag("one", "output_format", "--output-format <format>", _FORMATS),
    "--permission-prompt-tool": Flag("one", "permission_prompt_tool", "--permission-prompt-tool <tool>"),
    "--plugin-dir": Flag("many", spelled="--plugin-dir <paths...>"),
    "--print": Flag("none", "print", short="-p"),
    "--replay-user-messages": Flag("none", "replay_user_messages"),
    "--resume": Flag("maybe", "resume", short="-r"),
    "--session-id": Flag("one", "session_id", "--session-id <uuid>"),
    "--setting-sources": Flag("one", "setting_sources", "--setting-sources <sources>"),
    "--settings": Flag("one", "settings", "--settings <file-or-json>"),
    "--strict-mcp-config": Flag("none", "strict_mcp_config"),
    "--system-prompt": Flag("one", "system_prompt", "--system-prompt <prompt>"),
    "--system-prompt-file": Flag("one", "system_prompt_file", "--system-prompt-file <file>"),
    "--tools": Flag("many", "tools", "--tools <tools...>"),
    "--verbose": Flag("none", "verbose"),
    "--version": Flag("none", "show", short="-v"),
}
_SPELLINGS = {"--allowed-tools": "--allowedTools", "--disallowed-tools": "--disallowedTools"}
_FLAGS: dict[str, dict[str, Flag]] = {
    "2.1.19": {
        **_COMMON,
        "--permission-mode": Flag("one", "permission_mode", "--permission-mode <mode>", _MODES_19),
    },
    "2.1.332": {
        **_COMMON,
        "--permission-mode": Flag("one", "permission_mode", "--permission-mode <mode>", (*_MODES_332, "default")),
        "--autocompact": Flag("one", "autocompact", "--autocompact <auto|tokens>"),
        "--ax-screen-reader": Flag("none"),
        "--bare": Flag("none", "bare"),
        "--brief": Flag("none"),
        "--debug-file": Flag("one", spelled="--debug-file <path>"),
        "--effort": Flag("one", "effort", "--effort <level>", ("low", "medium", "high", "xhigh", "max")),
        "--exclude-dynamic-system-prompt-sections": Flag("none"),
        "--forward-subagent-text": Flag("none"),
        "--include-hook-events": Flag("none", "include_hook_events"),
        "--max-thinking-tokens": Flag("one", "max_thinking_tokens", "--max-thinking-tokens <tokens>"),
        "--name": Flag("one", spelled="-n, --name <name>", short="-n"),
        "--permission-prompts": Flag("one", spelled="--permission-prompts <target>", choices=("host", "none")),
        "--plugin-url": Flag("one", spelled="--plugin-url <url>"),
        "--prompt-suggestions": Flag("maybe"),
        "--restricted": Flag("none"),
        "--safe-mode": Flag("none"),
        "--system-prompt-snapshot": Flag(
            "one", "system_prompt_snapshot", "--system-prompt-snapshot <on|off>", ("on", "off")
        ),
        "--worktree": Flag("maybe", short="-w"),
    },
}


def parse(argv: Sequence[str], version: str) -> Options:
    """Flags and prompt of a command line (without the program's name). Raises `UsageError` as the CLI words it."""
    flags = _FLAGS[version]
    short = {flag.short: name for name, flag in flags.items() if flag.short}
    options = Options()
    words = _split(argv)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            options.prompt = next(iter(words[at:]), options.prompt)
            break
        if not word.startswith("-") or word == "-":
            options.prompt = options.prompt if options.prompt is not None else word
            continue
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = short.get(name, _SPELLINGS.get(name, name))
        flag = flags.get(name)
        if flag is None:
            raise UsageError(f"error: unknown option '{word.partition('=')[0]}'")
        values = [value] if has_value else []
        if not has_value:
            at = _take(words, at, flag, values)
        if flag.arity in ("one", "many") and not values:
            raise UsageError(f"error: option '{flag.spelled}' argument missing")
        _set(options, name, flag, values)
    return options


def _split(argv: Sequence[str]) -> list[str]:
    """`-pc` is `-p -c`; everything else stays."""
    words: list[str] = []
    for word in argv:
        if (
            len(word) > 2
            and word[0] == "-"
            and word[1] != "-"
            and word[1:].isalpha()
            and set(word[1:]) <= set("pcrvhd")
        ):
            words += [f"-{letter}" for letter in word[1:]]
        else:
            words.append(word)
    return words


def _take(words: Sequence[str], at: int, flag: Flag, values: list[str]) -> int:
    """Collect what follows a flag; returns where to go on. A required value may begin with a dash, others not."""
    if flag.arity == "one" and at < len(words):
        values.append(words[at])
        return at + 1
    if flag.arity == "maybe" and at < len(words) and not words[at].startswith("-"):
        values.append(words[at])
        return at + 1
    while flag.arity == "many" and at < len(words) and not words[at].startswith("-"):
        values.append(words[at])
        at += 1
    return at


def _set(options: Options, name: str, flag: Flag, values: list[str]) -> None:
    if flag.choices and values[0] not in flag.choices:
        allowed = ", ".join(
            c for c in flag.choices if not (name == "--permission-mode" and c == "default" and "auto" in flag.choices)
        )
        raise UsageError(
            f"error: option '{flag.spelled}' argument '{values[0]}' is invalid. Allowed choices are {allowed}."
        )
    if flag.field is None:
        return
    if name in ("--help", "--version"):
        options.show = options.show or ("help" if name == "--help" else "version")
    elif flag.arity == "none":
        setattr(options, flag.field, True)
    elif flag.arity == "many":
        split = [part.strip() for value in values for part in _tool_names(value)] if "tools" in flag.field else values
        setattr(options, flag.field, [*(getattr(options, flag.field) or []), *split])
    elif flag.field == "max_turns":
        options.max_turns = _number(flag, values[0])
    elif flag.field == "max_budget_usd":
        options.max_budget_usd = float(values[0])
    elif flag.field == "max_thinking_tokens":
        options.max_thinking_tokens = int(values[0]) if values[0].isdigit() else None
    else:
        setattr(options, flag.field, values[0] if values else "")


def _number(flag: Flag, text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise UsageError(f"error: option '{flag.spelled}' argument '{text}' is invalid. must be a positive integer")
    return int(text)


def _tool_names(text: str) -> list[str]:
    """`Bash(git log:*),Read Edit` as three; commas and blanks inside parentheses do not split."""
    names, name, depth = [], "", 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter in ", " and depth == 0:
            names.append(name)
            name = ""
        else:
            name += letter
    return [n for n in [*names, name] if n.strip()]
