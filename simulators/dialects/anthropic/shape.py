"""The shape of a request: which fields there are, of which type. The first thing that is wrong is refused.

Field names are those of the `anthropic` package 2.14 (`types/beta/message_create_params.py` and the parameter types
it names); wording and paths follow recorded 400s: `messages.0.content.1.tool_use.id: Field required`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from simulators.dialects.anthropic.beta import COMPACT_ON_DEMAND, COMPACT_ON_THRESHOLD, CONTEXT_MANAGEMENT, Betas
from simulators.dialects.anthropic.checks import (
    Check,
    anything,
    boolean,
    integer,
    listing,
    literal,
    mapping,
    nullable,
    number,
    pattern,
    record,
    string,
    tagged,
    text_or,
)
from simulators.dialects.anthropic.refusal import refuse

_ID = "^[a-zA-Z0-9_-]+$"
_TOOL_NAME = "^[a-zA-Z0-9_-]{1,128}$"
identifier = pattern(_ID, re.compile(r"[a-zA-Z0-9_-]+\Z").match)
tool_name = pattern(_TOOL_NAME, re.compile(r"[a-zA-Z0-9_-]{1,128}\Z").match)


def _called(value: Any, path: str) -> None:
    """The name in a tool call: whatever a model made up, but not nothing."""
    string(value, path)
    if not value:
        refuse(f"{path}: String should have at least 1 character")


_ttl = literal("5m", "1h")
_scope = literal("global", "organization")


def cache_control(value: Any, path: str) -> None:
    """null, or `{"type": "ephemeral", "ttl"?: "5m" | "1h"}`; with a beta, of which `check_scopes` knows, `scope`."""
    if value is None:
        return
    mapping(value, path)
    if "type" not in value:
        refuse(f"{path}.type: Field required")
    if value["type"] != "ephemeral":
        refuse(f"{path}.type: Input should be 'ephemeral'")
    if value.get("ttl") is not None:
        _ttl(value["ttl"], f"{path}.ttl")
    if value.get("scope") is not None:
        _scope(value["scope"], f"{path}.ephemeral.scope")
    for name in value:
        if name not in ("type", "ttl", "scope"):
            refuse(f"{path}.ephemeral.{name}: Extra inputs are not permitted")


def check_scopes(body: Mapping[str, Any]) -> None:
    """Refuses a `scope` of cached blocks, where the beta that has it is not asked for. The body's shape is right."""
    places: list[tuple[str, Any]] = [("", body)]
    places += [(f"tools.{at}.custom.", tool) for at, tool in enumerate(body.get("tools") or ())]
    system: Any = body.get("system")
    places += [(f"system.{at}.text.", block) for at, block in enumerate(system if type(system) is list else ())]
    for index, message in enumerate(body["messages"]):
        content = message["content"]
        for at, block in enumerate(content if type(content) is list else ()):
            places.append((f"messages.{index}.content.{at}.{block['type']}.", block))
    for path, holder in places:
        if "scope" in (holder.get("cache_control") or {}):
            refuse(f"{path}cache_control.ephemeral.scope: Extra inputs are not permitted")


_MARK: Mapping[str, Check] = {"cache_control": cache_control}


def _block(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, *, mark: bool = True) -> Check:
    """A content block: `type` is checked by whoever chose the variant."""
    return record(required={"type": string, **required}, optional={**(optional or {}), **(_MARK if mark else {})})


def _open(value: Any, path: str) -> None:
    """A block made by the provider itself, or of a beta: sent back as it came, not looked into."""
    cache_control(value.get("cache_control"), f"{path}.cache_control")


_image_source = tagged(
    {
        "base64": record(
            required={
                "type": string,
                "media_type": literal("image/jpeg", "image/png", "image/gif", "image/webp"),
                "data": string,
            }
        ),
        "url": record(required={"type": string, "url": string}),
        "file": record(required={"type": string, "file_id": string}),
    }
)
_text = _block({"text": string}, {"citations": nullable(listing(anything))})
_image = _block({"source": _image_source}, {"transformations": anything})
_document_source = tagged(
    {
        "base64": record(required={"type": string, "media_type": literal("application/pdf"), "data": string}),
        "text": record(required={"type": string, "media_type": literal("text/plain"), "data": string}),
        "content": record(required={"type": string, "content": anything}),
        "url": record(required={"type": string, "url": string}),
        "file": record(required={"type": string, "file_id": string}),
    }
)
_document = _block(
    {"source": _document_source},
    {"title": nullable(string), "context": nullable(string), "citations": nullable(mapping)},
)
_search_result = _block({"content": listing(anything), "source": string, "title": string}, {"citations": anything})
_result_content = tagged(
    {
        "text": _text,
        "image": _image,
        "document": _document,
        "search_result": _search_result,
        "tool_reference": _open,
        "browser_state": _open,
    }
)
BLOCKS: dict[str, Check] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "search_result": _search_result,
    "thinking": _block({"thinking": string, "signature": string}, mark=False),
    "redacted_thinking": _block({"data": string}, mark=False),
    "tool_use": _block(
        {"id": identifier, "name": _called, "input": mapping}, {"caller": anything, "toolset_name": anything}
    ),
    "tool_result": _block(
        {"tool_use_id": identifier},
        {
            "content": nullable(text_or(listing(_result_content))),
            "is_error": nullable(boolean),
            "toolset_name": anything,
        },
    ),
    **dict.fromkeys(
        (
            "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result",
            "code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result",
            "tool_search_tool_result", "mcp_tool_use", "mcp_tool_result", "container_upload", "compaction",
            "tool_addition", "tool_removal", "mcp_tool_listing", "fallback",
        ),
        _open,
    ),
}  # fmt: skip
_blocks = tagged(BLOCKS)


def _content(value: Any, path: str) -> None:
    """A string or a list of blocks. The commonest block, a plain text, takes a short cut: this loop is the hot path."""
    if type(value) is str:
        return
    if type(value) is not list:
        refuse(f"{path}: Input should be a valid list")
    for index, block in enumerate(value):
        if (
            type(block) is dict
            and block.get("type") == "text"
            and type(block.get("text")) is str
            and (len(block) == 2 or (len(block) == 3 and block.get("cache_control") == {"type": "ephemeral"}))
        ):
            continue
        _blocks(block, f"{path}.{index}")


def check_message(message: Any, index: int) -> None:
    """Refuse what is no message."""
    path = f"messages.{index}"
    mapping(message, path)
    if "role" not in message:
        refuse(f"{path}.role: Field required")
    role = message["role"]
    if role not in ("user", "assistant", "system"):
        refuse(f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".')
    if "content" not in message:
        refuse(f"{path}.content: Field required")
    _content(message["content"], f"{path}.content")
    if len(message) > 2:
        for name in message:
            if name not in ("role", "content", "output_config"):  # the last comes with per-turn control (beta)
                refuse(f"{path}.{name}: Extra inputs are not permitted")


def check_count(messages: Any) -> None:
    """Refuse what is no list of messages, an empty one, or one that is too long."""
    if type(messages) is not list:
        refuse("messages: Input should be a valid list")
    if not messages:
        refuse("messages: at least one message is required")
    if len(messages) > 100_000:
        refuse(f"messages: List should have at most 100000 items after validation, not {len(messages)}")


_custom_tool = record(
    required={"name": tool_name, "input_schema": mapping},
    optional={
        "type": nullable(string), "description": nullable(string), **_MARK, "strict": nullable(boolean),
        "defer_loading": nullable(boolean), "eager_input_streaming": nullable(boolean),
        "input_examples": nullable(listing(mapping)), "allowed_callers": nullable(listing(string)),
    },
)  # fmt: skip
_SERVER_TOOL = re.compile(
    r"(bash|text_editor|computer|computer_toolset|browser_toolset|memory|code_execution|web_search|web_fetch|advisor"
    r"|tool_search_tool_bm25|tool_search_tool_regex)_(\d{8})\Z|mcp_toolset\Z|tool_search_tool_(bm25|regex)\Z"
)


def _tool(value: Any, path: str) -> None:
    mapping(value, path)
    kind = value.get("type")
    if kind is None or kind == "custom":
        _custom_tool(value, f"{path}.custom")
        return
    if type(kind) is not str or not _SERVER_TOOL.match(kind):
        refuse(
            f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'bash_20250124', "
            "'custom', 'memory_20250818', 'text_editor_20250124', 'text_editor_20250429', 'text_editor_20250728', "
            "'web_fetch_20250910', 'web_search_20250305'"
        )
    _open(value, f"{path}.{kind}")


_parallel = {"disable_parallel_tool_use": boolean}
_tool_choice = tagged(
    {
        "auto": record(required={"type": string}, optional=_parallel),
        "any": record(required={"type": string}, optional=_parallel),
        "tool": record(required={"type": string, "name": string}, optional=_parallel),
        "none": record(required={"type": string}),
    }
)
_display = {"display": nullable(literal("summarized", "omitted", "updates")), "block_binding": anything}
_thinking = tagged(
    {
        "enabled": record(required={"type": string, "budget_tokens": integer(1024)}, optional=_display),
        "adaptive": record(required={"type": string}, optional=_display),
        "disabled": record(required={"type": string}),
        "between_tools": record(required={"type": string}, optional=_display),
    }
)
_format = tagged({"json_schema": record(required={"type": string, "schema": mapping})})
_output_config = record(
    required={},
    optional={
        "effort": nullable(literal("low", "medium", "high", "xhigh", "max")),
        "format": nullable(_format),
        "task_budget": nullable(mapping),
    },
)


def _stop_sequence(value: Any, path: str) -> None:
    string(value, path)
    if not value.strip():
        refuse("stop_sequences: each stop sequence must contain non-whitespace")


_system_text = tagged({"text": _text})
_FIELDS: dict[str, Check] = {
    "model": string,
    "max_tokens": integer(0),
    "messages": anything,  # `check_messages` of the caller
    "cache_control": cache_control,
    "container": anything,
    "diagnostics": nullable(record(required={}, optional={"previous_message_id": nullable(string)})),
    "inference_geo": nullable(string),
    "metadata": nullable(record(required={}, optional={"user_id": nullable(string)})),
    "output_config": nullable(_output_config),
    "service_tier": literal("auto", "standard_only"),
    "speed": nullable(literal("standard", "fast")),
    "stop_sequences": nullable(listing(_stop_sequence)),
    "stream": nullable(boolean),
    "system": nullable(text_or(listing(_system_text))),
    "temperature": nullable(number(0, 1)),
    "thinking": nullable(_thinking),
    "tool_choice": nullable(_tool_choice),
    "tools": nullable(listing(_tool)),
    "top_k": nullable(integer(0)),
    "top_p": nullable(number(0, 1)),
    "user_profile_id": nullable(string),
}
# Accepted with any anthropic-beta header or ?beta=true; which beta opens which field is not told apart.
_BETA_FIELDS: dict[str, Check] = dict.fromkeys(
    (
        "billing_policy", "compaction", "context_management", "fallback_credit_token", "fallbacks", "mcp_servers",
        "output_format", "safeguards", "thread",
    ),
    anything,
)  # fmt: skip
_input_tokens = record(required={"type": literal("input_tokens"), "value": integer(0)})
_trigger = tagged(
    {
        "input_tokens": record(required={"type": string, "value": integer(1)}),
        "tool_uses": record(required={"type": string, "value": integer(1)}),
    }
)


def _keep_thinking(value: Any, path: str) -> None:
    if value == "all":
        return
    tagged(
        {
            "all": record(required={"type": string}),
            "thinking_turns": record(required={"type": string, "value": integer(1)}),
        }
    )(value, path)


def _clear_inputs(value: Any, path: str) -> None:
    if type(value) is not bool:
        listing(string)(value, path)


_clear_tool_uses = record(
    required={"type": string},
    optional={
        "trigger": _trigger,
        "keep": record(required={"type": literal("tool_uses"), "value": integer(0)}),
        "clear_at_least": nullable(_input_tokens),
        "exclude_tools": nullable(listing(string)),
        "clear_tool_inputs": nullable(_clear_inputs),
    },
)
_EDITS: dict[str, Check] = {
    "clear_tool_uses_20250919": _clear_tool_uses,
    "clear_thinking_20251015": record(required={"type": string}, optional={"keep": _keep_thinking}),
}
_COMPACT: dict[str, Check] = {
    "compact_20260112": record(
        required={"type": string},
        optional={
            "trigger": nullable(record(required={"type": literal("input_tokens"), "value": integer(50_000)})),
            "pause_after_compaction": boolean,
            "instructions": nullable(string),
        },
    ),
}
_compaction = record(required={"type": literal("summarize")}, optional={"instructions": nullable(string)})


def _context_management(value: Any, path: str, betas: Betas) -> None:
    """Edits in their order; compaction among them only with its own beta."""
    if value is None:
        return
    kinds = _EDITS | _COMPACT if COMPACT_ON_THRESHOLD in betas else _EDITS
    record(required={}, optional={"edits": listing(tagged(kinds))})(value, path)
    for index, edit in enumerate(value.get("edits") or ()):
        if index and edit["type"].startswith("clear_thinking_"):
            refuse(f"{path}.edits.{index}: `{edit['type']}` must be the first edit")


_SAMPLING = ("temperature", "top_p", "top_k")


def check_shape(body: Any, check_messages: Callable[[], None], *, beta: Betas, counting: bool, sampling: bool) -> None:
    """Refuse what is not a request at all. `check_messages` is called when the messages have their turn. `counting`:
    count_tokens needs no max_tokens. `sampling`: API version 2023-06-01, which still has temperature, top_p and top_k.
    """
    if type(body) is not dict:
        refuse("Input should be a valid dictionary or object to extract fields from")
    required = ("model", "messages") if counting else ("model", "max_tokens", "messages")
    for name, check in _FIELDS.items():
        if name in body:
            if name == "messages":
                check_messages()
            check(body[name], name)
        elif name in required:
            refuse(f"{name}: Field required")
    for name in body:
        if name in _FIELDS:
            if name in _SAMPLING and not sampling:
                refuse(f"{name}: Extra inputs are not permitted")
        elif name not in _BETA_FIELDS or not beta:
            refuse(f"{name}: Extra inputs are not permitted")
        elif name == "context_management":
            if CONTEXT_MANAGEMENT not in beta and COMPACT_ON_THRESHOLD not in beta:
                refuse(f"{name}: Extra inputs are not permitted")
            _context_management(body[name], name, beta)
        elif name == "compaction":
            if COMPACT_ON_DEMAND not in beta:
                refuse(f"{name}: Extra inputs are not permitted")
            nullable(_compaction)(body[name], name)
