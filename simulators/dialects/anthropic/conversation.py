"""Checks of the messages: content that is there, tool calls and their results in pairs, thinking, system entries."""

from collections.abc import Sequence
from typing import Any

from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.media import MANY, MANY_SIDE
from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.refusal import refuse

_PAUSED = ("server_tool_use", "mcp_tool_use", "compaction")


def check_conversation(body: dict[str, Any], messages: Sequence[Known], gates: Gates, *, old_version: bool) -> None:
    """Refuse what cannot be a conversation with this model. `old_version`: the rules of 2023-06-01."""
    if not old_version:
        _check_moved(messages)
    _check_roles(messages, gates)
    _check_content(body, messages)
    _check_pairs(messages)
    if not body.get("compaction"):  # a compaction request may end with a finished assistant turn
        _check_last(messages, gates)
    if (body.get("thinking") or {}).get("type") == "enabled":
        _check_manual_thinking(messages)


def _check_moved(messages: Sequence[Known]) -> None:
    """What version 2026-10-21 no longer takes (its migration notes; the words are not recorded)."""
    for index, known in enumerate(messages):
        content = known.message["content"]
        if type(content) is str:
            continue
        for position, block in enumerate(content):
            path = f"messages.{index}.content.{position}"
            if block["type"] == "document" and known.role == "assistant":
                refuse(f"{path}: `document` blocks are not permitted in `assistant` messages")
            if block["type"] == "text" and known.role == "user" and block.get("citations"):
                refuse(f"{path}.text.citations: citations are not permitted in `user` messages")


def _check_roles(messages: Sequence[Known], gates: Gates) -> None:
    """`role: system` inside messages: on some models, never first, after a user turn, last or before an assistant."""
    for index, known in enumerate(messages):
        if known.role != "system":
            continue
        if not gates.mid_system:
            refuse("role 'system' is not supported on this model")
        before = messages[index - 1] if index else None
        if before is None or (before.role == "assistant" and not before.last_kind.endswith("_tool_result")):
            refuse(
                f"messages.{index}: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
                "server tool result"
            )
        if index + 1 < len(messages) and messages[index + 1].role == "user":
            refuse(f"messages.{index}: role 'system' must precede an 'assistant' message")


def _check_content(body: dict[str, Any], messages: Sequence[Known]) -> None:
    system = body.get("system")
    if type(system) is list and not all(block["text"] for block in system):
        refuse("system: text content blocks must be non-empty")
    final = len(messages) - 1
    images = 0
    for index, known in enumerate(messages):
        # Real clients send empty system entries after a compaction.
        if known.empty and (known.role == "user" or (known.role == "assistant" and index != final)):
            refuse(
                f"messages.{index}: all messages must have non-empty content except for the optional final "
                "assistant message"
            )
        if known.problem:
            refuse(known.problem)
        images += known.images
        if known.unanswered and index != final and messages[index + 1].role != "assistant":
            refuse(known.unanswered, kind="poisoned_history")
    if images > MANY and (large := next((known.large for known in messages if known.large), None)):
        refuse(
            f"{large}.image.source.base64.data: At least one of the image dimensions exceed max allowed size for "
            f"many-image requests: {MANY_SIDE} pixels",
            error_code="image_dimensions_too_large",
            max_side_length_pixels=MANY_SIDE,
            paths=[large],
        )
    if images > 600:
        refuse(f"messages: too many images: {images} > 600")


def _check_pairs(messages: Sequence[Known]) -> None:
    """Every `tool_use` is answered in the very next user turn, before anything else; nothing else is answered.

    Consecutive messages of one role are one turn.
    """
    seen: set[str] = set()
    calls: set[str] = set()  # of the last assistant turn
    unanswered: list[str] = []
    calls_at = 0
    previous = ""
    for index, known in enumerate(messages):
        role = known.role
        if role == "system":
            continue
        if role == "assistant":
            if previous != "assistant":
                _require_answers(unanswered, calls_at)
                calls = set()
            if known.calls:
                calls_at = index
                for call in known.calls:
                    if call in seen:
                        refuse("messages: `tool_use` ids must be unique", kind="poisoned_history")
                    seen.add(call)
                    calls.add(call)
                    unanswered.append(call)
        else:
            other = known.first_other
            for position, call in known.results:
                if unanswered and other is not None and other < position:
                    _require_answers(unanswered, calls_at)
                _take_result(call, calls, unanswered, f"messages.{index}.content.{position}")
            if other is not None:
                _require_answers(unanswered, calls_at)
        previous = role
    _require_answers(unanswered, calls_at)


def _take_result(answered: str, calls: set[str], unanswered: list[str], path: str) -> None:
    """Strike a call off the list, or refuse a result that belongs to none."""
    if answered not in calls:
        refuse(
            f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {answered}. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message.",
            kind="poisoned_history",
        )
    if answered not in unanswered:
        refuse(
            f"{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {answered}",
            kind="poisoned_history",
        )
    unanswered.remove(answered)


def _require_answers(unanswered: list[str], index: int) -> None:
    if unanswered:
        refuse(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(unanswered)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message.",
            kind="poisoned_history",
        )


def _check_last(messages: Sequence[Known], gates: Gates) -> None:
    """A final assistant message is a prefill, unless it is a paused turn that is sent back to be continued."""
    last = messages[-1]
    if last.role != "assistant" or last.last_kind in _PAUSED or last.last_kind.endswith("_tool_result"):
        return
    if not gates.prefill:
        refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
    content = last.message["content"]
    text = content if type(content) is str else content[-1].get("text", "") if content else ""
    if text and text[-1].isspace():
        refuse("messages: final assistant content cannot end with trailing whitespace")


def _check_manual_thinking(messages: Sequence[Known]) -> None:
    """With a thinking budget, the assistant turn before the last tool results must begin with its thinking."""
    if messages[-1].role != "user" or not messages[-1].results:
        return
    for index in range(len(messages) - 1, -1, -1):
        known = messages[index]
        if known.role != "assistant" or (index and messages[index - 1].role == "assistant"):
            continue
        if known.first_kind not in ("thinking", "redacted_thinking"):
            refuse(
                f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{known.first_kind}`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
                "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please "
                "consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
                kind="poisoned_history",
            )
        return
