"""The fake `claude`: same flags, lines, exit codes and files as the real one, in two versions."""

from simulators.cli.claude.context import Settings
from simulators.cli.claude.main import claude
from simulators.cli.claude.versions import DEFAULT, VERSIONS, Version

__all__ = ["DEFAULT", "VERSIONS", "Settings", "Version", "claude"]
