"""The system prompt: sections, and the workspace files that go into it."""

from claw.prompt.system import as_text, build

__all__ = ["as_text", "build"]
