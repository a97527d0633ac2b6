"""`claw exec -- CMD…`: run any command before the simulators and judge how it took it."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
def exec_(
    command: Annotated[list[str], typer.Argument(metavar="CMD...", help="the command and its arguments, after `--`")],
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", help="account document: what the providers answer; none: a persona")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="a cassette that answers; what it does not have is refused")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="let the real providers answer; CMD keeps its own keys")] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="keep what was asked and answered as a cassette")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option(metavar="KIND@CALL[xTIMES]", help="a fault, such as rate_limited@2; repeatable")
    ] = None,
    seed: Annotated[int, typer.Option(help="same seed, same bytes")] = 0,
    expect: Annotated[
        Path | None, typer.Option(metavar="FILE", help="`expect:` as a scenario has it, checked afterwards")
    ] = None,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="be an HTTPS proxy too, for a command whose base URL cannot be set")
    ] = False,
    github: Annotated[bool, typer.Option("--github", help="annotate what is bad for GitHub Actions")] = False,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="write the report as JSON; `-` is stdout")] = None,
) -> None:
    """Run CMD with every provider's base URL and key pointing at simulated providers, then say how it behaved.

    CMD keeps its own stdin, stdout and stderr. Calls, verdict, cache and cost are told on stderr.
    Exit: CMD's own code, or 1 when the verdict is bad or an expectation does not hold; 2 bad input.
    """
    from claw.core.errors import ClawError
    from claw.lab import exec as lab
    from claw.lab import expectations, judgement
    from simulators.core.document import DocumentError

    if json not in (None, "-") and not Path(str(json)).absolute().parent.is_dir():
        _refuse(f"--json {json}: there is no folder {Path(str(json)).absolute().parent}")
    if len(sources := [n for n, given in (("--script", script), ("--replay", replay), ("--live", live)) if given]) > 1:
        _refuse(f"{' and '.join(sources)} exclude each other: one of them answers")
    if live and (fault or proxy):
        _refuse(f"--live does not go with {'--fault' if fault else '--proxy'}; record first, then use it with --replay")
    if record and proxy:
        _refuse("--record keeps what goes to base URLs, --proxy is for commands that have none")
    try:
        plan = None if expect is None else expectations.read_expectations(expect)
        if live:
            ran = lab.run_live(command, record=record)
        else:
            ran = lab.run(
                command, script=script, replay=replay, record=record, faults=fault or (), seed=seed, proxy=proxy
            )
    except OSError as error:
        _refuse(f"{expect}: {error.strerror or error}")
    except (ClawError, DocumentError) as error:
        _refuse(str(error))
    held = [] if plan is None else expectations.look(plan, ran.exchanges, exit=ran.exit)
    found = ran.judgement
    typer.echo(f"claw exec: {command[0]} ended with {ran.exit} after {found.calls} calls", err=True)
    for line in judgement.text(found, ran.exchanges):
        typer.echo(line, err=True)
    for one in held:
        typer.echo(f"expected {one.check}: {one.status}: {one.saw}", err=True)
    for problem in ran.problems:
        typer.echo(f"{'cassette' if live or replay else 'script'}: {problem}", err=True)
    if not found.calls:
        typer.echo("the command made no call; does it read ANTHROPIC_BASE_URL, OPENAI_BASE_URL or such?", err=True)
    if github:
        for line in judgement.annotations(found):
            typer.echo(line, err=True)
    write(found.to_json(), json)
    unmet = bool(ran.problems) and (live or replay is not None)  # a recording is to be used up, and to be whole
    failed = unmet or found.bad or any(one.status != "pass" for one in held)
    raise typer.Exit(1 if failed else ran.exit)


def write(data: bytes, target: str | None) -> None:
    """To a file, whole or not at all; `-` is stdout; None is nowhere."""
    if target is None:
        return
    if target == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    from claw.host import HostFiles

    try:
        HostFiles().write(str(Path(target).absolute()), data)
    except OSError as error:
        _refuse(f"--json {target}: {error.strerror or error}")


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw exec: {message}", err=True)
    raise SystemExit(2)
