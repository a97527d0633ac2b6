"""File effects of CLI fakes, done for real."""

import os
from typing import Any

from simulators.cli.effects import ListFiles, ReadFile, WriteFile


def perform_file(effect: ReadFile | ListFiles | WriteFile) -> Any:
    """Bytes or None, names, or None or the OSError as a value."""
    if isinstance(effect, ReadFile):
        try:
            with open(effect.path, "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return None
    if isinstance(effect, ListFiles):
        try:
            return tuple(sorted(os.listdir(effect.path)))
        except (OSError, ValueError):
            return ()
    try:
        os.makedirs(os.path.dirname(effect.path) or ".", exist_ok=True)
        with open(effect.path, "ab" if effect.append else "wb") as file:
            file.write(effect.data)
    except (OSError, ValueError) as error:
        return error
    return None
