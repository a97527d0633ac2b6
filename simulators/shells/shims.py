"""Writes the CLI fakes as commands into a folder that goes on PATH."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from simulators.cli.config import DEFAULTS
from simulators.cli.start import FAKES


def this_platform() -> str:
    """Where this Python runs."""
    return "windows" if os.name == "nt" else "posix"


def install(
    directory: Path, versions: Mapping[str, str] | None = None, *, platform: str | None = None
) -> list[dict[str, str]]:
    """Write a command for each fake; the folder is made if need be. Rows of `{name, version, path}`.

    `versions` are the releases to play by name, the newest known where it says nothing. On Windows (`platform`: posix
    or windows, else where this runs) each command is three files, as npm makes them: `claude` for POSIX shells,
    `claude.cmd` and `claude.ps1`; `path` is then the `.cmd`. Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    windows = (platform or this_platform()) == "windows"
    written = []
    for name in FAKES:
        version = (versions or {}).get(name, DEFAULTS[name])
        texts = _texts(f"{name}@{version}", sys.executable, windows=windows)
        for ending, text in texts.items():
            _write(directory / f"{name}{ending}", text)
        path = directory / f"{name}.cmd" if windows else directory / name
        written.append({"name": name, "version": version, "path": str(path)})
    return written


def _texts(fake: str, python: str, *, windows: bool) -> dict[str, str]:
    """The files of a command by ending. `-P` keeps a working directory's modules out of it."""
    words = f"-P -m simulators.shells.program {fake}"
    if not windows:
        return {"": f'#!/bin/sh\nexec {shlex.quote(python)} {words} "$@"\n'}
    slashed = shlex.quote(python.replace("\\", "/"))
    percent = python.replace("%", "%%")  # a percent sign in a path would be a variable to cmd
    single = python.replace("'", "''")
    return {
        "": f'#!/bin/sh\nexec {slashed} {words} "$@"\n',
        ".cmd": f'@ECHO off\r\n"{percent}" {words} %*\r\nEXIT /b %ERRORLEVEL%\r\n',
        ".ps1": (
            "#!/usr/bin/env pwsh\n"
            f"if ($MyInvocation.ExpectingInput) {{ $input | & '{single}' {words} $args }}\n"
            f"else {{ & '{single}' {words} $args }}\n"
            "exit $LASTEXITCODE\n"
        ),
    }


def _write(path: Path, text: str) -> None:
    half = path.with_name(f".{path.name}.new")
    half.write_bytes(text.encode())
    half.chmod(0o755)
    half.replace(path)
