"""Markdown pages as things that can be run: their blocks, their sections, their tables.

What is promised to a reader is checked here for all pages: a `console` block has commands after `$ ` (and `> ` for the
lines that go on) with what they print below them, an `sh` block is a script, a `python`, `yaml` or `toml` block that
begins with `# NAME` is a file of that name. The blocks under one `## ` heading follow each other in one shell and one
folder.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ("python", "yaml", "toml", "sh")  # languages whose blocks can be files
LIMIT_S = 120.0  # of one section
_FENCE = re.compile(r"^```(\S*)\s*$")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NAME = re.compile(r"^#\s*([\w./-]+\.(?:py|yaml|yml|toml|sh))\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line of its fence, and the file it is meant to be (None: none)."""

    language: str
    text: str
    line: int
    file: str | None = None


@dataclass
class Section:
    """What stands under one `## ` heading; under the first one also what stands before it."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        """Whether there is anything to run in it."""
        return any(block.language in ("console", "sh") and block.file is None for block in self.blocks)


@dataclass(frozen=True)
class Command:
    """A command of a page and the lines that are shown below it; [] where a script shows none."""

    text: str
    shown: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Ran:
    """What came of a command; output and errors as they came, in one text."""

    command: Command
    code: int
    output: str


def sections(text: str) -> list[Section]:
    """The sections of a page in order."""
    made, rows = [Section("")], text.splitlines()
    at = 0
    while at < len(rows):
        fence = _FENCE.match(rows[at])
        if fence:
            end = next((i for i in range(at + 1, len(rows)) if rows[i].startswith("```")), None)
            assert end is not None, f"line {at + 1}: a block without an end"
            made[-1].blocks.append(_block(fence[1], rows[at + 1 : end], at + 1))
            at = end
        elif rows[at].startswith("## "):
            made.append(Section(rows[at].removeprefix("## ").strip()))
        at += 1
    return [section for section in made if section.blocks]


def _block(language: str, rows: Sequence[str], line: int) -> Block:
    name = _NAME.match(rows[0]) if rows and language in FILES else None
    return Block(language, "\n".join(rows) + "\n", line, name[1] if name else None)


def commands(block: Block) -> list[Command]:
    """The commands of a block. An `sh` block is one command."""
    if block.language == "sh":
        return [Command(block.text, (), block.line)]
    made: list[tuple[list[str], list[str], int]] = []
    for number, row in enumerate(block.text.splitlines(), block.line + 1):
        if row.startswith("$ "):
            made.append(([row[2:]], [], number))
        elif row.startswith("> ") and made and not made[-1][1]:
            made[-1][0].append(row[2:])
        else:
            assert made, f"line {number}: output without a command"
            made[-1][1].append(row)
    return [Command("\n".join(text), tuple(shown), line) for text, shown, line in made]


def table(text: str, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, cells stripped of blanks and back ticks; without the head.

    A heading is given without its `#`s.
    """
    rows = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S).splitlines()
    start = next((i for i, row in enumerate(rows) if row.startswith("#") and row.lstrip("# ").strip() == heading), None)
    assert start is not None, f"there is no heading `{heading}`"
    found: list[list[str]] = []
    for row in rows[start + 1 :]:
        if row.startswith("|"):
            found.append([cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", row)[1:-1]])
        elif found or row.startswith("#"):
            break
    assert len(found) > 2, f"there is no table under `{heading}`"
    return found[2:]


def run(section: Section, folder: Path, skipped: dict[str, str], replaced: dict[str, str]) -> Iterator[Ran]:
    """Run the commands of a section in `folder`, one shell for all of them, and tell what came of each.

    `skipped` are beginnings of commands that are left out, `replaced` whole commands that others stand in for.
    """
    work, home, out = folder / "work", folder / "home", folder / "out"
    for made in (work, home, out):
        made.mkdir(parents=True)
    script, listed = _script(section, out, skipped, replaced)
    environment = _environment(home)
    shell = subprocess.Popen(
        ["bash", "-c", script], cwd=work, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        shell.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"not done after {LIMIT_S:g} s") from None
    finally:
        _end(shell.pid)
    for number, command in enumerate(listed):
        code = out / f"{number}.code"
        assert code.exists(), f"line {command.line}: the shell ended before `{command.text}` was done"
        yield Ran(command, int(code.read_text()), (out / f"{number}.out").read_text(errors="replace"))


def _end(group: int) -> None:
    """What a section leaves running ends with it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return
        time.sleep(0.05)


def _environment(home: Path) -> dict[str, str]:
    """That of somebody who has just installed claw: a home of their own, nothing set."""
    ours = ("ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "CLAUDE_", "CLAW_", "PYTEST_", "COVERAGE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "COLUMNS": "100"}


def _script(
    section: Section, out: Path, skipped: dict[str, str], replaced: dict[str, str]
) -> tuple[str, list[Command]]:
    """One shell script, and the commands whose outcome it writes down, in order."""
    lines, listed = [], []
    for block in section.blocks:
        if block.file is not None:
            kept = out / f"file-{block.line}"
            kept.write_text(block.text)
            lines.append(f'mkdir -p "$(dirname {block.file})"; cp {kept} {block.file}; (exit 0)')
            continue
        for command in commands(block) if block.language in ("console", "sh") else ():
            if command.text.startswith(tuple(skipped)):
                continue
            number = len(listed)
            listed.append(command)
            text = replaced.get(command.text, command.text)
            target, code = out / f"{number}.out", out / f"{number}.code"
            if text.startswith("claw sim serve"):  # in a terminal of its own, until the section ends
                lines.append(f"{text} >{target} 2>&1 &")
                lines.append(f"for _ in $(seq 300); do [ -s {target} ] && break; sleep 0.05; done; echo 0 >{code}")
            else:
                lines.append(f"{{ {text}\n}} >{target} 2>&1; __code=$?; echo $__code >{code}; (exit $__code)")
    return "\n".join(lines), listed


def unlike(shown: Sequence[str], output: str) -> str | None:
    """The first line of a page that is not in the output in its place, or None.

    `…` stands for anything, alone on a line for any number of lines; figures, random ids, and how far columns stand
    apart may differ.
    """
    rest = iter([_plain(row) for row in output.splitlines()])
    for row in shown:
        wanted = _plain(row)
        if wanted in ("", "…"):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in wanted.split("…")))
        if not any(pattern.fullmatch(seen) for seen in rest):
            return row
    return None


def _plain(row: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d[\d,.]*", "#", _UUID.sub("#", row))).strip()
