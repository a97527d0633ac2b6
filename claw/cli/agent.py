"""`claw agent PROMPT`: ask the agent one thing and print its reply."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claw.cli.home import home, load_config, refuse, told

if TYPE_CHECKING:
    from claw.runtime.config import Config
    from claw.runtime.result import RunResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)
COMMAND = "claw agent"


@app.command()
def agent(
    prompt: Annotated[str, typer.Argument(help="what to ask; - reads it from stdin")],
    model: Annotated[str | None, typer.Option(metavar="PROVIDER/MODEL", help="which model answers")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="go on in this session; made if new")] = None,
    workspace: Annotated[Path | None, typer.Option(metavar="DIR", help="the folder the agent works in")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the result as one JSON object")] = False,
    stream_json: Annotated[
        bool, typer.Option("--stream-json", help="print a JSON line for everything that happens, the result last")
    ] = False,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="where the provider is, for this run")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="its key, for this run")] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="ID", help="use this credential and no other; see `claw auth list`")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="instead of $CLAW_HOME/config.toml")] = None,
) -> None:
    """Ask the agent one thing. Exit: 0 answered, 1 the run failed, 2 bad input, 130 interrupted."""
    if as_json and stream_json:
        refuse(
            COMMAND,
            "--json and --stream-json are two ways of printing; choose one (--stream-json ends with the object)",
        )
    if config is not None and not config.is_file():
        refuse(COMMAND, f"--config {config}: there is no such file")
    if workspace is not None and not workspace.is_dir():
        refuse(COMMAND, f"--workspace {workspace}: there is no such folder; make it first")
    with told(COMMAND):
        settings = load_config(config or home() / "config.toml")
        settings = overridden(settings, model or settings.model.primary, base_url=base_url, key=key)
        result = _answer(
            sys.stdin.read() if prompt == "-" else prompt,
            settings,
            emit=_print_line if stream_json else None,
            options={
                "session": session,
                "workspace": str(workspace.absolute()) if workspace else None,
                "model": model,
                "profile": profile,
            },
        )
        _report(result, as_json=as_json or stream_json)
    raise SystemExit(1 if result.failure else 0)


def overridden(config: "Config", model: str, *, base_url: str | None, key: str | None) -> "Config":
    """`config` with the address and key of the flags, for the provider of `model`."""
    import msgspec

    from claw.runtime.config import Profile, ProviderOptions

    provider = model.partition("/")[0]
    if base_url is not None:
        options = config.providers.get(provider, ProviderOptions())
        changed = {**config.providers, provider: msgspec.structs.replace(options, base_url=base_url)}
        config = msgspec.structs.replace(config, providers=changed)
    if key is not None:
        others = tuple(p for p in config.profiles if p.provider != provider)
        config = msgspec.structs.replace(config, profiles=(Profile(id="flag", provider=provider, key=key), *others))
    return config


def _answer(
    prompt: str, config: "Config", *, emit: Callable[[dict[str, Any]], None] | None, options: dict[str, Any]
) -> "RunResult":
    """One run on the real ports. Interrupted, the session is closed properly before the command ends."""
    from claw import cli_backends, host
    from claw.runtime.agent import Agent

    where = home()
    where.mkdir(parents=True, exist_ok=True, mode=0o700)
    if options["workspace"] is None:
        (where / "workspace").mkdir(exist_ok=True)

    async def run() -> "RunResult":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)  # type: ignore[union-attr]
        runner = Agent(host.ports(), config, str(where), cli_backends.load(), dict(os.environ), emit)
        try:
            return await runner.run(prompt, **options)
        finally:
            await runner.close()

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise SystemExit(143) from None
    except TimeoutError as error:
        sys.stderr.write(f"{COMMAND}: the session is in use: {error}\n")
        raise SystemExit(1) from None


def _print_line(event: dict[str, Any]) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
    sys.stdout.flush()


def printed(reply: str) -> str:
    """A reply as it is shown: without blank lines around it."""
    return reply.strip("\n")


def _report(result: "RunResult", *, as_json: bool) -> None:
    import msgspec

    if as_json:
        sys.stdout.write(msgspec.json.encode(result).decode() + "\n")
        return
    if text := printed(result.reply):
        sys.stdout.write(text + "\n")
    if result.failure:
        sys.stderr.write(f"{COMMAND}: {result.failure.kind}: {result.failure.message}\n")
