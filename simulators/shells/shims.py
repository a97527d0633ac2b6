"""Writes the CLI fakes as commands into a folder that goes on PATH."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from simulators.cli.config import DEFAULTS
from simulators.cli.start import FAKES


def install(directory: Path, versions: Mapping[str, str] | None = None) -> list[dict[str, str]]:
    """Write a command for each fake; the folder is made if need be. Rows of `{name, version, path}`.

    `versions` are the releases to play by name, the newest known where it says nothing. Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name in FAKES:
        version = (versions or {}).get(name, DEFAULTS[name])
        path = directory / name
        _write(path, f"{name}@{version}")
        written.append({"name": name, "version": version, "path": str(path)})
    return written


def _write(path: Path, fake: str) -> None:
    """A shell script that starts the fake with this Python. `-P` keeps a working directory's modules out of it."""
    command = f"exec {shlex.quote(sys.executable)} -P -m simulators.shells.program {fake}"
    half = path.with_name(f".{path.name}.new")
    half.write_text(f'#!/bin/sh\n{command} "$@"\n')
    half.chmod(0o755)
    half.replace(path)
