"""The items of an answer: reasoning, message, the provider's own, calls."""

from typing import Any

from simulators.core.tokens import input_text
from simulators.core.turn import ModelCall, ModelTurn, Stamp
from simulators.dialects._openai.ids import call_id, hexadecimal
from simulators.dialects._openai.seal import seal
from simulators.dialects.openai_responses.notes import Item, Notes

_CUT = ("max_tokens", "context_window_exceeded")
_PREFIXES = {
    "compaction": "cmp", "web_search_call": "ws", "file_search_call": "fs", "code_interpreter_call": "ci",
    "image_generation_call": "ig", "mcp_call": "mcp", "mcp_list_tools": "mcpl", "mcp_approval_request": "mcpr",
    "tool_search_call": "tsc", "tool_search_output": "tso", "shell_call": "sh", "local_shell_call": "lsh",
    "apply_patch_call": "apc", "computer_call": "cu", "message": "msg", "reasoning": "rs", "function_call": "fc",
    "custom_tool_call": "ctc",
}  # fmt: skip


def output_items(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> list[Item]:
    """The whole items, as they stand in a finished response."""
    notes: Notes = call.private
    cut = turn.stop in _CUT
    items: list[Item] = []
    if turn.thinking is not None:
        items.append(_reasoning(call, turn, stamp))
    if turn.text:
        items.append(_message(call, turn, stamp, "incomplete" if cut and not turn.tool_calls else "completed"))
    items += [_own(block, stamp, number) for number, block in enumerate(turn.blocks)]
    for number, tool_call in enumerate(turn.tool_calls):
        named = {"call_id": tool_call.id or call_id(stamp, number), "name": tool_call.name}
        status = "incomplete" if cut and number == len(turn.tool_calls) - 1 else "completed"
        if tool_call.name in notes.custom:
            given = tool_call.input if isinstance(tool_call.input, str) else tool_call.input.get("input")
            text = given if isinstance(given, str) else input_text(tool_call)
            items.append(
                {
                    "id": _id("ctc", stamp, f"call:{number}"),
                    "type": "custom_tool_call",
                    "status": status,
                    "input": text,
                    **named,
                }
            )
            continue
        made = {
            "id": _id("fc", stamp, f"call:{number}"),
            "type": "function_call",
            "status": status,
            "arguments": input_text(tool_call),
            **named,
        }
        if tool_call.name in notes.spaces:
            made["namespace"] = notes.spaces[tool_call.name]
        items.append(made)
    return items


def _id(prefix: str, stamp: Stamp, purpose: str) -> str:
    return f"{prefix}_{hexadecimal(stamp, purpose)}"


def _reasoning(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> Item:
    notes: Notes = call.private
    asked = call.body.get("reasoning") or {}
    text = turn.thinking or ""
    shown = bool(text) and (bool(asked.get("summary") or asked.get("generate_summary")) or not notes.gates.known)
    made: Item = {
        "id": _id("rs", stamp, "reasoning"),
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text}] if shown else [],
    }
    if notes.gates.reasons:
        made["content"] = []
    if "reasoning.encrypted_content" in (call.body.get("include") or ()):
        made["encrypted_content"] = seal(text, stamp.message_id)
    return made


def _message(call: ModelCall, turn: ModelTurn, stamp: Stamp, status: str) -> Item:
    notes: Notes = call.private
    part: dict[str, Any] = {"type": "output_text", "annotations": [], "logprobs": [], "text": turn.text}
    if turn.stop == "refusal":
        part = {"type": "refusal", "refusal": turn.text}
    made: Item = {
        "id": _id("msg", stamp, "message"),
        "type": "message",
        "status": status,
        "content": [part],
        "role": "assistant",
    }
    if notes.gates.phases:
        made["phase"] = "commentary" if turn.tool_calls else "final_answer"
    return made


def _own(block: Any, stamp: Stamp, number: int) -> Item:
    """An item as the script has it, with what it lacks; a compaction is sealed."""
    made: Item = dict(block)
    kind = str(made.get("type"))
    if "id" not in made:
        made = {"id": _id(_PREFIXES.get(kind, "it"), stamp, f"block:{number}"), **made}
    if kind == "compaction" and "encrypted_content" not in made:
        made["encrypted_content"] = seal(str(made.pop("summary", "")), stamp.message_id)
    elif kind.endswith("_call") and "status" not in made:
        made["status"] = "completed"
    return made
