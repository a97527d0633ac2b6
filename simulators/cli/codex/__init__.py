"""The fake `codex`: `exec`, `exec resume|fork` and `app-server`, with the real one's lines, exit codes and files."""

from simulators.cli.codex.main import codex
from simulators.cli.settings import Settings

__all__ = ["Settings", "codex"]
