"""The pages of docs/ are true: their commands run, their documents are read, their tables are those of the code."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest

from tests.gates.markdown import ROOT, Block, Section, sections, table
from tests.gates.pages import faults_of, pages, runnable

DOCS = ROOT / "docs"
SLOW = ("pytest.md", "exec.md", "scenarios.md", "cli-fakes.md")  # pages whose commands start many processes


def page(name: str) -> str:
    return (DOCS / name).read_text()


def runs() -> list[Any]:
    """Every section of docs/ that has commands."""
    return [
        pytest.param(section, marks=[pytest.mark.slow] * (path.name in SLOW), id=f"{path.name}: {section.title}")
        for path in pages()
        if path.parent == DOCS
        for section in runnable(path)
    ]


@pytest.mark.parametrize("section", runs())
def test_the_pages_do_as_they_say(section: Section, tmp_path: Path) -> None:
    faults = faults_of(section, tmp_path)
    assert not faults, "\n".join(faults)


# --- documents -----------------------------------------------------------------------------------------------------


def documents() -> list[Any]:
    """Every YAML and TOML block of every page."""
    found = [
        pytest.param(block, id=f"{path.name}:{block.line}")
        for path in pages()
        for section in sections(path.read_text())
        for block in section.blocks
        if block.language in ("yaml", "toml")
    ]
    assert len(found) > 10
    return found


def read(block: Block, folder: Path) -> str:
    """Load a document as what it is, and say what that was. Raises what the loader raises."""
    from claw.lab.bench import read_workload
    from claw.lab.expectations import read_expectations
    from claw.lab.loader import load_file
    from claw.lab.runtimes._file import load
    from claw.runtime.config import parse_config
    from simulators import Simulator
    from simulators.cli.config import parse_config as parse_fake
    from simulators.core.document import load_yaml

    if block.language == "toml":
        parse_config(block.text, str(block.file))
        return "config.toml"
    file = folder / Path(str(block.file)).name
    file.write_text(block.text)
    keys = set(load_yaml(block.text, source=str(file)).data)
    readers: dict[str, tuple[set[str], Callable[[], Any]]] = {
        "scenario": ({"about", "steps", "expect"}, lambda: load_file(file)),
        "workload": ({"about", "steps"}, lambda: read_workload(file)),
        "runtime": ({"command"}, lambda: load(file)),
        "expectations": ({"expect"}, lambda: read_expectations(file)),
        "fake": ({"answer"}, lambda: parse_fake(block.text)),
        "account": (set(), lambda: Simulator(script=load_yaml(block.text, source=str(file)))),
    }
    kind, reader = next((kind, reader) for kind, (marks, reader) in readers.items() if marks <= keys)
    reader()
    return kind


WRONG = "wrong.yaml"  # the one that a page shows being refused


@pytest.mark.parametrize("block", documents())
def test_a_document_is_read_by_the_loader(block: Block, tmp_path: Path) -> None:
    from simulators.core.document import DocumentError

    assert block.file is not None, "a document begins with the name of its file, as a comment"
    if block.file == WRONG:
        with pytest.raises(DocumentError, match="did you mean"):
            read(block, tmp_path)
    else:
        assert read(block, tmp_path)


# --- tables --------------------------------------------------------------------------------------------------------


def first(rows: list[list[str]]) -> list[str]:
    return [row[0] for row in rows]


def fields(struct: Any) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def test_faults() -> None:
    """Kind, phase and keys with their defaults, as `simulators/faults` has them."""
    from simulators import faults

    def key(field: Any) -> str:
        value = "none" if field.default is None else "forever" if field.default == float("inf") else field.default
        return f"{field.name} ({value})"

    known = {
        kind: (found.PHASE, ", ".join(key(field) for field in msgspec.structs.fields(found.Params)))
        for kind, found in faults.load().items()
    }
    assert {row[0]: (row[1], row[2]) for row in table(page("simulators.md"), "Faults")} == known


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Document keys", "AccountFile"),
        ("Conditions", "WhenTable"),
        ("Turns", "TurnTable"),
        ("Limits", "Limits"),
        ("Cache", "CacheRules"),
        ("Pacing", "Pacing"),
    ],
)
def test_the_account_document(heading: str, name: str) -> None:
    from simulators.core import account_file

    assert set(first(table(page("simulators.md"), heading))) == fields(getattr(account_file, name))


def test_kinds_of_error_of_a_turn() -> None:
    from simulators.core.account_document import ERROR_KINDS

    told = page("simulators.md").partition("Kinds of `error` are ")[2].partition(". ")[0]
    assert tuple(re.findall(r"[a-z_]{4,}", told)) == ERROR_KINDS


def test_the_journal() -> None:
    from simulators.core.journal import Exchange

    known = (fields(Exchange) - {"body", "answer", "took"}) | {"request"}  # those two are told of one exchange alone
    assert set(first(table(page("simulators.md"), "The journal"))) == known


def test_the_control_api_knows_each_call() -> None:
    """Each call of the table is answered with 200 by a server."""
    import httpx2

    from simulators import Simulator
    from simulators.shells.serving import ServedOnThread

    rows = first(table(page("simulators.md"), "The control API"))
    with ServedOnThread(Simulator().app()) as served, httpx2.Client(base_url=served.url) as client:
        for row in rows:
            client.put("/__sim__/accounts/KEY", content=b"{}")
            method, path = row.replace("{key}", "KEY").split(" ")
            body = b'{"advance": 1}' if path.endswith("clock") else b"{}"
            answer = client.request(method, path.replace("after=N", "after=0"), content=body)
            assert answer.status_code == 200, (row, answer.text)
    assert len(rows) == 7


def test_checks_of_the_verdict() -> None:
    from simulators import verdict

    assert sorted(first(table(page("exec.md"), "The checks"))) == sorted(verdict.checks())


def test_options_of_exec() -> None:
    import typer.main

    from claw.cli.exec import app

    known = {option.opts[0] for option in typer.main.get_command(app).params if option.opts[0].startswith("--")}
    assert {name.split(" ")[0] for name in first(table(page("exec.md"), "Running a command"))} == known - {"--help"}


def test_checks_of_scenarios() -> None:
    """Each check with the keys that it takes."""
    from claw.lab import checks

    told = {row[0]: set(filter(None, row[1].split(", "))) for row in table(page("scenarios.md"), "Checks")}
    assert told == {name: _keys(checks.load(name).Params) for name in checks.names()}


def _keys(params: Any) -> set[str]:
    """The keys of what a check takes, also of one that takes them by name of a file or beside a plain value."""
    if isinstance(params, type) and issubclass(params, msgspec.Struct):
        return fields(params)
    inner = get_args(params)[1:] if get_origin(params) is dict else get_args(params)
    return set().union(*map(_keys, inner)) if inner else set()


def test_invariants_mutations_needs_areas_and_steps() -> None:
    from claw.lab import invariants, mutations
    from claw.lab.schema import AREAS, NEEDS, Scenario, Step
    from simulators import verdict

    text = page("scenarios.md")
    assert set(first(table(text, "Invariants"))) == set(invariants.names()) - set(verdict.checks())
    assert set(first(table(text, "Known-bads"))) == set(mutations.names())
    assert set(first(table(text, "Steps"))) == fields(Step)
    keys = table(text, "A whole scenario")
    assert set(first(keys)) == fields(Scenario)
    assert {row[0]: row[1] for row in keys}["area"].replace(" or ", ", ").split(", ") == list(AREAS)
    told = text.partition("The words of `needs` are")[2].partition("\n\n")[0]
    assert re.findall(r"`([a-z_]+)`", told) == list(NEEDS)


def test_runtime_files() -> None:
    from claw.lab.runtimes._file import PLACES, RuntimeFile

    text = page("scenarios.md")
    assert set(first(table(text, "Runtimes of your own"))) == fields(RuntimeFile)
    assert tuple(re.findall(r"`\{([a-z]+)\}`", text.partition("Places in `command`")[2])) == PLACES


def test_settings() -> None:
    """Names, values and defaults as the configuration has them; each fault is a known-bad of the scenario named."""
    from claw.lab import library
    from claw.lab.loader import load_all
    from claw.runtime.config import Settings

    rows = table(page("runtime.md"), "Settings")
    hints = get_type_hints(Settings)
    known = {
        field.name: (
            ", ".join(["true", "false"] if hints[field.name] is bool else get_args(hints[field.name])),
            str(field.default).lower(),
        )
        for field in msgspec.structs.fields(Settings)
    }
    assert {row[0]: (row[1], row[2]) for row in rows} == known
    shown: dict[str, list[tuple[str, str]]] = {}
    for plan in load_all([library.folder()]):
        for bad in plan.scenario.known_bad:
            settings = ((bad.patch or {}).get("given") or {}).get("runtime") or {}
            shown.setdefault(plan.name, []).extend((name, str(value).lower()) for name, value in settings.items())
    for name, _, _, fault, scenario in rows:
        if fault:
            assert (name, fault.split("`")[0].strip()) in shown.get(scenario, []), (name, scenario)


def test_config_toml() -> None:
    from claw.runtime import config

    told = {row[0].removesuffix(".X"): row[1] for row in table(page("runtime.md"), "config.toml")}
    assert set(told) == fields(config.Config)
    structs = {
        "model": config.ModelChoice, "profiles": config.Profile, "providers": config.ProviderOptions,
        "cli": config.CliOptions, "compaction": config.CompactionOptions, "retry": config.RetryOptions,
        "queue": config.QueueOptions, "timeouts": config.Timeouts, "tools": config.ToolOptions,
        "agents": config.AgentOptions,
    }  # fmt: skip
    for name, struct in structs.items():
        assert set(told[name].split(", ")) == fields(struct), name


def test_cli_fakes() -> None:
    from simulators.cli import config

    text = page("cli-fakes.md")
    assert set(first(table(text, "Keys of the document"))) == fields(config.FakeConfig)
    assert first(table(text, "Misbehaviour")) == list(get_args(config.Kind))
    for version in config.VERSIONS_OF["claude"]:
        assert f"| {version} " in text


def test_the_error_catalogue() -> None:
    from claw.core.errors import FailureKind
    from simulators.errors import entries

    text = page("errors.md")
    assert first(table(text, "Kinds of failure")) == [kind.value for kind in FailureKind]
    known = [[entry.name, str(entry.status), entry.kind] for entry in entries().values()]
    assert [row[:3] for row in table(text, "The catalogue")] == known


def test_calibrations() -> None:
    from simulators.core.tokens import CALIBRATIONS

    rows = table(page("tokens.md"), "How the fit is made")
    known = {
        name: [float(figure) for figure in msgspec.structs.astuple(row) if isinstance(figure, int | float)]
        for name, row in CALIBRATIONS.items()
    }
    assert {row[0]: list(map(float, row[1:])) for row in rows} == known


def test_what_claw_sim_has() -> None:
    from simulators.pytest_plugin import ClawSim

    known = {name for name in vars(ClawSim) if not name.startswith("_")} | {"simulator", "key", "url"}
    assert {name.partition("(")[0] for name in first(table(page("pytest.md"), "What claw_sim has"))} == known


# --- pages ---------------------------------------------------------------------------------------------------------


def test_every_page_is_in_the_index() -> None:
    assert {Path(link).name for link in re.findall(r"\]\(([\w-]+\.md)\)", page("README.md"))} == {
        path.name for path in DOCS.glob("*.md")
    } - {"README.md"}


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """To a file that is there, and to a heading that is in it."""
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith("http"):
            continue
        file, _, heading = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        if heading:
            assert heading in map(_anchor, re.findall(r"^#+ (.+)$", target.read_text(), re.M)), link


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
