"""The README is true: its commands run and print what it shows, its Python works, `--help` knows each command."""

import re
import subprocess
from pathlib import Path

import pytest

from claw.cli import COMMANDS, main
from tests.gates.markdown import ROOT, Command, Ran, Section, sections
from tests.gates.pages import faults_in, faults_of, runnable

README = ROOT / "README.md"


@pytest.mark.parametrize("section", runnable(README), ids=lambda section: section.title)
def test_the_readme_does_as_it_says(section: Section, tmp_path: Path) -> None:
    faults = faults_of(section, tmp_path)
    assert not faults, "\n".join(faults)


def test_it_begins_with_the_two_commands_and_they_are_what_make_knows() -> None:
    """One command runs the main job, one the tests; both make their own environment."""
    first = "".join(block.text for section in sections(README.read_text())[:1] for block in section.blocks)
    assert "$ make run\n" in first
    assert "$ make test\n" in first
    dry = subprocess.run(["make", "-n", "run", "test"], cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert dry.returncode == 0, dry.stderr
    assert ".venv/bin/claw scenario run\n" in dry.stdout


def test_it_promises_what_is_there() -> None:
    """The table of vendors, CLIs and runtimes names those that the code has, and no other."""
    from claw import cli_backends, providers
    from claw.lab import runtimes
    from simulators import dialects
    from simulators.cli.config import VERSIONS_OF

    told = {row[0]: set(re.findall(r"`([\w:-]+)`", row[1])) for row in rows_of("What is there, and what is not")}
    assert told == {
        "provider APIs that are simulated": set(dialects.load()),
        "CLIs that are faked": set(VERSIONS_OF),
        "providers that the agent calls": set(providers.apis()),
        "CLIs that the agent drives": set(cli_backends.load()),
        "runtimes under test": {*runtimes.kinds(), *runtimes.presets()},
    }


def rows_of(heading: str) -> list[list[str]]:
    """A table of the README with the back ticks left in: cells name several things."""
    text = README.read_text().partition(f"## {heading}")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if row.startswith("| ")][1:]


def test_the_map_names_folders_that_are_there_and_every_one_with_code() -> None:
    """A new folder gets its line; one that is gone loses it. Folders that wait for their code need none."""
    told = {name for row in rows_of("What is where") for name in re.findall(r"`([\w/]+)`", row[0])}
    assert [name for name in told if not (ROOT / name).is_dir()] == []
    having = {
        folder.relative_to(ROOT).as_posix()
        for package in ("claw", "simulators")
        for folder in (ROOT / package).iterdir()
        if any(file.stat().st_size for file in folder.glob("*.py"))
    }
    assert having - told == set()


def leaves() -> list[list[str]]:
    """Every command with its sub-commands, as words."""
    from importlib import import_module

    import typer.main

    found = []
    for name, (module, _) in COMMANDS.items():
        command = typer.main.get_command(import_module(f"claw.cli.{module}").app)
        inside = list(getattr(command, "commands", {})) if name != "test" else []
        found += [[name], *([name, sub] for sub in inside)]
    return found


@pytest.mark.parametrize("words", leaves(), ids=" ".join)
def test_help_of_each_command_works_and_the_pages_name_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    assert "claw" in capsys.readouterr().out
    told = "".join(path.read_text() for path in [README, *(ROOT / "docs").glob("*.md")])
    assert f"claw {' '.join(words)}" in told


def test_a_failing_command_must_be_announced() -> None:
    """Otherwise a page could show a command that has stopped working."""
    fails = Ran(Command("false", (), 1), 1, "")
    echo = Ran(Command("echo $?", ("1",), 2), 0, "1\n")
    assert faults_in([fails]) == ["line 1: `false` exits 1, not 0:\n"]
    assert faults_in([fails, echo]) == []
    assert faults_in([Ran(Command("true", (), 1), 0, ""), echo]) == ["line 1: `true` exits 0, not 1:\n"]


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        (["a 1", "c"], True),  # lines may be left out …
        (["c", "a 1"], False),  # … and not exchanged
        (["a 12.5", "…", "c"], True),
        (["a", "c"], False),
        (["a …", "c"], True),
        (["x…", "c"], False),
    ],
)
def test_what_is_shown_is_looked_for(shown: list[str], right: bool) -> None:
    from tests.gates.markdown import unlike

    assert (unlike(shown, "a   7\nb\nc\n") is None) is right


def test_a_section_is_one_shell_in_one_folder(tmp_path: Path) -> None:
    """Given a page with a file, a variable and a failing command, when it is run, then each line meets the others."""
    page = "## One\n```python\n# app.py\nprint('hi')\n```\n```console\n$ export NAME=claw\n$ cat app.py\nprint('hi')\n"
    page += "$ test $NAME = other\n$ echo $?\n1\n```\n"
    (section,) = sections(page)
    assert faults_of(section, tmp_path / "right") == []
    (wrong,) = sections(page.replace("\n1\n```", "\n0\n```"))
    assert len(faults_of(wrong, tmp_path / "wrong")) == 1
