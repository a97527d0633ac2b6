"""`claw cache explain FILE`: where the prompt cache broke, why, and what it cost."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

app = typer.Typer(
    help="Questions about the prompt cache.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)


@app.callback()
def cache() -> None:
    """Questions about the prompt cache."""


@app.command()
def explain(
    file: Annotated[str, typer.Argument(help="a journal, or requests as JSON lines; `-` is stdin")],
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Say of every break its place, cause and price. Exit: 0, or 2 for what cannot be read or has nothing to tell."""
    from claw.core.errors import ClawError
    from claw.lab import cache_explain as lab

    source = "stdin" if file == "-" else file
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        told = lab.explain(data, source=source)
        lab.require_something(told, source)
    except OSError as error:
        _refuse(f"{file}: {error.strerror or error}")
    except ClawError as error:
        _refuse(str(error))
    if json:
        import msgspec

        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n")
        sys.stdout.flush()
        return
    share = "nothing could be read" if told.hit_of_ideal is None else f"{told.hit_of_ideal:.1%} of what could be read"
    typer.echo(
        f"{told.requests} requests: {share}; ${told.cost_usd:.6f}, with a perfect cache ${told.ideal_cost_usd:.6f}"
    )
    for place in told.breaks:
        price = f"{place.lost_tokens:,} tokens, ${place.cost_usd:.6f}"
        typer.echo(f"  request {place.n} at {place.at}: {place.why}; {price} ({place.certainty})")
    if told.unknown:
        typer.echo(f"  not answered, so unknown: {', '.join(map(str, told.unknown))}")


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw cache: {message}", err=True)
    raise SystemExit(2)
