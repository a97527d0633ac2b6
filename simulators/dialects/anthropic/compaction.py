"""Compaction on demand (`compact-2026-09-04`): one request that is answered with a signed summary and nothing else.

The block is sent back first in `messages`, in place of what it stands for. Error codes and what each means are those
of the `anthropic` package 2.14 (`types/compaction_*_error_details.py`); of the sentences only the codes are recorded.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.refusal import refuse
from simulators.dialects.anthropic.signature import read_summary


def check_request(body: dict[str, Any], messages: Sequence[Known]) -> None:
    """Refuse a compaction request that cannot be one; nothing to do for any other."""
    if not body.get("compaction"):
        return
    clashes = {
        "context_management": body.get("context_management"),
        "stop_sequences": body.get("stop_sequences"),
        "output_format": body.get("output_format"),
        "output_config.format": (body.get("output_config") or {}).get("format"),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for name, clash in clashes.items():
        if clash:
            refuse(f"compaction: cannot be combined with `{name}`")
    said = [
        known
        for known in messages
        if known.role != "system" and not known.empty and any(block.kind != "other" for block in known.blocks)
    ]
    if not said:
        _fail("compaction_nothing_to_summarize", "messages: there is nothing to summarize")
    last = messages[-1]
    if last.role == "assistant" and (last.calls or last.last_kind in ("server_tool_use", "mcp_tool_use")):
        _fail(
            "compaction_incomplete_turn",
            f"messages.{len(messages) - 1}: the conversation ends with an `assistant` turn that is not finished",
        )


def check_blocks(messages: Sequence[Known]) -> None:
    """Refuse signed compaction blocks that stand where they cannot, come twice, or were changed. Blocks without a
    signature are those of compaction on a threshold: the last one counts."""
    found = list(_signed(messages))
    filled = [one for one in found if one[2].get("content")]
    if len(filled) > 1:
        _fail(
            "compaction_block_ambiguous",
            f"messages: {len(filled)} `compaction` blocks with content were sent. Send only the one that was returned "
            "last.",
        )
    for index, position, block in found:
        path = f"messages.{index}.content.{position}"
        first = index == 0 and position == 0
        if not first or messages[index].role == "system":
            _fail(
                "compaction_block_misplaced",
                f"{path}: a `compaction` block must be the first block of the conversation",
            )
        sealed = read_summary(block["signature"])
        if sealed is None:
            _fail("compaction_signature_invalid", f"{path}: Invalid `signature` in `compaction` block")
        if not sealed.fits_content(block.get("content") or ""):
            _fail("compaction_content_mismatch", f"{path}: the `content` of a `compaction` block cannot be modified")
        if not sealed.fits_changes(block.get("tool_changes")):
            _fail(
                "compaction_tool_changes_mismatch",
                f"{path}: the `tool_changes` of a `compaction` block cannot be modified",
            )


def _signed(messages: Sequence[Known]) -> Iterator[tuple[int, int, dict[str, Any]]]:
    for index, known in enumerate(messages):
        if known.compacts:
            for position, block in enumerate(known.message["content"]):
                if block["type"] == "compaction" and block.get("signature"):
                    yield index, position, block


def _fail(code: str, message: str) -> NoReturn:
    refuse(message, error_code=code)
