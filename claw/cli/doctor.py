"""`claw doctor`: whether everything that the agent needs is there, and what it is told."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from claw.cli.home import home, load_config, told
from claw.core.errors import ClawError

if TYPE_CHECKING:
    from claw.runtime.config import Config

app = typer.Typer(add_completion=False, rich_markup_mode=None, invoke_without_command=True)
COMMAND = "claw doctor"
SDKS = {"anthropic": "anthropic", "openai": "openai", "gemini": "google.genai"}
Status = Literal["ok", "note", "bad"]
Finding = tuple[str, Status, str]


@app.callback()
def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="print [{check, status, what}]")] = False,
) -> None:
    """Look at the configuration, credentials, SDKs, CLIs and sessions; nothing is sent. Exit: 0 sound, 1 something is
    bad. `claw doctor prompt` shows what a model is told."""
    if context.invoked_subcommand is not None:
        return
    import msgspec

    with told(COMMAND):
        findings = list(_findings())
        if as_json:
            rows = [{"check": check, "status": status, "what": what} for check, status, what in findings]
            sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
        else:
            for check, status, what in findings:
                sys.stdout.write(f"{status:<5} {check:<12} {what}\n")
    raise SystemExit(1 if any(status == "bad" for _, status, _ in findings) else 0)


@app.command()
def prompt(
    workspace: Annotated[Path | None, typer.Option(metavar="DIR", help="the folder the agent works in")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print {blocks: [{text, stable, tokens}], tools}")] = False,
) -> None:
    """Show the system prompt as it would be sent now, in its cached and its changing part, with estimated tokens."""
    import time

    import msgspec

    from claw.core.window import text_tokens
    from claw.host import HostFiles
    from claw.prompt import system
    from claw.tools import registry

    with told(COMMAND):
        config = load_config(home() / "config.toml")
        tools = registry.load(config.tools.allow)
        place = str((workspace or home() / "workspace").absolute())
        blocks = system.build(
            files=HostFiles(),
            workspace=place,
            now=time.time(),
            tools=[tool.spec for tool in tools.values()],
            clock_in_prompt=config.settings.clock_in_prompt,
        )
        if as_json:
            told_blocks = [{"text": b.text, "stable": b.stable, "tokens": text_tokens(b.text)} for b in blocks]
            sys.stdout.write(msgspec.json.encode({"blocks": told_blocks, "tools": sorted(tools)}).decode() + "\n")
            return
        for block in blocks:
            kind = "cached" if block.stable else "changing"
            sys.stdout.write(f"--- {kind}, about {text_tokens(block.text)} tokens ---\n{block.text}\n")


def _findings() -> Iterator[Finding]:
    config = None
    yield from _home()
    try:
        config = load_config(home() / "config.toml")
        there = (home() / "config.toml").exists()
        yield "config", "ok", f"{home() / 'config.toml'}" + ("" if there else " is not there: the defaults hold")
    except ClawError as error:
        yield "config", "bad", str(error)
    for name, module in SDKS.items():
        found = _has(module)
        what = "installed" if found else "missing; pip install 'clawlab[runtime]'"
        yield "sdk", "ok" if found else "note", f"{name}: {what}"
    if config is not None:
        yield from _models(config)
    yield from _clis()
    yield from _sessions()


def _home() -> Iterator[Finding]:
    if not home().exists():
        yield "home", "ok", f"{home()} is not there yet; the first run makes it"
        return
    open_to = stat.S_IMODE(home().stat().st_mode) & 0o077
    for name in ("credentials.json", "config.toml"):
        path = home() / name
        if path.exists() and open_to and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield "home", "note", f"{path} can be read by others; chmod 600 {path}"
    writable = os.access(home(), os.W_OK)
    yield "home", "ok" if writable else "bad", f"{home()}" + ("" if writable else " cannot be written")


def _models(config: "Config") -> Iterator[Finding]:
    """Whether each model of the chain has a credential, and is one that is still served."""
    import time

    from claw.auth import load_keys
    from claw.cli_backends import load as backends
    from claw.host import HostFiles
    from claw.providers import names
    from claw.runtime.failover import candidates, credentials, split

    try:
        keys = load_keys(HostFiles(), str(home() / "credentials.json"))
    except ClawError as error:
        yield "auth", "bad", str(error)
        return
    for ref in candidates(config, None):
        try:
            provider, model = split(ref)
            if provider in backends():
                yield "model", "ok", f"{ref}: through the CLI"
                continue
            options = config.providers.get(provider)
            if provider not in names() and not (options and options.api):
                yield "model", "bad", f"{ref}: no such provider; known are {', '.join(names())}"
                continue
            found = credentials(config, provider, os.environ, keys, now=time.time())
            usable = [c for c in found if c.model in (None, model)]
            what = f"{ref}: {len(usable)} credential{'' if len(usable) == 1 else 's'}"
            yield "model", "ok" if usable else "bad", what
            if provider == "anthropic" and (ends := _end_of_life(model)):
                yield "model", "note", f"{ref} reaches its end of life on {ends}; choose a newer one"
        except ClawError as error:
            yield "model", "bad", f"{ref}: {error}"


def _end_of_life(model: str) -> str | None:
    """The day after which the vendor answers no more for a model, as its SDK has it."""
    try:
        from anthropic._data import DEPRECATED_MODELS
    except ImportError:
        return None
    ends = DEPRECATED_MODELS.get(model)
    return str(ends) if ends else None


def _clis() -> Iterator[Finding]:
    for name in ("claude", "codex", "gemini"):
        where = shutil.which(name)
        yield "cli", "ok" if where else "note", f"{name}: {where or 'not on PATH'}"


def _sessions() -> Iterator[Finding]:
    from claw.host import HostFiles
    from claw.sessions import SessionStore

    infos = SessionStore(HostFiles(), str(home())).list()
    damaged = [info.id for info in infos if info.damaged]
    what = f"{len(infos)} on record" + (f"; with damaged lines: {', '.join(damaged)}" if damaged else "")
    yield "sessions", "note" if damaged else "ok", what


def _has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
