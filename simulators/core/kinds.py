"""The side calls of known clients: requests that a client makes for itself, not for its user's conversation.

Told by short marks that were seen on the wire of the real clients (Claude Code 2.1.332 and 2.1.19, Codex 0.171.0, pi
0.73.1, Gemini CLI 0.61.0); everything else is a `main` call. An account's `kinds:` is looked at first.
"""

from collections.abc import Sequence

from simulators.core.turn import CallKind, ModelCall
from simulators.core.when import When

# A compaction asks with its last user message; matched at its beginning, or at that of the last block behind a prompt.
SUMMARY_STARTS = (
    "CRITICAL: Respond with TEXT ONLY",  # Claude Code
    "Your task is to create a detailed summary of the conversation so far",  # Claude Code 2.1.19
    "You are performing a CONTEXT CHECKPOINT COMPACTION",  # Codex
)
SUMMARY_SYSTEM = (
    "context summarization assistant",  # pi
    "You condense the record of a working session",  # claw
    "responsible for distilling chat history",  # Gemini CLI
)
PROBE_SYSTEM = (
    "Extract any file paths that this command",  # Claude Code 2.1.19, after a shell command
    "Task Routing AI",  # Gemini CLI, before a prompt when it chooses the model itself
)
TITLE_SYSTEM = ("Generate a concise, sentence-case title", "generate a title for")


def kind_of(call: ModelCall, n: int, extra: Sequence[tuple[CallKind, When]] = ()) -> CallKind:
    """The kind of generation call `n`. `extra` is the account's own table."""
    for kind, when in extra:
        if when.matches(call, n):
            return kind
    if call.side is not None:
        return call.side
    if call.last_user.startswith(SUMMARY_STARTS) or (call.blocks and call.blocks[-1].text.startswith(SUMMARY_STARTS)):
        return "summary"
    if call.system and not call.tools:
        if any(mark in call.system for mark in SUMMARY_SYSTEM):
            return "summary"
        if any(mark in call.system for mark in TITLE_SYSTEM):
            return "title"
        if any(mark in call.system for mark in PROBE_SYSTEM):
            return "probe"
    if call.max_tokens is not None and call.max_tokens <= 1:
        return "probe"  # a check of the key, or a pre-warmed cache
    return "main"
