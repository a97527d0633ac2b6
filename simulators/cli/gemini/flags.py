"""The command line, as yargs reads it. What it does not know ends with the usage on stdout and exit code 1."""

from collections.abc import Sequence
from dataclasses import dataclass, field


class UsageError(Exception):
    """`str()` stands before the usage."""


@dataclass(slots=True)
class Options:
    """What was asked for. `resume` is an id, a number or `latest`; "" where nothing stood behind the flag."""

    prompt: str | None = None
    query: list[str] = field(default_factory=list)
    model: str | None = None
    output: str = "text"
    mode: str = "default"
    resume: str | None = None
    session_id: str | None = None
    skip_trust: bool = False
    show: str | None = None


_VALUES = {
    "--model": "model", "-m": "model", "--prompt": "prompt", "-p": "prompt", "--output-format": "output",
    "-o": "output", "--approval-mode": "mode", "--resume": "resume", "-r": "resume", "--session-id": "session_id",
}  # fmt: skip
_IGNORED_VALUES = (
    "--policy", "--admin-policy", "--allowed-mcp-server-names", "--allowed-tools", "--extensions", "-e",
    "--include-directories", "--delete-session", "--fake-responses", "--record-responses",
)  # fmt: skip
_SWITCHES = ("--debug", "-d", "--sandbox", "-s", "--screen-reader", "--raw-output", "--accept-raw-output-risk")
_CHOICES = {
    "output": ("output-format", ("text", "json", "stream-json")),
    "mode": ("approval-mode", ("default", "auto_edit", "yolo", "plan")),
}


def parse(argv: Sequence[str]) -> Options:
    """Read the words. Raises `UsageError`."""
    options = Options()
    words = list(argv)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name in _VALUES or name in _IGNORED_VALUES:
            if not equals and at < len(words) and not words[at].startswith("-"):
                value = words[at]
                at += 1
            elif not equals and name not in ("--resume", "-r"):
                raise UsageError(f"Not enough arguments following: {name.lstrip('-')}")
            if name in _VALUES:
                _set(options, _VALUES[name], value)
        elif name == "--skip-trust":
            options.skip_trust = value != "false"
        elif name in ("--yolo", "-y"):
            options.mode = "yolo"
        elif name in ("--version", "-v", "--help", "-h", "--list-sessions"):
            options.show = {"v": "version", "h": "help"}.get(name.lstrip("-"), name.lstrip("-"))
        elif name in _SWITCHES:
            continue
        elif word.startswith("-") and word != "-":
            raise UsageError(f"Unknown argument: {name.lstrip('-')}")
        else:
            options.query.append(word)
    if options.prompt is not None and options.query:
        raise UsageError("Cannot use both a positional prompt and the --prompt (-p) flag together")
    return options


def _set(options: Options, name: str, value: str) -> None:
    known = _CHOICES.get(name)
    if known and value not in known[1]:
        shown = ", ".join(f'"{choice}"' for choice in known[1])
        raise UsageError(f'Invalid values:\n  Argument: {known[0]}, Given: "{value}", Choices: {shown}')
    setattr(options, name, value)
