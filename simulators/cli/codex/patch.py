"""The patch format of `apply_patch`: read, checked against the files, turned into what to write."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from hashlib import sha1
from typing import Any

from simulators.cli.effects import Effect, ReadFile

BEGIN, END = "*** Begin Patch", "*** End Patch"


class PatchError(Exception):
    """The patch cannot be read or does not fit; `str()` is what the model is told."""


@dataclass(slots=True)
class Hunk:
    """Lines that must be there (`old`) and what takes their place; `anchor` is a line that comes before."""

    anchor: str | None = None
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    at_end: bool = False


@dataclass(slots=True)
class Change:
    """One file's change. `kind` is add, delete or update; `content` is the whole new text, `before` the old one."""

    kind: str
    name: str
    path: str = ""
    move_to: str | None = None
    hunks: list[Hunk] = field(default_factory=list)
    before: str = ""
    content: str = ""

    @property
    def target(self) -> str:
        """Where the new text goes."""
        return self.move_to or self.path


def parse(text: str) -> list[Change]:
    """Read a patch. Raises `PatchError`."""
    lines = text.strip().split("\n")
    if lines[0].strip() != BEGIN:
        raise PatchError(f"invalid patch: The first line of the patch must be '{BEGIN}'")
    if lines[-1].strip() != END:
        raise PatchError(f"invalid patch: The last line of the patch must be '{END}'")
    changes: list[Change] = []
    for number, line in enumerate(lines[1:-1], 2):
        if line.startswith("*** ") and ": " in line:
            _header(line, changes, number)
        elif changes:
            _line(line, changes[-1], number)
        elif line.strip():
            raise _not_a_hunk(line, number)
    if not changes:
        raise PatchError("patch rejected: empty patch")
    return changes


def _not_a_hunk(line: str, number: int) -> PatchError:
    headers = "'*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"
    said = f"'{line}' is not a valid hunk header. Valid hunk headers: {headers}"
    return PatchError(f"invalid hunk at line {number}, {said}")


def _header(line: str, changes: list[Change], number: int) -> None:
    word, _, name = line.removeprefix("*** ").partition(": ")
    kinds = {"Add File": "add", "Delete File": "delete", "Update File": "update"}
    if word in kinds:
        changes.append(Change(kinds[word], name.strip()))
    elif word == "Move to" and changes:
        changes[-1].move_to = name.strip()
    else:
        raise _not_a_hunk(line, number)


def _line(line: str, change: Change, number: int) -> None:
    if change.kind == "add":
        if not line.startswith("+"):
            raise _not_a_hunk(line, number)
        change.content += line[1:] + "\n"
    elif line.startswith("@@"):
        change.hunks.append(Hunk(line[2:].strip() or None))
    elif line == "*** End of File":
        if change.hunks:
            change.hunks[-1].at_end = True
    elif change.kind == "update":
        if not change.hunks:
            change.hunks.append(Hunk())
        mark, rest = line[:1], line[1:]
        if mark not in ("+", "-", " ", ""):
            said = f"Unexpected line found in update hunk: '{line}'. Every line should start with"
            raise PatchError(f"invalid hunk at line {number}, {said} ' ' (context line), '+' (added line), or '-'")
        if mark != "+":
            change.hunks[-1].old.append(rest)
        if mark != "-":
            change.hunks[-1].new.append(rest)


def resolve(changes: Sequence[Change], cwd: str) -> Generator[Effect, Any, None]:
    """Read the files and work out their new text. Raises `PatchError`; nothing is written."""
    for change in changes:
        change.path = change.name if change.name.startswith("/") else f"{cwd}/{change.name}"
        if change.move_to and not change.move_to.startswith("/"):
            change.move_to = f"{cwd}/{change.move_to}"
        if change.kind == "add":
            continue
        data = yield ReadFile(change.path)
        if data is None:
            word = "update" if change.kind == "update" else "delete"
            raise PatchError(f"Failed to read file to {word} {change.path}: No such file or directory (os error 2)")
        change.before = data.decode("utf-8", "replace")
        if change.kind == "update":
            change.content = _updated(change)


def _updated(change: Change) -> str:
    lines = change.before.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    at = 0
    for hunk in change.hunks:
        if hunk.anchor is not None:
            found = _seek(lines, [hunk.anchor], at)
            if found is None:
                raise PatchError(f"Failed to find context '{hunk.anchor}' in {change.path}")
            at = found + 1
        if not hunk.old:
            lines += hunk.new
            continue
        start = max(len(lines) - len(hunk.old), at) if hunk.at_end else at
        place = _seek(lines, hunk.old, start)
        if place is None:
            shown = "\n".join(hunk.old)
            raise PatchError(f"Failed to find expected lines in {change.path}:\n{shown}")
        lines[place : place + len(hunk.old)] = hunk.new
        at = place + len(hunk.new)
    return "\n".join(lines) + "\n"


def _seek(lines: Sequence[str], wanted: Sequence[str], start: int) -> int | None:
    """Where the wanted lines stand from `start` on: exactly, else but for spaces at the end, else around them."""
    ways = (lambda s: s, str.rstrip, str.strip)
    for way in ways:
        want = [way(line) for line in wanted]
        for at in range(start, len(lines) - len(want) + 1):
            if [way(line) for line in lines[at : at + len(want)]] == want:
                return at
    return None


def summary(changes: Sequence[Change]) -> str:
    """What is said of a patch that was applied."""
    marks = {"add": "A", "update": "M", "delete": "D"}
    lines = "".join(
        f"{marks[change.kind]} {change.name}\n" for kind in marks for change in changes if change.kind == kind
    )
    return f"Success. Updated the following files:\n{lines}"


def diff(change: Change) -> str:
    """The change as a unified diff without file names (of an added file: its text)."""
    if change.kind == "add":
        return change.content
    if change.kind == "delete":
        return change.before
    lines = unified_diff(change.before.splitlines(True), change.content.splitlines(True), n=3)
    return "".join(list(lines)[2:])


def git_diff(change: Change, cwd: str) -> str:
    """The change as git would show it."""
    name = change.path.removeprefix(f"{cwd}/")
    old, new = change.before, "" if change.kind == "delete" else change.content
    zero = "0" * 40
    left, right = (
        (_blob(old) if old or change.kind != "add" else zero),
        (zero if change.kind == "delete" else _blob(new)),
    )
    head = f"diff --git a/{name} b/{name}\n"
    if change.kind == "add":
        head += "new file mode 100644\n"
    elif change.kind == "delete":
        head += "deleted file mode 100644\n"
    head += f"index {left}..{right}{' 100644' if change.kind == 'update' else ''}\n"
    sides = (
        "/dev/null" if change.kind == "add" else f"a/{name}",
        "/dev/null" if change.kind == "delete" else f"b/{name}",
    )
    body = "".join(unified_diff(old.splitlines(True), new.splitlines(True), *sides, n=3, lineterm="\n"))
    return head + body


def _blob(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return sha1(b"blob %d\x00" % len(data) + data, usedforsecurity=False).hexdigest()
