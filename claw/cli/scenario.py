"""`claw scenario …`: run, list, show and write scenarios. `claw test` is `claw scenario run`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from claw.lab.loader import Plan
    from claw.lab.results import Result

app = typer.Typer(
    help="Scripted stories of one failure each, played against a runtime.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
Places = Annotated[list[Path] | None, typer.Argument(metavar="[PATH]...", help="files or folders; none: the library")]
Only = Annotated[
    str | None, typer.Option(metavar="PATTERN", help="only scenarios whose name matches (cache/*, *clock*)")
]
Area = Annotated[str | None, typer.Option(help="only scenarios of this area")]


@app.command()
def run(
    paths: Places = None,
    runtime: Annotated[list[str] | None, typer.Option(help="a runtime under test; repeatable")] = None,
    only: Only = None,
    area: Area = None,
    seed: Annotated[int, typer.Option(help="decides everything that is chance")] = 0,
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="processes at once")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="print the results as one JSON object")] = False,
    junit: Annotated[Path | None, typer.Option(help="write JUnit XML there")] = None,
    html: Annotated[Path | None, typer.Option(help="write a page there")] = None,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="stop at the first failure")] = False,
) -> None:
    """Play scenarios and tell what held. Exit: 0 as expected, 1 something failed, 2 bad input or nothing checked."""
    import time

    from claw.lab import reports, results

    began = time.perf_counter()
    kinds = _runtimes(runtime)
    plans = _plans(paths, only, area)
    for target in (junit, html):
        if target is not None and not target.absolute().parent.is_dir():
            _refuse(f"{target}: there is no folder {target.absolute().parent}")
    played = list(_show(plans, kinds, _play(plans, kinds, jobs, seed, fail_fast), quiet=as_json, began=began))
    if junit is not None:
        junit.write_bytes(reports.junit(played))
    if html is not None:
        html.write_bytes(reports.html(played))
    if as_json:
        sys.stdout.buffer.write(results.to_json(played))
        sys.stdout.flush()
    raise typer.Exit(results.exit_code(played))


@app.command("list")
def list_scenarios(
    paths: Places = None,
    only: Only = None,
    area: Area = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a JSON array")] = False,
) -> None:
    """What scenarios there are, and what each is about."""
    from claw.lab.loader import Plan

    plans = _plans(paths, only, area)
    first: dict[str, Plan] = {}
    for plan in plans:
        first.setdefault(plan.name, plan)
    if as_json:
        import msgspec

        rows = [_row(plan, [p.variant for p in plans if p.name == name]) for name, plan in first.items()]
        typer.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return
    width = max(map(len, first))
    for name, plan in first.items():
        typer.echo(f"{name:<{width}}  {' '.join(plan.scenario.about.split())}")


@app.command()
def show(name: Annotated[str, typer.Argument(help="a name from `claw scenario list`, or a file")]) -> None:
    """Print a scenario file."""
    path = Path(name)
    if not path.is_file():
        from difflib import get_close_matches

        known = {plan.name: plan.path for plan in _plans(None, None, None)}
        if name not in known:
            near = get_close_matches(name, known, n=1)
            _refuse(f"there is no scenario `{name}`" + (f"; did you mean `{near[0]}`?" if near else ""))
        path = Path(known[name])
    typer.echo(path.read_text(), nl=False)


@app.command()
def new(
    path: Annotated[Path, typer.Argument(help="the file to write, such as mine/forgets-its-name.yaml")],
    area: Annotated[str, typer.Option(help="what it is about")] = "session",
) -> None:
    """Write a scenario that runs, to be changed into yours. Never overwrites."""
    from claw.lab.schema import AREAS
    from claw.lab.template import text

    if area not in AREAS:
        _refuse(f"there is no area `{area}`; there are {', '.join(AREAS)}")
    if path.suffix not in (".yaml", ".yml"):
        _refuse(f"{path}: a scenario file ends in .yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text(area))
    except FileExistsError:
        _refuse(f"{path} is there already")
    typer.echo(f"{path} is written; play it with: claw scenario run {path}")


def _plans(paths: Sequence[Path] | None, only: str | None, area: str | None) -> "list[Plan]":
    """The scenarios asked for, or exit 2 with what is wrong."""
    from fnmatch import fnmatchcase

    from claw.lab import library
    from claw.lab.loader import load_all
    from claw.lab.schema import AREAS
    from simulators.core.document import DocumentError

    if area is not None and area not in AREAS:
        from difflib import get_close_matches

        near = get_close_matches(area, AREAS, n=1)
        _refuse(f"there is no area `{area}`" + (f"; did you mean `{near[0]}`?" if near else f"; {', '.join(AREAS)}"))
    try:
        plans = load_all(paths or [library.folder()])
    except (DocumentError, FileNotFoundError) as error:
        _refuse(str(error))
    if only is not None:
        patterns = (only, f"*/{only}", f"*{only}*" if "*" not in only else only)
        plans = [plan for plan in plans if any(fnmatchcase(plan.name, pattern) for pattern in patterns)]
    if area is not None:
        plans = [plan for plan in plans if plan.scenario.area == area]
    if not plans:
        _refuse(
            "no scenario is left: " + " and ".join(filter(None, [only and f"--only {only}", area and f"--area {area}"]))
        )
    return plans


def _runtimes(names: Sequence[str] | None) -> list[Any]:
    from difflib import get_close_matches

    from claw.lab import runtimes
    from simulators.core.document import DocumentError

    chosen = []
    for name in dict.fromkeys(names or runtimes.DEFAULT):
        try:
            chosen.append(runtimes.named(name))
        except KeyError:
            known = [*runtimes.kinds(), *runtimes.presets()]
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else "."
            _refuse(f"there is no runtime `{name}`{hint} There are {', '.join(known)}, and files that describe one.")
        except DocumentError as error:
            _refuse(str(error))
    return chosen


def _play(plans: "Sequence[Plan]", kinds: Sequence[Any], jobs: int, seed: int, fail_fast: bool) -> "Iterator[Result]":
    if jobs > 1:
        from claw.lab import pool

        return pool.run(plans, [kind.source or kind.name for kind in kinds], jobs=jobs, seed=seed, fail_fast=fail_fast)
    from claw.lab import runner

    return runner.run(plans, kinds, seed=seed, fail_fast=fail_fast)


def _show(
    plans: "Sequence[Plan]", kinds: Sequence[Any], played: "Iterator[Result]", *, quiet: bool, began: float
) -> "Iterator[Result]":
    """Print each result as it comes, on a terminal with a line that says what is being played."""
    import time

    from claw.lab.table import Table

    names = [plan.name + (f" [{plan.variant}]" if plan.variant else "") for plan in plans]
    table = Table(names, [kind.name for kind in kinds], colour=sys.stdout.isatty())
    total, done = len(plans) * len(kinds), []
    live = sys.stderr.isatty()
    if not quiet:
        typer.echo(table.head())
    for result in _ticking(played, total, live=live):
        done.append(result)
        if not quiet:
            typer.echo(table.line(result))
            typer.echo(table.reasons(result), nl=False)
        yield result
    if not quiet:
        typer.echo(table.foot(done, time.perf_counter() - began))


def _ticking(played: "Iterator[Result]", total: int, *, live: bool) -> "Iterator[Result]":
    """Before each result, on a terminal, how far it is."""
    for n in range(total + 1):
        if live and n < total:
            sys.stderr.write(f"\r\x1b[2K{n}/{total} played")
            sys.stderr.flush()
        result = next(played, None)
        if live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
        if result is None:
            return
        yield result


def _row(plan: "Plan", variants: list[str]) -> dict[str, Any]:
    scenario = plan.scenario
    return {
        "scenario": plan.name,
        "area": scenario.area,
        "about": " ".join(scenario.about.split()),
        "source": list(scenario.source),
        "needs": list(scenario.needs),
        "variants": [name for name in variants if name],
        "known_bad": len(scenario.known_bad),
        "file": plan.path,
    }


def _refuse(message: str) -> NoReturn:
    typer.echo(f"claw: {message}", err=True)
    raise typer.Exit(2)
