"""Checks of the messages: content that is there, tool calls and their results in pairs, thinking, system entries."""

from typing import Any

from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.media import check_image
from simulators.dialects.anthropic.refusal import refuse

_THINKING = ("thinking", "redacted_thinking")


def check_conversation(body: dict[str, Any], gates: Gates, *, old_version: bool) -> None:
    """Refuse what cannot be a conversation with this model. `old_version`: the rules of 2023-06-01."""
    messages = body["messages"]
    if not old_version:
        _check_moved(messages)
    _check_roles(messages, gates)
    _check_content(body)
    _check_pairs(messages)
    _check_last(messages, gates)
    if (body.get("thinking") or {}).get("type") == "enabled":
        _check_manual_thinking(messages)


def _check_roles(messages: list[dict[str, Any]], gates: Gates) -> None:
    """`role: system` inside messages: on some models, never first, after a user turn, last or before an assistant."""
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if not gates.mid_system:
            refuse("role 'system' is not supported on this model")
        before = messages[index - 1]["role"] if index else None
        if before is None or (before == "assistant" and not _ends_in_server_result(messages[index - 1])):
            refuse(
                f"messages.{index}: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
                "server tool result"
            )
        if index + 1 < len(messages) and messages[index + 1]["role"] == "user":
            refuse(f"messages.{index}: role 'system' must precede an 'assistant' message")


def _check_moved(messages: list[dict[str, Any]]) -> None:
    """What version 2026-10-21 no longer takes (its migration notes; the words are not recorded)."""
    for index, message in enumerate(messages):
        if type(message["content"]) is str:
            continue
        for position, block in enumerate(message["content"]):
            path = f"messages.{index}.content.{position}"
            if block["type"] == "document" and message["role"] == "assistant":
                refuse(f"{path}: `document` blocks are not permitted in `assistant` messages")
            if block["type"] == "text" and message["role"] == "user" and block.get("citations"):
                refuse(f"{path}.text.citations: citations are not permitted in `user` messages")


def _ends_in_server_result(message: dict[str, Any]) -> bool:
    content = message["content"]
    if type(content) is str or not content:
        return False
    kind: str = content[-1]["type"]
    return kind.endswith("_tool_result")


def _check_content(body: dict[str, Any]) -> None:
    system = body.get("system")
    if type(system) is list:
        for block in system:
            if not block["text"]:
                refuse("system: text content blocks must be non-empty")
    messages = body["messages"]
    final = len(messages) - 1
    images = 0
    for index, message in enumerate(messages):
        content, role = message["content"], message["role"]
        if role == "system":
            continue  # real clients send empty ones after a compaction
        if not content:
            if role == "user" or index != final:
                refuse(
                    f"messages.{index}: all messages must have non-empty content except for the optional final "
                    "assistant message"
                )
        elif type(content) is str:
            _check_text(content)
        else:
            for position, block in enumerate(content):
                kind = block["type"]
                if kind == "text":
                    _check_text(block["text"])
                elif kind == "image":
                    images += 1
                    check_image(block, f"messages.{index}.content.{position}")
                elif kind == "tool_result":
                    images += _check_result(block, f"messages.{index}.content.{position}")
    if images > 600:
        refuse(f"messages: too many images: {images} > 600")


def _check_text(text: str) -> None:
    if not text:
        refuse("messages: text content blocks must be non-empty")
    if text.isspace():
        refuse("messages: text content blocks must contain non-whitespace text")


def _check_result(block: dict[str, Any], path: str) -> int:
    """The inside of a `tool_result`; the number of images in it."""
    content = block.get("content")
    if not content:
        if block.get("is_error"):
            refuse(f"{path}: content cannot be empty if `is_error` is true")
        return 0
    images = 0
    if type(content) is list:
        for position, part in enumerate(content):
            if part["type"] == "text" and not part["text"]:
                refuse("messages: text content blocks must be non-empty")
            elif part["type"] == "image":
                images += 1
                check_image(part, f"{path}.tool_result.content.{position}")
    return images


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    """Every `tool_use` is answered in the very next user turn, before anything else; nothing else is answered.

    Consecutive messages of one role are one turn.
    """
    seen: set[str] = set()
    calls: set[str] = set()  # of the last assistant turn
    unanswered: list[str] = []
    calls_at = 0
    previous = ""
    for index, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "system":
            continue
        blocks = content if type(content) is list else ()
        if role == "assistant":
            if previous != "assistant":
                _require_answers(unanswered, calls_at)
                calls = set()
            for block in blocks:
                if block["type"] == "tool_use":
                    if block["id"] in seen:
                        refuse("messages: `tool_use` ids must be unique", kind="poisoned_history")
                    seen.add(block["id"])
                    calls.add(block["id"])
                    unanswered.append(block["id"])
                    calls_at = index
        else:
            for position, block in enumerate(blocks):
                if block["type"] == "tool_result":
                    _take_result(block["tool_use_id"], calls, unanswered, f"messages.{index}.content.{position}")
                elif unanswered:
                    _require_answers(unanswered, calls_at)
            if type(content) is str:
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


def _require_answers(open_calls: list[str], index: int) -> None:
    if open_calls:
        refuse(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(open_calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message.",
            kind="poisoned_history",
        )


def _check_last(messages: list[dict[str, Any]], gates: Gates) -> None:
    last = messages[-1]
    if last["role"] != "assistant":
        return
    content = last["content"]
    if type(content) is list and content and content[-1]["type"] in ("server_tool_use", "mcp_tool_use", "compaction"):
        return  # a paused turn that is sent back to be continued is no prefill
    if type(content) is list and content and _ends_in_server_result(last):
        return
    if not gates.prefill:
        refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
    text = content if type(content) is str else content[-1].get("text", "") if content else ""
    if text and text[-1].isspace():
        refuse("messages: final assistant content cannot end with trailing whitespace")


def _check_manual_thinking(messages: list[dict[str, Any]]) -> None:
    """With a thinking budget, the assistant turn before the last tool results must begin with its thinking."""
    if messages[-1]["role"] != "user" or type(messages[-1]["content"]) is str:
        return
    if not any(block["type"] == "tool_result" for block in messages[-1]["content"]):
        return
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message["role"] != "assistant":
            continue
        if index and messages[index - 1]["role"] == "assistant":
            continue
        first = message["content"][0]["type"] if type(message["content"]) is list and message["content"] else "text"
        if first not in _THINKING:
            refuse(
                f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding "
                "the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks "
                "from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation "
                "at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
                kind="poisoned_history",
            )
        return
