"""The response object. Keys and their defaults are those of recorded answers of 2026."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.dialects._openai.gates import reasoning_of, shown_name
from simulators.dialects._openai.ids import hexadecimal
from simulators.dialects.openai_responses.items import output_items
from simulators.dialects.openai_responses.notes import Item, Notes

_NO_IMAGES = {"image_tokens": 0, "text_tokens": 0}
_CUT = {"max_tokens": "max_output_tokens", "context_window_exceeded": "max_output_tokens"}
_CATEGORIES = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
    "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
)  # fmt: skip
_TOOL_DEFAULTS: dict[str, dict[str, Any]] = {
    "function": {"description": None, "output_schema": None, "parameters": None, "strict": True},
    "web_search": {
        "filters": None,
        "return_token_budget": "default",
        "search_content_types": ["text"],
        "search_context_size": "medium",
        "user_location": {"type": "approximate", "city": None, "country": "US", "region": None, "timezone": None},
    },
    "code_interpreter": {"container": {"type": "auto"}},
    "tool_search": {"description": None, "execution": "server", "parameters": None},
    "custom": {"description": None, "format": {"type": "text"}},
}


def usage(call: ModelCall, tokens: Tokens) -> dict[str, Any]:
    """The usage object. `input_tokens` is the whole prompt: what was read from the cache and written to it included."""
    long, short = tokens.cache_write_1h, tokens.cache_write_5m
    details: dict[str, Any] = {"cached_tokens": tokens.cache_read, "cache_write_tokens": long + short}
    if call.cache is not None and call.cache.regime == "breakpoints":
        details["cache_write_tokens_details"] = {"ttl_30m_tokens": short, "ttl_12h_tokens": long}
    return {
        "input_tokens": tokens.prompt,
        "input_tokens_details": details,
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.thinking},
        "total_tokens": tokens.prompt + tokens.output,
    }


def response_id(stamp: Stamp) -> str:
    return f"resp_{hexadecimal(stamp, 'response')}"


def skeleton(call: ModelCall, stamp: Stamp, status: str) -> dict[str, Any]:
    """A response before anything was generated."""
    notes: Notes = call.private
    body, gates = call.body, notes.gates
    shape = body.get("text") or {}
    made: dict[str, Any] = {
        "id": response_id(stamp),
        "object": "response",
        "created_at": int(stamp.now),
        "status": status,
        "background": bool(body.get("background")),
        "completed_at": None,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "model": shown_name(call.model, notes.model),
        "moderation": _moderation(body) if status not in ("in_progress", "queued") else None,
        "output": [],
        "parallel_tool_calls": _said(body, "parallel_tool_calls", True),
        "presence_penalty": 0.0,
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "prompt_cache_retention": body.get("prompt_cache_retention") or ("24h" if gates.day_long else "in_memory"),
        "reasoning": reasoning_of(gates, body.get("reasoning")),
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": body.get("service_tier") or "auto",
        "store": _said(body, "store", True),
        "temperature": _said(body, "temperature", 1.0),
        "text": {"format": shape.get("format") or {"type": "text"}, "verbosity": shape.get("verbosity") or "medium"},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": _tools(body, notes),
        "top_logprobs": body.get("top_logprobs") or 0,
        "top_p": _said(body, "top_p", gates.top_p),
        "truncation": body.get("truncation") or "disabled",
        "usage": None,
        "user": body.get("user"),
        "metadata": body.get("metadata") or {},
    }
    if gates.known:
        numbers = {
            "input_tokens": 0,
            "input_tokens_details": _NO_IMAGES,
            "output_tokens": 0,
            "output_tokens_details": _NO_IMAGES,
            "total_tokens": 0,
        }
        made["tool_usage"] = {"image_gen": numbers, "web_search": {"num_requests": 0}}
    if notes.conversation is not None:
        made["conversation"] = {"id": notes.conversation}
    if body.get("prompt_cache_options"):
        options = body["prompt_cache_options"]
        made["prompt_cache_options"] = {"mode": options.get("mode") or "implicit", "ttl": options.get("ttl") or "30m"}
        if options.get("comparison_response_id"):
            made["prompt_cache_options"]["comparison_response_id"] = options["comparison_response_id"]
    return made


def finished(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> dict[str, Any]:
    """The response at its end."""
    made = skeleton(call, stamp, "completed")
    made["output"] = output_items(call, turn, stamp)
    made["completed_at"] = int(stamp.now)
    made["usage"] = usage(call, tokens)
    if made["service_tier"] == "auto":
        made["service_tier"] = "default"
    if turn.stop in _CUT or (turn.stop == "refusal" and not turn.text):
        made["status"], made["completed_at"] = "incomplete", None
        made["incomplete_details"] = {"reason": _CUT.get(turn.stop or "", "content_filter")}
    if "tool_usage" in made:
        searches = sum(item["type"] == "web_search_call" for item in made["output"])
        made["tool_usage"] = {**made["tool_usage"], "web_search": {"num_requests": searches}}
    notes: Notes = call.private
    if notes.compared is not None:
        made["prompt_cache_diagnostics"] = diagnosis(notes.compared, tokens)
    return made


def diagnosis(compared: Mapping[str, Any], tokens: Tokens) -> dict[str, Any]:
    """Why less was read than the compared response left to read. `compared`: type, reason, reusable."""
    if compared["type"] != "compared":
        return {"type": compared["type"]}
    reusable = int(compared["reusable"])
    if tokens.cache_read >= reusable or compared["reason"] is None:
        if tokens.cache_read or not reusable:
            return {"type": "cache_hit"}
        return {"type": "unavailable"}
    return {
        "type": "cache_miss",
        "reason": compared["reason"],
        "cache_missed_tokens": max(0, tokens.prompt - tokens.cache_read),
        "comparison_reusable_tokens": reusable,
    }


def compaction(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> dict[str, Any]:
    """The answer of `/v1/responses/compact`: the users' messages as they were, then the rest, condensed."""
    notes: Notes = call.private
    kept: list[Item] = []
    for number, item in enumerate(notes.items):
        if item.get("role") == "user" and item.get("type") in (None, "message"):
            content = item.get("content")
            parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
            name = item.get("id") or f"msg_{hexadecimal(stamp, f'kept:{number}')}"
            kept.append({"id": name, "type": "message", "role": "user", "status": "completed", "content": parts})
    return {
        "id": response_id(stamp),
        "object": "response.compaction",
        "created_at": int(stamp.now),
        "output": [*kept, *output_items(call, turn, stamp)],
        "usage": usage(call, tokens),
    }


def _said(body: Mapping[str, Any], name: str, usual: Any) -> Any:
    return usual if body.get(name) is None else body[name]


def _tools(body: Mapping[str, Any], notes: Notes) -> list[dict[str, Any]]:
    """The tools of the request, and those that came inside the conversation: before GPT-5.6 each in a namespace of its
    own name."""
    made = [_tool(tool) for tool in body.get("tools") or ()]
    for tool in notes.late:
        wrapped = tool.get("type") == "function" and not notes.gates.breakpoints
        shown = {"type": "namespace", "name": tool.get("name"), "description": tool.get("description"), "tools": [tool]}
        made.append(_tool(shown if wrapped else tool))
    return made


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(tool.get("type"))
    defaults = _TOOL_DEFAULTS.get(kind, {})
    made = {"type": kind, **defaults, **tool}
    for name, usual in defaults.items():
        if isinstance(usual, dict) and isinstance(tool.get(name), dict):
            made[name] = {**usual, **tool[name]}
    if kind == "namespace":
        made["tools"] = [_tool(inner) for inner in _listed(tool.get("tools"))]
    return made


def _listed(value: Any) -> Sequence[Mapping[str, Any]]:
    return value if isinstance(value, list) else ()


def _moderation(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The verdict of a moderation that was asked for: nothing is ever flagged."""
    asked = body.get("moderation")
    if not isinstance(asked, dict):
        return None
    result = {
        "type": "moderation_result",
        "model": str(asked.get("model")),
        "flagged": False,
        "categories": dict.fromkeys(_CATEGORIES, False),
        "category_scores": dict.fromkeys(_CATEGORIES, 0.0),
        "category_applied_input_types": {name: ["text"] for name in _CATEGORIES},
    }
    return {"input": result, "output": result}
