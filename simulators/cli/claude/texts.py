"""Texts of Claude Code that a request or an event carries; its long prompts are filler of equal length."""

from simulators.cli.prose import prose

__all__ = ["IDENTITY", "prose", "reminder"]


def reminder(text: str) -> str:
    """Text as the CLI slips it into a conversation."""
    return f"<system-reminder>\n{text}\n</system-reminder>"


IDENTITY = {
    False: "You are a Claude agent, built on Anthropic's Claude Agent SDK.",
    True: "You are Claude Code, Anthropic's official CLI for Claude, running within the Claude Agent SDK.",
}
