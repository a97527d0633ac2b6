"""The command line: `claw COMMAND …`. A command's module is imported when that command is used, and only then."""

import sys
from importlib import import_module

from claw import __version__

# command → (module in this folder that has a Typer `app`, what it is for)
COMMANDS: dict[str, tuple[str, str]] = {
    "exec": ("exec", "run any command before the simulators and judge how it took it"),
    "scenario": ("scenario", "run, list, show and write scenarios"),
    "test": ("scenario", "the same as `scenario run`"),
    "bench": ("bench", "measure cache hits and cost, runtimes side by side"),
    "cache": ("cache", "explain where the prompt cache broke, and what it cost"),
    "verdict": ("verdict", "judge a saved journal"),
    "cassette": ("cassette", "record, replay, check, scrub and import recorded traffic"),
    "sim": ("sim", "serve the simulated providers over HTTP"),
    "fake": ("fake", "install the CLI fakes in a folder"),
    "agent": ("agent", "ask the agent one thing"),
    "error": ("error", "say what a provider's error is and what claw would do about it"),
    "auth": ("auth", "list, keep, order and free credentials"),
    "models": ("models", "list models: windows, prices, which can be asked"),
    "doctor": ("doctor", "check that all the agent needs is there; show its prompt"),
    "sessions": ("sessions", "list and show sessions"),
}


def usage() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {about}" for name, (_, about) in COMMANDS.items())
    return f"usage: claw COMMAND …\n\n{rows}\n\n`claw COMMAND --help` says more; `claw --version` says {__version__}.\n"


def main(argv: list[str] | None = None) -> None:
    """Entry point of `claw` and `clawlab`. Exit codes: 0 as asked, 1 it failed, 2 bad input, 130 interrupted."""
    args = sys.argv[1:] if argv is None else argv
    if not args or args[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        raise SystemExit(0 if args else 2)
    if args[0] in ("-V", "--version"):
        sys.stdout.write(f"claw {__version__}\n")
        raise SystemExit(0)
    if args[0] not in COMMANDS:
        from difflib import get_close_matches

        near = get_close_matches(args[0], COMMANDS, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        sys.stderr.write(f"claw: there is no command `{args[0]}`{hint} `claw --help` lists them.\n")
        raise SystemExit(2)
    module = import_module(f"claw.cli.{COMMANDS[args[0]][0]}")
    rest = ["run", *args[1:]] if args[0] == "test" else args[1:]
    try:
        module.app(args=rest, prog_name=f"claw {args[0]}")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
