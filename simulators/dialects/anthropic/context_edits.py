"""Context editing and compaction on a threshold: what the server takes out of the prompt before the model sees it.

Context editing (`context-management-2025-06-27`) clears old tool results and old thinking; compaction
(`compact-2026-01-12`) puts a summary in place of everything before it. Both rewrite the prompt, so that the cache
misses from there on. Defaults and fields: context editing and compaction pages of the provider's documentation, types
of the `anthropic` package 2.14.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.turn import Block, ModelCall, ModelTurn, Tokens
from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.notes import Notes
from simulators.dialects.anthropic.render import compaction_as_prompt

Count = Callable[[Sequence[Block]], Sequence[int]]

_TRIGGER = 100_000  # input tokens
_COMPACT_TRIGGER = 150_000
_KEEP = 3  # tool uses
_KEEP_THINKING = 1  # assistant turns
_CLEARED = "[cleared]"


class Use(msgspec.Struct, frozen=True):
    """A tool call that has been answered: its name, and where call and result stand among the blocks."""

    name: str
    call: str
    result: str


def edit(call: ModelCall, count: Count, messages: Sequence[Known]) -> ModelCall:
    """The call with its edits applied, in the order in which they were asked for. `count` gives each block's tokens."""
    blocks = list(call.blocks)
    original = total = sum(count(blocks))
    applied: list[dict[str, Any]] = []
    compact: Mapping[str, Any] | None = None
    for wanted in call.body["context_management"].get("edits") or ():
        kind = wanted["type"]
        if kind.startswith("compact_"):
            compact = wanted
            continue
        if kind.startswith("clear_thinking_"):
            after, cleared = _clear_thinking(blocks, wanted)
            what = {"cleared_thinking_turns": cleared}
        else:
            after, cleared = _clear_tool_uses(blocks, wanted, total, messages)
            what = {"cleared_tool_uses": cleared}
        left = sum(count(after))
        if left >= total or total - left < ((wanted.get("clear_at_least") or {}).get("value") or 0):
            continue
        applied.append({"type": kind, "cleared_input_tokens": total - left, **what})
        blocks, total = after, left
    notes = msgspec.structs.replace(call.private, applied=tuple(applied), original_tokens=original)
    call = msgspec.structs.replace(call, blocks=tuple(blocks), private=notes)
    if compact is not None and call.operation == "generate":
        trigger = ((compact.get("trigger") or {}).get("value")) or _COMPACT_TRIGGER
        if total >= trigger:
            return _compacted(call, notes, total, count, pause=bool(compact.get("pause_after_compaction")))
    return call


def _clear_thinking(blocks: Sequence[Block], wanted: Mapping[str, Any]) -> tuple[list[Block], int]:
    """Without the thinking of all but the last turns that have some; how many turns lost theirs."""
    keep = wanted.get("keep") or {}
    if keep == "all" or (isinstance(keep, Mapping) and keep.get("type") == "all"):
        return list(blocks), 0
    turns = list(dict.fromkeys(block.path.partition(".")[0] for block in blocks if block.kind == "thinking"))
    old = turns[: max(0, len(turns) - int(keep.get("value", _KEEP_THINKING)))]
    gone = set(old)
    kept = [block for block in blocks if block.kind != "thinking" or block.path.partition(".")[0] not in gone]
    return kept, len(old)


def _clear_tool_uses(
    blocks: Sequence[Block], wanted: Mapping[str, Any], total: int, messages: Sequence[Known]
) -> tuple[list[Block], int]:
    """With old tool results emptied, once there is enough of them; how many."""
    excluded = set(wanted.get("exclude_tools") or ())
    all_uses = uses(messages)
    trigger = wanted.get("trigger") or {"type": "input_tokens", "value": _TRIGGER}
    reached = len(all_uses) if trigger["type"] == "tool_uses" else total
    if reached < trigger["value"]:
        return list(blocks), 0
    keep = int((wanted.get("keep") or {}).get("value", _KEEP))
    candidates = [use for use in all_uses[: len(all_uses) - keep] if use.name not in excluded]
    inputs = wanted.get("clear_tool_inputs") or False
    emptied = {use.result for use in candidates}
    emptied |= {use.call for use in candidates if inputs is True or (inputs and use.name in inputs)}
    present = {block.path for block in blocks}
    kept = [_emptied(block) if block.path in emptied else block for block in blocks]
    return kept, sum(use.result in present for use in candidates)


def _emptied(block: Block) -> Block:
    text = _CLEARED if block.kind == "tool_result" else "{}"
    return msgspec.structs.replace(
        block, text=text, images=0, image_tokens=0, digest=bytes(byte ^ 0x5A for byte in block.digest)
    )


def uses(messages: Sequence[Known]) -> list[Use]:
    """Every answered tool call of the conversation, in order."""
    calls: dict[str, tuple[str, str]] = {}
    found: list[Use] = []
    for index, known in enumerate(messages):
        content = known.message["content"]
        if type(content) is str:
            continue
        for position, block in enumerate(content):
            path = f"messages[{index}].content[{position}]"
            if block["type"] == "tool_use":
                calls[block["id"]] = (block["name"], path)
            elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                name, place = calls[block["tool_use_id"]]
                found.append(Use(name, place, path))
    return found


def _compacted(call: ModelCall, notes: Notes, total: int, count: Count, *, pause: bool) -> ModelCall:
    """The call as it goes on behind a summary of everything so far."""
    leading = [block for block in call.blocks if block.level != "messages"]
    turns = sum(block.opens_message for block in call.blocks if block.level == "messages")
    summary = f"<summary>\nThe conversation so far: {turns} messages, {total} tokens.\n\n{_gist(call)}\n</summary>"
    made = {"type": "compaction", "content": summary, "encrypted_content": None}
    block = compaction_as_prompt(made)
    blocks = (*leading, block)
    spent = Tokens(input=total, output=count(blocks)[-1])
    notes = msgspec.structs.replace(notes, compaction=made, compaction_tokens=spent, paused=pause)
    return msgspec.structs.replace(
        call,
        blocks=blocks,
        private=notes,
        extra=spent,
        own=ModelTurn(stop="end_turn", answered_by="compaction") if pause else call.own,
    )


def _gist(call: ModelCall) -> str:
    """A few words of what was said last: enough to see in a test which conversation a summary is of."""
    said = [block for block in call.blocks if block.level == "messages" and block.text]
    return "\n".join(f"{block.role}: {' '.join(block.text.split())[:200]}" for block in said[-3:])
