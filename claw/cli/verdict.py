"""`claw verdict FILE`: judge a saved journal."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def verdict(
    file: Annotated[
        str, typer.Argument(help="a journal: what the control API gives, a JSON list, JSON lines; `-`: stdin")
    ],
    json: Annotated[bool, typer.Option("--json", help="print {exit, calls, verdict, cache, cost_usd}")] = False,
) -> None:
    """Say what a client did wrong, from the requests that it sent. Exit: 0 nothing bad, 1 bad, 2 bad input."""
    from claw.core.errors import ClawError
    from claw.lab import judgement
    from claw.lab.journal_file import read_journal

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        exchanges = read_journal(data, source="stdin" if file == "-" else file)
    except OSError as error:
        _refuse(f"{file}: {error.strerror or error}")
    except ClawError as error:
        _refuse(str(error))
    found = judgement.judge_all(exchanges)
    if json:
        sys.stdout.buffer.write(found.to_json())
        sys.stdout.flush()
    else:
        for line in judgement.text(found, exchanges):
            typer.echo(line)
    raise typer.Exit(1 if found.bad else 0)


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw verdict: {message}", err=True)
    raise SystemExit(2)
