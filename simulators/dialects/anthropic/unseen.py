"""What a request adds to its prompt without writing it: the provider's own words about tools, thinking, formats.

Tokens, measured as the difference between what recorded answers of 2025 and 2026 were billed and the text of their
requests. They count under the tokenizer `default` alone.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import Block

_FORCED = 104  # tool_choice any or tool
_THINKING = 31  # a thinking budget
_FORMAT = 140  # structured output, beside the schema
_TASK_BUDGET = 40
_COMPACT = 97  # compaction on a threshold
_MCP = 630  # a server with its tools
# Tools that the provider defines, by the beginning of their type, beside what an ordinary tool costs.
_TOOLS = (
    ("memory_", 1040),
    ("code_execution_", 1700),
    ("computer_", 735),
    ("text_editor_", 700),
    ("web_search_", 470),
    ("web_fetch_", 470),
    ("advisor_", 580),
    ("tool_search_tool_", 380),
    ("bash_", 245),
)


def of_tool(tool: Mapping[str, Any]) -> int:
    """What the definition of a tool costs that the request only names."""
    kind = tool.get("type") or ""
    return next((tokens for name, tokens in _TOOLS if kind.startswith(name)), 0)


def add(blocks: list[Block], body: Mapping[str, Any]) -> None:
    """Put the costs of settings on the blocks at which they change the prompt: before the first message, or, for what
    changes from turn to turn, at the end."""
    first = next((at for at, block in enumerate(blocks) if block.level == "messages"), None)
    if first is None:
        return
    output = body.get("output_config") or {}
    before = 0
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        before += _FORCED
    if (body.get("thinking") or {}).get("type") == "enabled":
        before += _THINKING
    if output.get("format"):
        before += _FORMAT + len(msgspec.json.encode(output["format"].get("schema"))) // 4
    edits = (body.get("context_management") or {}).get("edits") or ()
    before += _COMPACT * any(edit["type"].startswith("compact_") for edit in edits)
    _add(blocks, first, before)
    _add(blocks, 0, _MCP * len(body.get("mcp_servers") or ()))
    if output.get("task_budget"):
        _add(blocks, len(blocks) - 1, _TASK_BUDGET)


def _add(blocks: list[Block], at: int, tokens: int) -> None:
    if tokens:
        blocks[at] = msgspec.structs.replace(blocks[at], hidden=blocks[at].hidden + tokens)
