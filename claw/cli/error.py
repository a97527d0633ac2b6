"""`claw error …`: what an error is, what claw would do about it, and which ones the simulators know."""

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


@app.command("list")
def list_(
    kind: Annotated[str | None, typer.Option(help="only what is this: context_overflow, rate_limited …")] = None,
    dialect: Annotated[str | None, typer.Option(help="only what comes on this API: anthropic, openai-chat …")] = None,
    json: Annotated[bool, typer.Option("--json", help="print all fields of the entries")] = False,
) -> None:
    """The catalogue of provider errors that the simulators can answer with: name, status, what it is, what it looks
    like."""
    import msgspec

    from simulators.errors import entries

    found = [entry for entry in entries().values() if kind in (None, entry.kind) and dialect in (None, entry.dialect)]
    if not found:
        known = sorted(
            {entry.kind for entry in entries().values()} if kind else {e.dialect for e in entries().values()}
        )
        _refuse(f"no entry fits; there are {', '.join(known)}")
    if json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    wide = max(len(entry.name) for entry in found)
    for entry in found:
        mistaken = f"  looks like {entry.looks_like}" if entry.looks_like else ""
        typer.echo(f"{entry.name:<{wide}}  {entry.status}  {entry.kind:<17}{mistaken}".rstrip())


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="an entry of the catalogue: groq/tpm-413")],
    json: Annotated[bool, typer.Option("--json", help="print the entry as an object")] = False,
) -> None:
    """One entry of the catalogue: status, headers and body as they are sent, what it is and what it looks like."""
    from difflib import get_close_matches

    import msgspec

    from simulators.errors import entries

    entry = entries().get(name)
    if entry is None:
        near = get_close_matches(name, entries(), n=1)
        _refuse(f"no entry is named {name!r}{f'; did you mean {near[0]!r}?' if near else ''} (claw error list)")
    if json:
        typer.echo(msgspec.json.encode(entry).decode())
        return
    typer.echo(f"{entry.name}: {entry.kind}" + (f", looks like {entry.looks_like}" if entry.looks_like else ""))
    if entry.note:
        typer.echo(entry.note)
    typer.echo(f"\nstatus {entry.status} ({entry.dialect})")
    failure = entry.failure()
    for header, value in failure.headers:
        typer.echo(f"{header}: {value}")
    typer.echo()
    body = entry.body
    text = body if isinstance(body, str) else msgspec.json.format(msgspec.json.encode(body)).decode() if body else ""
    typer.echo(text or "(no body)")


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
