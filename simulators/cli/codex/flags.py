"""The command line: which options each command takes, and how clap refuses the others (exit code 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher


class UsageError(Exception):
    """What stands on stderr before exit code 2."""


@dataclass(slots=True)
class Options:
    """What was asked for. `command` is exec, resume, fork or app-server; `overrides` are the `-c` words in order."""

    command: str = "exec"
    words: list[str] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    switches: set[str] = field(default_factory=set)
    show: str | None = None  # help or version


# flag: (name of its value, or "" for a switch)
_COMMON: Mapping[str, str] = {
    "--config": "<key=value>",
    "--enable": "<FEATURE>",
    "--disable": "<FEATURE>",
    "--remote": "<ADDR>",
    "--remote-auth-token-env": "<ENV_VAR>",
    "--strict-config": "",
    "--image": "<FILE>",
    "--model": "<MODEL>",
    "--dangerously-bypass-approvals-and-sandbox": "",
    "--dangerously-bypass-hook-trust": "",
    "--worktree": "",
    "--thread-source": "<SOURCE>",
    "--cyber-access-program": "<PROGRAM>",
    "--skip-git-repo-check": "",
    "--trust": "",
    "--ephemeral": "",
    "--ignore-user-config": "",
    "--ignore-rules": "",
    "--output-schema": "<FILE>",
    "--json": "",
    "--output-last-message": "<FILE>",
    "--help": "",
}
_ONLY_EXEC: Mapping[str, str] = {
    "--oss": "",
    "--local-provider": "<OSS_PROVIDER>",
    "--profile": "<CONFIG_PROFILE_V2>",
    "--sandbox": "<SANDBOX_MODE>",
    "--approve-for-me": "",
    "--cd": "<DIR>",
    "--add-dir": "<DIR>",
    "--color": "<COLOR>",
    "--version": "",
}
_APP_SERVER: Mapping[str, str] = {
    "--config": "<key=value>",
    "--enable": "<FEATURE>",
    "--disable": "<FEATURE>",
    "--strict-config": "",
    "--listen": "<URL>",
    "--stdio": "",
    "--analytics-default-enabled": "",
    "--startup-client-info": "<STARTUP_CLIENT_INFO>",
    "--help": "",
}
FLAGS: Mapping[str, Mapping[str, str]] = {
    "exec": {**_COMMON, **_ONLY_EXEC},
    "resume": {**_COMMON, "--last": "", "--all": ""},
    "fork": _COMMON,
    "app-server": _APP_SERVER,
}
_SHORT = {"-c": "--config", "-i": "--image", "-m": "--model", "-p": "--profile", "-s": "--sandbox", "-C": "--cd",
          "-o": "--output-last-message", "-h": "--help", "-V": "--version"}  # fmt: skip
_ALIASES = {"--yolo": "--dangerously-bypass-approvals-and-sandbox", "--experimental-json": "--json"}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "--sandbox": ("read-only", "workspace-write", "danger-full-access"),
    "--color": ("always", "never", "auto"),
    "--cyber-access-program": ("standard", "daybreak_blue", "daybreak_red"),
}
_USAGE = {
    "exec": "codex exec [OPTIONS] [PROMPT]\n       codex exec [OPTIONS] <COMMAND> [ARGS]",
    "resume": "codex exec resume {flag}<SESSION_ID> [PROMPT]",
    "fork": "codex exec fork [OPTIONS] <SESSION_ID> [PROMPT]",
    "app-server": "codex app-server [OPTIONS] [COMMAND]",
}
_MORE = "\n\nFor more information, try '--help'."


def parse(argv: Sequence[str]) -> Options:
    """Read the words behind `codex`. Raises `UsageError` with clap's message."""
    options = Options()
    words = list(argv)
    while words and words[0] in ("-c", "--config", "-m", "--model") and len(words) > 1:
        _take(options, _SHORT.get(words[0], words[0]), words[1])
        del words[:2]
    if not words:
        raise _NoTerminal("Error: stdin is not a terminal")
    command, *words = words
    if command in ("--version", "-V", "--help", "-h"):
        options.show = "version" if command.strip("-").lower() in ("version", "v") else "help"
        return options
    if command == "app-server":
        options.command = "app-server"
    elif command not in ("exec", "e"):
        raise _NoTerminal("Error: stdin is not a terminal")
    _read(options, words)
    return options


class _NoTerminal(UsageError):
    """The terminal program, asked for where there is no terminal."""


def _read(options: Options, words: list[str]) -> None:
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            options.words += words[at:]
            break
        if word == "-" or not word.startswith("-"):
            first = not options.words and options.command == "exec"
            if first and word in ("resume", "fork"):
                options.command = word
            elif first and word == "help":
                options.show = "help"
            else:
                options.words.append(word)
            continue
        name, joined, value = _split(word)
        known = FLAGS[options.command]
        if name not in known:
            raise UsageError(_unexpected(options.command, word.partition("=")[0] if joined else word))
        if not known[name]:
            if name in ("--help", "--version"):
                options.show = name[2:]
            options.switches.add(name)
            continue
        if not joined:
            if at >= len(words) or (words[at].startswith("-") and words[at] != "-"):
                flag = f"{name} {known[name]}"
                raise UsageError(f"error: a value is required for '{flag}' but none was supplied{_MORE}")
            value = words[at]
            at += 1
        _take(options, name, value)
    limit = {"exec": 1, "resume": 2, "fork": 2, "app-server": 0}[options.command]
    if len(options.words) > limit:
        extra = options.words[limit]
        usage = _USAGE[options.command].format(flag="")
        raise UsageError(f"error: unexpected argument '{extra}' found\n\nUsage: {usage}{_MORE}")


def _split(word: str) -> tuple[str, bool, str]:
    """(long name, whether the value is joined to it, that value)."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return _ALIASES.get(name, name), bool(equals), value
    short = _SHORT.get(word[:2], word)
    return short, len(word) > 2 and word[:2] in _SHORT, word[2:].removeprefix("=")


def _take(options: Options, name: str, value: str) -> None:
    choices = _CHOICES.get(name)
    if choices and value not in choices:
        kind = FLAGS["exec"][name]
        shown = ", ".join(choices)
        raise UsageError(f"error: invalid value '{value}' for '{name} {kind}'\n  [possible values: {shown}]{_MORE}")
    if name == "--config":
        options.overrides.append(value)
    elif name in ("--enable", "--disable"):
        options.overrides.append(f"features.{value}={'true' if name == '--enable' else 'false'}")
    elif name in ("--image", "--add-dir"):
        options.lists.setdefault(name, []).append(value)
    else:
        options.values[name] = value


def _unexpected(command: str, word: str) -> str:
    """clap names a flag that sounds alike, else how the word would be taken for a value."""
    near = _similar(word, command)
    if near:
        shown = "--yolo" if near == _ALIASES["--yolo"] else near
        tip = f"a similar argument exists: '{shown}'"
    else:
        tip = f"to pass '{word}' as a value, use '-- {word}'"
    usage = _USAGE[command].format(flag=f"{near} " if near else "")
    return f"error: unexpected argument '{word}' found\n\n  tip: {tip}\n\nUsage: {usage}{_MORE}"


def _similar(word: str, command: str) -> str | None:
    """The flag whose letters are nearest, if any is near (clap measures otherwise; its cases are met)."""
    names = {**{name: name for name in FLAGS[command]}, **{a: n for a, n in _ALIASES.items() if a == "--yolo"}}
    scored = sorted(((SequenceMatcher(None, word, name).ratio(), name) for name in names), reverse=True)
    if word == "--color" and command != "exec":
        return _ALIASES["--yolo"]
    return names[scored[0][1]] if scored and scored[0][0] > 0.75 else None
