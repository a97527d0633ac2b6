"""What the provider condenses a conversation to when it is asked to, or when a threshold is passed."""

from collections.abc import Sequence
from typing import Any

from simulators.core.turn import ModelCall, ModelTurn
from simulators.dialects._openai.seal import opened
from simulators.dialects.openai_responses.notes import Item

SUMMARY_ITEMS = ("compaction", "compaction_summary")
_PER_ITEM, _LONGEST = 160, 4_000  # characters


def condensed(items: Sequence[Item]) -> str:
    """A summary that is the same for the same conversation: the beginning of each item."""
    lines = []
    for item in items:
        said = _said(item)
        if said:
            who = item.get("role") or str(item.get("type"))
            lines.append(f"{who}: {said[:_PER_ITEM]}")
    return "\n".join(lines)[-_LONGEST:] or "(nothing was said)"


def _said(item: Item) -> str:
    if item.get("type") in SUMMARY_ITEMS:
        return opened(item.get("encrypted_content") or "") or "(an earlier summary)"
    content: Any = item.get("content", item.get("output", item.get("arguments", "")))
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text") or "") for part in content or () if isinstance(part, dict)).strip()


def threshold(call: ModelCall) -> int | None:
    """From how many tokens on the conversation is condensed; None: never."""
    for entry in call.body.get("context_management") or ():
        if entry.get("type") == "compaction":
            return int(entry.get("compact_threshold") or 200_000)
    return None


def extend(call: ModelCall, turn: ModelTurn, prompt: int, output: int) -> ModelTurn:
    """The turn, with a compaction behind it if prompt and answer together pass the threshold (recorded: the item comes
    last, its tokens are part of the output)."""
    limit = threshold(call)
    if (
        limit is None
        or prompt + output < limit
        or call.own is not None
        or turn.stop not in ("end_turn", "stop_sequence")
    ):
        return turn
    said = {"role": "assistant", "content": turn.text or ""}
    block = {"type": "compaction", "summary": condensed([*call.private.items, said])}
    return ModelTurn(
        thinking=turn.thinking, text=turn.text, tool_calls=turn.tool_calls, blocks=(*turn.blocks, block),
        stop=turn.stop, stop_sequence=turn.stop_sequence, output_tokens=turn.output_tokens,
        answered_by=turn.answered_by, faults=turn.faults,
    )  # fmt: skip
