"""The whole prompt out of messages that are known: what of them the model still sees."""

from collections.abc import Sequence
from typing import Any

import msgspec

from simulators.core.turn import Block
from simulators.dialects.anthropic import unseen
from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.render import leading_blocks


def prompt_blocks(body: dict[str, Any], messages: Sequence[Known], gates: Gates) -> tuple[Block, ...]:
    """All blocks in render order: without what a compaction replaced, and on older models without the thinking of
    earlier turns."""
    blocks = leading_blocks(body)
    start, position = _after_compaction(messages)
    thinking_from = 0 if gates.keeps_thinking else _last_prompt(messages)
    for index in range(start, len(messages)):
        known = messages[index]
        kept = known.blocks
        if index == start and position:
            kept = kept[position:]
        if known.thinks and index < thinking_from:
            kept = tuple(block for block in kept if block.kind != "thinking")
        if kept and not kept[0].opens_message:
            kept = (msgspec.structs.replace(kept[0], opens_message=True), *kept[1:])
        blocks.extend(kept)
    unseen.add(blocks, body)
    _mark_server_result(blocks, body)
    return tuple(blocks)


def _mark_server_result(blocks: list[Block], body: dict[str, Any]) -> None:
    """Where a request caches anything, the last result of one of the provider's own tools is a breakpoint of five
    minutes too (tool use with prompt caching, documentation)."""
    if body.get("cache_control") is None and all(block.ttl is None for block in blocks):
        return
    for at in range(len(blocks) - 1, -1, -1):
        if blocks[at].kind == "server_result":
            if blocks[at].ttl is None:
                blocks[at] = msgspec.structs.replace(blocks[at], ttl="5m")
            return


def _after_compaction(messages: Sequence[Known]) -> tuple[int, int]:
    """Message and block where the prompt begins: at the last compaction that did not fail."""
    for index in range(len(messages) - 1, -1, -1):
        if (position := messages[index].compaction) is not None:
            return index, position
    return 0, 0


def _last_prompt(messages: Sequence[Known]) -> int:
    """The last user message that is no tool result: where older models begin to keep thinking."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user" and not messages[index].results:
            return index
    return 0


def instructions(body: dict[str, Any], messages: Sequence[Known]) -> str:
    """The system prompt and the system entries among the messages, a line apart."""
    system: Any = body.get("system") or ""
    parts = [system] if type(system) is str else [block["text"] for block in system]
    parts += [_text_of(known) for known in messages if known.role == "system"]
    return "\n".join(part for part in parts if part)


def last_words(messages: Sequence[Known]) -> tuple[str, tuple[str, ...]]:
    """Text of the last user message ("" if it brings tool results), and the names of the tools it brings results of."""
    for index in range(len(messages) - 1, -1, -1):
        known = messages[index]
        if known.role == "assistant":
            break
        if known.role == "user":
            if not known.results:
                return _text_of(known), ()
            names = _called_names(messages[:index])
            return "", tuple(names.get(call, "") for _, call in known.results)
    return "", ()


def _text_of(known: Known) -> str:
    content = known.message["content"]
    if isinstance(content, str):
        return content
    return "\n".join([block["text"] for block in content if block["type"] == "text"])


def _called_names(messages: Sequence[Known]) -> dict[str, str]:
    """id → tool name of the calls in the last assistant turn."""
    names: dict[str, str] = {}
    for known in reversed(messages):
        if known.role == "assistant":
            if known.calls:
                content = known.message["content"]
                names |= {block["id"]: block["name"] for block in content if block["type"] == "tool_use"}
        elif names:
            break
    return names
