"""`claw fake`: the CLI fakes as commands on PATH."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

app = typer.Typer(help="Fakes of the agent CLIs, to put on PATH.", no_args_is_help=True, add_completion=False)


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw fake: {message}", err=True)
    raise SystemExit(2)


def _versions(said: list[str]) -> dict[str, str]:
    """`claude=2.1.19` words, checked."""
    from simulators.cli.config import VERSIONS_OF
    from simulators.core.document import nearest

    chosen: dict[str, str] = {}
    for word in said:
        name, equals, version = word.partition("=")
        if not equals:
            _refuse(f"--version {word}: write it as NAME=VERSION, like claude={VERSIONS_OF['claude'][0]}")
        if name not in VERSIONS_OF:
            near = nearest(name, VERSIONS_OF)
            hint = f"; did you mean `{near}`?" if near else f"; there are {', '.join(VERSIONS_OF)}"
            _refuse(f"--version {word}: there is no fake of `{name}`{hint}")
        if version not in VERSIONS_OF[name]:
            _refuse(f"--version {word}: known versions of {name} are {', '.join(VERSIONS_OF[name])}")
        chosen[name] = version
    return chosen


@app.command()
def install(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the commands; made if need be.")],
    version: Annotated[list[str] | None, typer.Option(help="NAME=VERSION, such as claude=2.1.19; repeatable.")] = None,
    platform: Annotated[
        str | None, typer.Option(help="posix or windows (NAME, NAME.cmd and NAME.ps1 for each); by itself: this one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a small program for each fake into DIR; put DIR first on PATH to use them."""
    from simulators.shells import shims

    chosen = _versions(version or [])
    if platform not in (None, "posix", "windows"):
        _refuse(f"--platform {platform}: there are posix and windows")
    if directory.exists() and not directory.is_dir():
        _refuse(f"{directory} is a file; name a folder")
    try:
        written = shims.install(directory, chosen, platform=platform)
    except OSError as error:
        _refuse(f"{directory}: {error.strerror or error}")
    if as_json:
        typer.echo(json.dumps({"installed": written}))
        return
    for row in written:
        typer.echo(f"{row['path']}  {row['name']} {row['version']}")
    typer.echo(f"Use them with: export PATH={shlex.quote(str(directory.resolve()))}:$PATH")


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the fakes and the versions that they can play."""
    from simulators.cli.config import DEFAULTS, VERSIONS_OF
    from simulators.cli.start import BASE_URLS

    rows: list[dict[str, Any]] = [
        {"name": name, "versions": list(versions), "default": DEFAULTS[name], "base_url_variable": BASE_URLS.get(name)}
        for name, versions in VERSIONS_OF.items()
    ]
    if as_json:
        typer.echo(json.dumps({"fakes": rows}))
        return
    for row in rows:
        typer.echo(
            f"{row['name']}  {', '.join(row['versions'])} (default {row['default']})  "
            f"{row['base_url_variable'] or 'openai_base_url in config.toml'}"
        )
