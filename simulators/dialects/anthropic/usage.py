"""The usage object of an answer, and its list of iterations where the server worked in several steps.

Three input figures are disjoint; their sum is the prompt. Top-level figures leave out what a compaction or an advisor
cost: `iterations` has every step (compaction page of the provider's documentation, recorded answers).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simulators.core.turn import ModelCall, ModelTurn, Tokens
from simulators.dialects.anthropic.gates import family
from simulators.dialects.anthropic.notes import Notes

_CONTAINED = re.compile(r"code_execution_|web_(search|fetch)_2026")  # tools that run code in a container
_HOSTED = re.compile(r"web_search_|web_fetch_|code_execution_|advisor_|tool_search_tool_")


def usage(call: ModelCall, tokens: Tokens, turn: ModelTurn | None = None) -> dict[str, Any]:
    """The usage object of a whole message; `turn` for what its blocks say of server tools."""
    notes = call.private if isinstance(call.private, Notes) else None
    found = _figures(tokens)
    if call.max_tokens == 0:
        found["output_tokens"] = 0
    found["output_tokens_details"] = {"thinking_tokens": min(tokens.thinking, found["output_tokens"])}
    if requests := _server_tools(call, turn):
        found["server_tool_use"] = requests
    found["service_tier"] = "standard"
    found["inference_geo"] = _place(call, notes)
    if call.body.get("speed"):
        found["speed"] = call.body["speed"]
    if steps := _iterations(call, notes, tokens, turn):
        found["iterations"] = steps
        if notes is not None and (notes.paused or notes.summarize):
            found |= _figures(Tokens())
    return found


def _place(call: ModelCall, notes: Notes | None) -> str:
    """Where the answer was made: models before 4.6 do not tell."""
    known = family(notes.model.id) if notes is not None else None
    if known is not None and known[1] < (4, 6):
        return "not_available"
    return str(call.body.get("inference_geo") or "global")


def _figures(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.cache_write_5m,
            "ephemeral_1h_input_tokens": tokens.cache_write_1h,
        },
        "output_tokens": tokens.output,
    }


def _iterations(call: ModelCall, notes: Notes | None, tokens: Tokens, turn: ModelTurn | None) -> list[dict[str, Any]]:
    """A step for the compaction if there was one, one for the answer, one for each advice with the rest of the answer
    behind it; nothing where no beta asks for the list."""
    if notes is not None and notes.summarize:
        return [{"type": "compaction", **_figures(tokens)}]
    steps = []
    if notes is not None and notes.compaction_tokens is not None:
        steps.append({"type": "compaction", **_figures(notes.compaction_tokens)})
        if notes.paused:
            return steps
    if steps or _counts_steps(call):
        steps.append({"type": "message", "model": notes.model.id if notes else call.model, **_figures(tokens)})
        for text in _advice(turn):
            spent = Tokens(input=tokens.prompt, output=-(-len(text) // 4))
            steps.append({"type": "advisor_message", "model": _advisor(call), **_figures(spent)})
            steps.append({"type": "message", "model": steps[0].get("model", call.model), **_figures(Tokens())})
    return steps


def _advice(turn: ModelTurn | None) -> list[str]:
    """What advisors said, opaque or not."""
    blocks = turn.blocks if turn is not None else ()
    said = [block.get("content") for block in blocks if block.get("type") == "advisor_tool_result"]
    return [str(one.get("text") or one.get("encrypted_content") or "") for one in said if isinstance(one, Mapping)]


def _advisor(call: ModelCall) -> str:
    """The model that advises, as the tool names it."""
    tools = [tool for tool in call.body.get("tools") or () if (tool.get("type") or "").startswith("advisor_")]
    return str(tools[0].get("model", call.model)) if tools else call.model


def _counts_steps(call: ModelCall) -> bool:
    body = call.body
    edits = (body.get("context_management") or {}).get("edits") or ()
    return (
        any(edit["type"].startswith("compact_") for edit in edits)
        or bool((body.get("output_config") or {}).get("task_budget"))
        or bool(body.get("fallbacks"))
        or any((tool.get("type") or "").startswith("advisor_") for tool in body.get("tools") or ())
    )


def hosted(body: Mapping[str, Any]) -> bool:
    """Whether the request offers tools that the provider runs itself."""
    return bool(body.get("mcp_servers")) or any(
        _HOSTED.match(tool.get("type") or "") for tool in body.get("tools") or ()
    )


def contained(body: Mapping[str, Any]) -> bool:
    """Whether the request works in a container."""
    return bool(body.get("container")) or any(
        _CONTAINED.match(tool.get("type") or "") for tool in body.get("tools") or ()
    )


def _server_tools(call: ModelCall, turn: ModelTurn | None) -> dict[str, int] | None:
    """How often the answer searched and fetched; None where no tool of the provider is about."""
    blocks: Iterable[Mapping[str, Any]] = turn.blocks if turn is not None else ()
    used = [block.get("name") for block in blocks if block.get("type") == "server_tool_use"]
    if not used and not hosted(call.body):
        return None
    return {
        "web_search_requests": used.count("web_search"),
        "web_fetch_requests": used.count("web_fetch"),
    }
