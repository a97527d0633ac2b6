"""`claw cassette …`: record, look at, check, scrub, migrate, import and compare recorded traffic."""

import json as json_module
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from simulators.cassettes.format import Cassette

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Recorded traffic that vcrpy reads."
)
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
Out = Annotated[Path, typer.Option("--out", metavar="DST", help="where the result goes; written whole or not at all")]


@app.command()
def record(
    upstream: Annotated[str, typer.Option(metavar="URL", help="the provider, such as https://api.anthropic.com")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="the cassette")],
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one")] = 0,
    mode: Annotated[
        str, typer.Option(help="as vcrpy has them: all (anew), new_episodes (add what is new), once (only a new file)")
    ] = "all",
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="permit an address off loopback")] = False,
    json: Json = False,
) -> None:
    """Pass requests on to a provider and keep what was asked and answered, until SIGTERM or Ctrl-C.

    When ready, one JSON line on stdout: {"url", "pid", "out"}. What was recorded is told on stderr.
    Exit: 0, 1 when something could not be recorded, 2 bad input.
    """
    from simulators.cassettes.recording import Session
    from simulators.shells.http import bind
    from simulators.shells.recording import RecordingProxy
    from simulators.shells.serving import is_loopback, serve

    if not upstream.startswith(("http://", "https://")) or not upstream.split("://", 1)[1].strip("/"):
        _refuse(f"--upstream {upstream}: a URL is needed, such as https://api.anthropic.com")
    if mode not in ("all", "new_episodes", "once"):
        _refuse(f"--mode {mode}: all, new_episodes or once")
    if not allow_remote and not is_loopback(host):
        _refuse(f"{host} is not a loopback address: others could use this proxy; say --allow-remote if meant")
    if mode == "once" and out.exists():
        _refuse(f"{out} is there already: --mode new_episodes adds to it, --mode all replaces it")
    with _told():
        session = Session(out, mode, claw={"origin": "recorded", "by": "claw cassette record", "upstream": upstream})  # type: ignore[arg-type]
    try:
        sock = bind(host, port)
    except OSError as error:
        _refuse(f"cannot listen on {host} port {port}: {error.strerror or error}; --port 0 takes a free one")
    proxy = RecordingProxy(session, {}, default=upstream, told=lambda line: typer.echo(line, err=True))

    def ready(url: str) -> None:
        sys.stdout.write(json_module.dumps({"url": url, "pid": os.getpid(), "out": str(out)}) + "\n")
        sys.stdout.flush()

    with _told():
        serve(proxy, sock, ready=ready)
    recorder = session.recorder
    assert recorder is not None
    if json:
        _print({"file": str(out), "exchanges": len(recorder), "scrubbed": recorder.scrubbed, "failed": proxy.failures})
    else:
        typer.echo(f"{out}: {len(recorder)} exchanges; {_scrubbed(recorder.scrubbed)}", err=True)
    raise SystemExit(1 if proxy.failures else 0)


@app.command()
def inspect(file: Annotated[Path, typer.Argument(help="a cassette")], json: Json = False) -> None:
    """Say what is in a cassette: where it comes from, each request and what came of it."""
    from simulators.cassettes import compare, vcr

    with _told():
        found = compare.summary(vcr.read(file))
    if json:
        _print(found)
        return
    claw = {key: value for key, value in found["claw"].items() if key not in ("format", "scrubbed", "origin")}
    typer.echo(f"{file}: {found['origin'] or 'of unknown origin'}{''.join(f', {k}: {v}' for k, v in claw.items())}")
    for row in found["exchanges"]:
        what = f"{row['method']} {row['uri']}" + (f" ({row['model']})" if row["model"] else "")
        size = f"{row['request_bytes']} → {row['bytes']} bytes"
        frames = "" if row["frames"] is None else f", {row['frames']} frames in {row['seconds'] or 0:.3f} s"
        ended = "" if row["ended"] == "complete" else f", ended: {row['ended']}"
        typer.echo(f"  {row['n']:>3}  {row['status']}  {what}  {size}{frames}{ended}")
    typer.echo(_scrubbed(found["claw"].get("scrubbed") or []))


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="cassettes, or folders of them")],
    json: Json = False,
) -> None:
    """Check that cassettes can be read, replayed and shared. Exit: 0 sound, 1 not, 2 cannot be read."""
    from simulators.cassettes import compare, vcr
    from simulators.shells.recorded_journal import replayed_otherwise

    results = []
    for file in _files(files):
        with _told():
            cassette = vcr.read(file)
            found = compare.problems(cassette, file.read_bytes())
            found += [{"where": f"interactions[{n}]", "what": why} for n, why in replayed_otherwise(cassette)]
        results.append({"file": str(file), "exchanges": len(cassette.exchanges), "problems": found})
    bad = [result for result in results if result["problems"]]
    if json:
        _print({"ok": not bad, "files": results})
    else:
        for result in results:
            problems: Any = result["problems"]
            typer.echo(f"{result['file']}: {'ok' if not problems else f'{len(problems)} problems'}")
            for problem in problems:
                typer.echo(f"  {problem['where']}: {problem['what']}")
    raise typer.Exit(1 if bad else 0)


@app.command()
def scrub(
    src: Annotated[Path, typer.Argument(metavar="SRC", help="a cassette, or a folder of them")],
    out: Out,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="also replace all text by other text of the same tokens and sizes")
    ] = False,
    seed: Annotated[
        str | None, typer.Option(help="with --rewrite: the same words for the same text again; none: never again")
    ] = None,
    json: Json = False,
) -> None:
    """Take keys, tokens and account ids out of a cassette; with --rewrite every word as well.

    A rewritten cassette has the same token counts, prefixes, cache behaviour, sizes and structure.
    """
    from simulators.cassettes import scrub as scrubbing

    def make(cassette: "Cassette") -> "Cassette":
        made = scrubbing.scrub(cassette)
        if rewrite:
            from simulators.cassettes.rewrite import rewritten
            from simulators.shells.vocabulary import o200k_words

            made = rewritten(made, o200k_words(), seed=seed)
        return made

    if seed is not None and not rewrite:
        _refuse("--seed belongs to --rewrite")
    _convert(src, out, make, json)


@app.command()
def migrate(
    src: Annotated[Path, typer.Argument(metavar="SRC", help="a cassette, or a folder of them")],
    out: Out,
    json: Json = False,
) -> None:
    """Bring cassettes that vcrpy cannot read (with `parsed_body`) into the form that it can."""
    from simulators.cassettes.migrate import migrated

    _convert(src, out, migrated, json)


@app.command("import")
def import_(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="what SRC is; `claw cassette import list` lists them")],
    src: Annotated[Path | None, typer.Argument(metavar="SRC")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DST", help="the cassette")] = None,
    json: Json = False,
) -> None:
    """Make a cassette of what another tool has kept: HAR, mitmproxy flows, journals, session files of CLIs."""
    from simulators.cassettes import imports, vcr
    from simulators.cassettes.scrub import scrub

    if kind == "list":
        listed = imports.abouts()
        if json:
            _print(listed)
        else:
            for name, about in listed.items():
                typer.echo(f"{name:<12} {about}")
        return
    if src is None or out is None:
        _refuse("write: claw cassette import KIND SRC --out DST")
    with _told():
        made = scrub(imports.read(kind, _bytes(src), source=str(src)))
        vcr.write(out, made)
    _result([(src, out, made)], json)


@app.command()
def diff(
    left: Annotated[Path, typer.Argument(metavar="A")],
    right: Annotated[Path, typer.Argument(metavar="B")],
    json: Json = False,
) -> None:
    """Say where two cassettes differ in what was asked and answered. Exit: 0 alike, 1 different, 2 bad input."""
    from simulators.cassettes import compare, vcr

    with _told():
        found = compare.difference(vcr.read(left), vcr.read(right))
    if json:
        _print({"same": not found, "differences": found})
    else:
        for one in found:
            typer.echo(f"interactions[{one['n']}].{one['where']}: {one['what']}")
        if not found:
            typer.echo("alike in all that was asked and answered")
    raise typer.Exit(1 if found else 0)


def _convert(src: Path, out: Path, make: "Callable[[Cassette], Cassette]", json: bool) -> None:
    """Write what `make` makes of a cassette, or of each in a folder; nothing if one of them cannot be read."""
    from simulators.cassettes import vcr

    pairs = [(src, out)]
    if src.is_dir():
        pairs = [(file, out / file.relative_to(src)) for file in _files([src])]
    done = []
    with _told():
        for file, target in _progress(pairs):
            done.append((file, target, make(vcr.read(file))))
        for _, target, cassette in done:
            vcr.write(target, cassette)
    _result(done, json)


def _progress(pairs: Sequence[tuple[Path, Path]]) -> Iterator[tuple[Path, Path]]:
    """The pairs, with a count on a terminal."""
    shows = sys.stderr.isatty() and len(pairs) > 1
    for n, pair in enumerate(pairs, 1):
        if shows:
            sys.stderr.write(f"\r{n}/{len(pairs)}")
            sys.stderr.flush()
        yield pair
    if shows:
        sys.stderr.write("\n")


def _result(done: "Sequence[tuple[Path, Path, Cassette]]", json: bool) -> None:
    if json:
        files = [
            {"from": str(f), "to": str(t), "exchanges": len(c.exchanges), "scrubbed": c.claw.get("scrubbed") or []}
            for f, t, c in done
        ]
        _print({"files": files})
        return
    for _, target, cassette in done:
        typer.echo(f"{target}: {len(cassette.exchanges)} exchanges; {_scrubbed(cassette.claw.get('scrubbed') or [])}")


def _scrubbed(listed: Sequence[dict[str, Any]]) -> str:
    if not listed:
        return "nothing had to be scrubbed"
    counts: dict[str, int] = {}
    for one in listed:
        counts[one["what"]] = counts.get(one["what"], 0) + one["times"]
    return "scrubbed: " + ", ".join(f"{what} ×{times}" for what, times in counts.items())


def _files(given: Sequence[Path]) -> list[Path]:
    """The files, and the cassettes in the folders."""
    found: list[Path] = []
    for path in given:
        inside = sorted(file for ending in ("yaml", "yml", "json") for file in path.rglob(f"*.{ending}"))
        if path.is_dir() and not inside:
            _refuse(f"{path}: there is no cassette in it")
        found += inside if path.is_dir() else [path]
    return found


def _bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        _refuse(f"{path}: {error.strerror or error}")


def _print(value: Any) -> None:
    import msgspec

    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    sys.stdout.flush()


@contextmanager
def _told() -> Iterator[None]:
    """What a user has to put right: a line, and exit code 2."""
    from simulators.cassettes.format import CassetteError

    try:
        yield
    except CassetteError as error:
        _refuse(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw cassette: {message}", err=True)
    raise SystemExit(2)
