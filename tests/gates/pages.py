"""Runs the sections of the project's pages and says what was not as it is written."""

from collections.abc import Sequence
from pathlib import Path

from tests.gates.markdown import ROOT, Ran, Section, run, sections, unlike

# Commands that are not run here, each with its reason.
SKIPPED = {
    "make test": "this very test is a part of it",
    "git clone": "it needs the network; the checkout at hand is what it gives",
    "pip install": "it needs the network; tests/gates/test_wheel.py installs the wheel",
    ". .venv/bin/activate": "the tests run with an environment of their own",
}
# `make run` is this command in an environment that it makes first; test_readme.py holds the Makefile to that.
REPLACED = {"make run": "claw scenario run"}


def pages() -> list[Path]:
    """README.md and the pages of docs/, the decisions apart: they run nothing."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def runnable(path: Path) -> list[Section]:
    """The sections of a page that have commands."""
    return [section for section in sections(path.read_text()) if section.runs]


def faults_of(section: Section, folder: Path) -> list[str]:
    """Run a section; every command that ends or prints otherwise than the page says."""
    return faults_in(list(run(section, folder, SKIPPED, REPLACED)))


def faults_in(ran: Sequence[Ran]) -> list[str]:
    """The differences between what is written and what came. A command that fails must be followed by `echo $?`."""
    found = []
    for i, one in enumerate(ran):
        told = ran[i + 1].command if i + 1 < len(ran) and ran[i + 1].command.text == "echo $?" else None
        wanted = int(told.shown[0]) if told else 0
        where = f"line {one.command.line}: `{one.command.text}`"
        if one.code != wanted:
            found.append(f"{where} exits {one.code}, not {wanted}:\n{one.output}")
        missing = unlike(one.command.shown, one.output)
        if missing is not None:
            found.append(f"{where} does not print `{missing}`, but:\n{one.output}")
    return found
