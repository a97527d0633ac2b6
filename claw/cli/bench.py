"""`claw bench …`: runtimes measured side by side over the same workload."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from claw.cli.exec import write

app = typer.Typer(
    help="Measure runtimes side by side; figures are tokens and money, the same on every machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def bench() -> None:
    """Benchmarks by what they measure."""


@app.command()
def cache(
    runtime: Annotated[list[str] | None, typer.Option(help="a runtime under test; repeatable")] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|FILE", help="a workload; repeatable; none: those that come with claw"),
    ] = None,
    seed: Annotated[int, typer.Option(help="decides everything that is chance")] = 0,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="write the results as JSON; `-` is stdout")] = None,
) -> None:
    """How well the prompt cache is used: hit ratio, money against ideal money, and every break with its cause.

    Exit: 0 all were played, 1 a workload could not be played to its end, 2 bad input.
    """
    from claw.lab import bench as lab
    from claw.lab import runner, runtimes
    from simulators.core.document import DocumentError, nearest

    known = runtimes.kinds()
    chosen = list(dict.fromkeys(runtime or runtimes.DEFAULT))
    for name in chosen:
        if name not in known:
            near = nearest(name, known)
            _refuse(f"there is no runtime `{name}`; " + (f"did you mean `{near}`?" if near else f"{', '.join(known)}"))
    if json not in (None, "-") and not Path(str(json)).absolute().parent.is_dir():
        _refuse(f"--json {json}: there is no folder {Path(str(json)).absolute().parent}")
    try:
        named = lab.workloads(workload or ())
    except (DocumentError, FileNotFoundError) as error:
        _refuse(str(error))
    try:
        rows = list(lab.cache([known[name] for name in chosen], named, seed=seed))
    except runner.Failed as error:
        typer.echo(f"claw bench: {error}", err=True)
        raise typer.Exit(1) from None
    for line in lab.table(rows):
        typer.echo(line, err=json == "-")
    write(lab.to_json(rows), json)
    raise typer.Exit(1 if any(row.problems for row in rows) else 0)


@app.command()
def throughput(
    rounds: Annotated[int, typer.Option(min=1, help="rounds; figures are their medians")] = 3,
    seconds: Annotated[float, typer.Option(min=0.1, help="seconds a measurement")] = 2.0,
    streams: Annotated[int, typer.Option(min=0, help="slow streams at once, for their pace; 0: not measured")] = 0,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="write the results as JSON; `-` is stdout")] = None,
) -> None:
    """How fast the simulators answer on this machine, beside a bare uvicorn app that sends as much.

    Exit: 0 measured, 1 a server failed, 2 bad input.
    """
    from claw.core.errors import ClawError
    from claw.lab import throughput as lab

    if json not in (None, "-") and not Path(str(json)).absolute().parent.is_dir():
        _refuse(f"--json {json}: there is no folder {Path(str(json)).absolute().parent}")
    if sys.stderr.isatty():
        typer.echo(f"some {2 * 2 * 2 * rounds * (seconds + 0.5):.0f} s …", err=True)
    try:
        found = lab.run(rounds=rounds, seconds=seconds, streams=streams)
    except (ClawError, OSError) as error:
        typer.echo(f"claw bench: {error}", err=True)
        raise typer.Exit(1) from None
    for line in lab.table(found):
        typer.echo(line, err=json == "-")
    write(lab.to_json(found), json)


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw bench: {message}", err=True)
    raise SystemExit(2)
