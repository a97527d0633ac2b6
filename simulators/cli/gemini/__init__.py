"""The fake `gemini`: headless prompts with the real one's lines, requests, exit codes and sessions on disk."""

from simulators.cli.gemini.main import gemini
from simulators.cli.settings import Settings

__all__ = ["Settings", "gemini"]
