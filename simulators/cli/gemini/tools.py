"""The tools that gemini has of its own: files, folders, searches, a shell."""

import fnmatch
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulators.cli.effects import Effect, Exec, Executed, ListFiles, ReadFile, WriteFile

Outcome = Generator[Effect, Any, "Result"]


@dataclass(slots=True)
class Result:
    """What a tool gave: `output` for the model, `shown` for the line (None: nothing), `error` as (type, message)."""

    output: str
    shown: str | None = ""
    error: tuple[str, str] | None = None
    told: str = ""  # to the model, of an error
    added: int = 0
    removed: int = 0


def run(name: str, given: Mapping[str, Any], *, cwd: str, offered: Sequence[str]) -> Outcome:
    """Run a tool. What is not offered, or asked for wrongly, is an error that the model is told."""
    if name not in offered:
        near = sorted(offered, key=lambda known: _distance(name, known))[:3]
        said = ", ".join(f'"{word}"' for word in near)
        return _failed("tool_not_registered", f'Tool "{name}" not found. Did you mean one of: {said}?')
    handler = _HANDLERS.get(name)
    if handler is None:
        return _failed("execution_failed", f"{name} is not carried out by this fake")
    try:
        return (yield from handler(given, cwd))
    except KeyError as missing:
        return _failed("invalid_tool_params", f"params must have required property {missing}")


def _distance(one: str, other: str) -> int:
    """How many letters have to be put, taken or changed."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def _failed(kind: str, message: str, shown: str | None = None) -> Result:
    return Result("", shown if shown is not None else message, (kind, message), told=message)


def _path(cwd: str, word: Any) -> str:
    text = str(word)
    return text if text.startswith("/") else cwd if text in (".", "") else f"{cwd}/{text.removeprefix('./')}"


def _shell(given: Mapping[str, Any], cwd: str) -> Outcome:
    where = _path(cwd, given.get("dir_path", "."))
    done = yield Exec(["/bin/bash", "-c", str(given["command"])], where)
    assert isinstance(done, Executed)
    output = (done.stdout + done.stderr).decode("utf-8", "replace").rstrip("\n")
    code = f"\nExit Code: {done.code}" if done.code else ""
    told = f"Output: {output or '(empty)'}{code}\nProcess Group PGID: 34"
    return Result(f"<untrusted_context>\n{told}\n</untrusted_context>", output or None)


def _read(given: Mapping[str, Any], cwd: str) -> Outcome:
    path = _path(cwd, given["file_path"])
    data = yield ReadFile(path)
    if data is None:
        return Result("", "File not found.", ("file_not_found", f"File not found: {path}"), f"File not found: {path}")
    lines = data.decode("utf-8", "replace").split("\n")
    first, last = int(given.get("start_line") or 1), int(given.get("end_line") or len(lines))
    return Result("\n".join(lines[first - 1 : last]))


def _write(given: Mapping[str, Any], cwd: str) -> Outcome:
    path, content = _path(cwd, given["file_path"]), str(given["content"])
    before = yield ReadFile(path)
    problem = yield WriteFile(path, content.encode("utf-8", "surrogatepass"))
    if problem is not None:
        return _failed("file_write_failure", f"Error writing to file '{path}': {problem}")
    done = "Successfully created and wrote to new file" if before is None else "Successfully overwrote file"
    old = 0 if before is None else len(before.decode("utf-8", "replace").splitlines())
    told = f"{done}: {path}. Here is the updated code:\n{content}"
    return Result(told, None, added=len(content.splitlines()), removed=old)


def _replace(given: Mapping[str, Any], cwd: str) -> Outcome:
    path, old, new = _path(cwd, given["file_path"]), str(given["old_string"]), str(given["new_string"])
    data = yield ReadFile(path)
    if data is None and old:
        shown = "Error: File not found. Cannot apply edit. Use an empty old_string to create a new file."
        return _failed("file_not_found", f"File not found: {path}", shown)
    text = (data or b"").decode("utf-8", "replace")
    count = text.count(old) if old else 1
    if count == 0:
        return _failed("edit_no_occurrence_found", f"Failed to edit, 0 occurrences found for old_string in {path}.")
    if count > 1 and not given.get("allow_multiple"):
        said = f"Failed to edit, Expected 1 occurrence but found {count} for old_string in file: {path}"
        return _failed("edit_expected_occurrence_mismatch", said)
    problem = yield WriteFile(path, (text.replace(old, new) if old else new).encode("utf-8", "surrogatepass"))
    if problem is not None:
        return _failed("file_write_failure", f"Error writing to file '{path}': {problem}")
    told = f"Successfully modified file: {path} ({count} replacements)."
    return Result(told, None, added=len(new.splitlines()), removed=len(old.splitlines()))


def _list(given: Mapping[str, Any], cwd: str) -> Outcome:
    path = _path(cwd, given["dir_path"])
    names = yield ListFiles(path)
    if not names:
        return Result(f"Directory {path} is empty.", f"Directory {path} is empty.")
    return Result(f"Directory listing for {path}:\n" + "\n".join(names), f"Listed {len(names)} item(s).")


def _files(folder: str, deep: int = 6) -> Generator[Effect, Any, list[str]]:
    found: list[str] = []
    names = yield ListFiles(folder)
    for name in names:
        if name in (".git", "node_modules"):
            continue
        inner = yield ListFiles(f"{folder}/{name}")
        if inner and deep:
            found += yield from _files(f"{folder}/{name}", deep - 1)
        elif not inner:
            found.append(f"{folder}/{name}")
    return found


def _glob(given: Mapping[str, Any], cwd: str) -> Outcome:
    folder, pattern = _path(cwd, given.get("dir_path", ".")), str(given["pattern"])
    paths = yield from _files(folder)
    hits = [p for p in paths if fnmatch.fnmatch(p.removeprefix(f"{folder}/"), pattern.removeprefix("**/"))]
    if not hits:
        return Result(f'No files found matching pattern "{pattern}" within {folder}', "No files found")
    told = f'Found {len(hits)} file(s) matching "{pattern}" within {folder}:\n' + "\n".join(hits)
    return Result(told, f"Found {len(hits)} matching file(s)")


def _grep(given: Mapping[str, Any], cwd: str) -> Outcome:
    folder, pattern = _path(cwd, given.get("dir_path", ".")), str(given["pattern"])
    try:
        wanted = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        return _failed("invalid_tool_params", f"Invalid regular expression pattern provided: {pattern}. Error: {error}")
    lines: list[str] = []
    paths = yield from _files(folder)
    for path in paths:
        data = yield ReadFile(path)
        for number, line in enumerate((data or b"").decode("utf-8", "replace").splitlines(), 1):
            if wanted.search(line):
                lines.append(f"{path.removeprefix(f'{folder}/')}:{number}: {line}")
    if not lines:
        return Result(f'No matches found for pattern "{pattern}" in path "{folder}".', "No matches found")
    return Result(f'Found {len(lines)} match(es) for pattern "{pattern}":\n' + "\n".join(lines), f"Found {len(lines)}")


_HANDLERS = {
    "run_shell_command": _shell,
    "read_file": _read,
    "write_file": _write,
    "replace": _replace,
    "list_directory": _list,
    "glob": _glob,
    "grep_search": _grep,
}
