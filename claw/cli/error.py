"""`claw error …`: what an error is, and what claw would do about it."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def errors() -> None:
    """What provider errors are."""


@app.command()
def explain(
    body: Annotated[
        str | None, typer.Argument(help="the error's body, JSON or text; `-`: stdin; with --batch a file of lines")
    ] = None,
    provider: Annotated[str | None, typer.Option(help="who answered: anthropic, openai, groq, claude-cli …")] = None,
    status: Annotated[int | None, typer.Option(help="HTTP status; none for a failure in a stream or process")] = None,
    headers: Annotated[str, typer.Option(help="response headers as a JSON object")] = "{}",
    batch: Annotated[bool, typer.Option(help="read JSON lines {provider, status, headers, body}")] = False,
    json: Annotated[bool, typer.Option("--json", help="print {kind, retry_after, replay_safe, action, why}")] = False,
) -> None:
    """Say what an error is and what claw would do: with one profile, no fallback, nothing delivered yet."""
    import msgspec

    if batch:
        for line in _batch(_lines(body)):
            sys.stdout.write(line)
        sys.stdout.flush()
        return
    asked = {
        "provider": provider,
        "status": status,
        "headers": _json(headers, "--headers"),
        "body": _value(_input(body)),
    }
    found = _explained(asked, "the options")
    if json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    typer.echo(f"kind         {found.kind}")
    typer.echo(f"retry after  {'not said' if found.retry_after is None else f'{found.retry_after:g} s'}")
    typer.echo(f"replay safe  {'yes' if found.replay_safe else 'no'}")
    typer.echo(f"action       {found.action}")
    typer.echo(f"why          {found.why}")


def _batch(lines: Iterable[bytes]) -> Iterator[str]:
    """One answer a line. Everything is read before anything is printed, so that a bad line leaves no half output."""
    import msgspec

    answers = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            answers.append(_explained(_json(line, f"line {number}"), f"line {number}"))
    return (msgspec.json.encode(found).decode() + "\n" for found in answers)


def _explained(asked: Any, where: str) -> Any:
    import time

    from claw.core.explain import explain

    if not isinstance(asked, dict):
        _refuse(f"{where}: an object {{provider, status, headers, body}} is wanted, with as many of them as are known")
    provider, status, headers = asked.get("provider"), asked.get("status"), asked.get("headers")
    if provider is not None and not isinstance(provider, str):
        _refuse(f"{where}: provider is a name or null")
    if isinstance(status, bool) or not (status is None or (isinstance(status, int) and 100 <= status <= 599)):
        _refuse(f"{where}: status is an HTTP status from 100 to 599, or null")
    if headers is not None and not isinstance(headers, dict):
        _refuse(f"{where}: headers are a JSON object of names and values")
    return explain(provider, status, headers, asked.get("body"), now=time.time())


def _input(body: str | None) -> str | bytes:
    return sys.stdin.buffer.read() if body == "-" else (body or "")


def _lines(file: str | None) -> list[bytes]:
    if file in (None, "-"):
        return sys.stdin.buffer.read().splitlines()
    try:
        return Path(file).read_bytes().splitlines()
    except OSError as error:
        _refuse(f"{file}: {error.strerror or error}")


def _value(text: str | bytes) -> Any:
    """JSON as a value, anything else as the text that it is."""
    import msgspec

    try:
        return msgspec.json.decode(text) if text.strip() else text
    except msgspec.DecodeError:
        return text


def _json(text: str | bytes, where: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        _refuse(f"{where}: no JSON: {error}")


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw error: {message}", err=True)
    raise SystemExit(2)
