"""The shape of a request: which fields there are, of which type. The first thing that is wrong is refused.

Field names and item kinds are those of the `openai` package 3.57 (`types/responses/response_create_params.py`,
`response_input_item_param.py`, `tool_param.py`); wording follows recorded 400s.
"""

from collections.abc import Mapping
from typing import Any

from simulators.dialects._openai.checks import (
    Check,
    anything,
    boolean,
    fields,
    integer,
    listing,
    literal,
    mapping,
    missing,
    not_among,
    nullable,
    number,
    one_of,
    record,
    short_string,
    string,
    tagged,
)  # fmt: skip

_ROLES = ("assistant", "system", "developer", "user")
# Items that the provider made, or of tools of its own: sent back as they came, looked into no further.
OPEN_ITEMS = (
    "file_search_call", "computer_call", "computer_call_output", "web_search_call", "tool_search_call",
    "tool_search_output", "additional_tools", "configuration_update", "image_generation_call", "code_interpreter_call",
    "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
    "apply_patch_call_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call",
    "compaction_trigger", "program", "program_output", "compaction_summary",
)  # fmt: skip
_CONTENT = "one of an array of objects or string"


def _needs(**required: Check) -> Check:
    """An object with at least these fields; the others are the provider's own."""

    def check(value: Any, path: str) -> None:
        mapping(value, path)
        for name, field in required.items():
            if name not in value:
                missing(f"{path}.{name}")
            field(value[name], f"{path}.{name}")

    return check


_PARTS: dict[str, Check] = {
    "input_text": _needs(text=string),
    "input_image": _needs(),
    "input_file": _needs(),
    "input_audio": _needs(),
    "output_text": _needs(text=string),
    "refusal": _needs(refusal=string),
    "computer_screenshot": _needs(),
    "summary_text": _needs(text=string),
    "text": _needs(text=string),
    "reasoning_text": _needs(text=string),
    "encrypted_content": _needs(),
}
_content = one_of({str: string, list: listing(tagged(_PARTS))}, _CONTENT)
_ITEMS: dict[str, Check] = {
    "message": _needs(role=literal(*_ROLES), content=_content),
    "function_call": _needs(call_id=string, name=string, arguments=string),
    "function_call_output": _needs(call_id=string, output=_content),
    "custom_tool_call": _needs(call_id=string, name=string, input=string),
    "custom_tool_call_output": _needs(call_id=string, output=_content),
    "reasoning": _needs(summary=listing(mapping)),
    "compaction": _needs(encrypted_content=string),
    "item_reference": _needs(id=string),
    **{name: _needs() for name in OPEN_ITEMS},
}


def item(value: Any, path: str) -> None:
    """One item of the input. A message needs no type, a reference neither."""
    mapping(value, path)
    kind = value.get("type")
    if kind is None:
        kind = "message" if "role" in value else "item_reference" if set(value) == {"id"} else None
        if kind is None:
            missing(f"{path}.type")
    check = _ITEMS.get(kind) if isinstance(kind, str) else None
    if check is None:
        not_among(kind, list(_ITEMS), f"{path}.type")
    else:
        check(value, path)


def _tool(value: Any, path: str) -> None:
    mapping(value, path)
    if "type" not in value:
        missing(f"{path}.type")
    if value["type"] not in TOOLS:
        not_among(value["type"], TOOLS, f"{path}.type")
    if value["type"] in ("function", "custom"):
        if "name" not in value:
            missing(f"{path}.name")
        string(value["name"], f"{path}.name")
        for name, check in _FUNCTION.items():
            if name in value:
                check(value[name], f"{path}.{name}")


_FUNCTION: dict[str, Check] = {
    "description": nullable(string),
    "parameters": nullable(mapping),
    "strict": nullable(boolean),
}
TOOLS = (
    "function", "file_search", "computer", "computer_use_preview", "web_search", "web_search_2025_08_26", "mcp",
    "code_interpreter", "programmatic_tool_calling", "image_generation", "local_shell", "shell", "custom", "namespace",
    "tool_search", "web_search_preview", "web_search_preview_2025_03_11", "apply_patch",
)  # fmt: skip
_conversation = one_of({str: string, dict: _needs(id=string)}, "one of a string or object")
_input = one_of({str: string, list: listing(item)}, "one of a string or array of objects")
_FIELDS: dict[str, Check] = {
    "access_programs": nullable(mapping),
    "background": nullable(boolean),
    "background_options": nullable(mapping),
    "client_metadata": nullable(mapping),
    "context_management": nullable(
        listing(record(required={"type": string}, optional={"compact_threshold": nullable(integer(1000))}))
    ),
    "conversation": nullable(_conversation),
    "generate": nullable(boolean),
    "image": anything,
    "include": nullable(listing(string)),
    "input": nullable(_input),
    "instructions": nullable(string),
    "max_output_tokens": nullable(integer(16)),
    "max_tool_calls": nullable(integer(0)),
    "metadata": nullable(mapping),
    "model": string,
    "moderation": nullable(mapping),
    "parallel_tool_calls": nullable(boolean),
    "personality": nullable(string),
    "previous_response_id": nullable(string),
    "prompt": nullable(mapping),
    "prompt_cache_key": nullable(short_string(64)),
    "prompt_cache_options": nullable(mapping),
    "prompt_cache_retention": nullable(literal("in_memory", "in-memory", "24h")),
    "reasoning": nullable(mapping),
    "safety_identifier": nullable(string),
    "service_tier": nullable(literal("auto", "default", "flex", "scale", "priority", "fast", "standard")),
    "store": nullable(boolean),
    "stream": nullable(boolean),
    "stream_id": nullable(string),
    "stream_options": nullable(mapping),
    "temperature": nullable(number(0, 2)),
    "text": nullable(mapping),
    "tool_choice": nullable(
        one_of({str: literal("none", "auto", "required"), dict: mapping}, "one of a string or object")
    ),
    "tools": nullable(listing(_tool)),
    "top_logprobs": nullable(integer(0, 20)),
    "top_p": nullable(number(0, 1)),
    "truncation": nullable(literal("auto", "disabled")),
    "user": nullable(string),
}
_INCLUDABLE = (
    "file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
    "message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs",
    "reasoning.encrypted_content", "message.output_text.logprobs",
)  # fmt: skip


def check_shape(body: Mapping[str, Any], *, needs_input: bool) -> None:
    """Refuse the first field that is missing, of a wrong type, or unknown."""
    required: dict[str, Check] = {"model": string} if needs_input else {}
    fields(body, _FIELDS, required)
    if (
        needs_input
        and body.get("input") is None
        and not any(body.get(name) for name in ("previous_response_id", "prompt", "conversation", "instructions"))
    ):
        missing("input")
    for at, name in enumerate(body.get("include") or ()):
        if name not in _INCLUDABLE:
            not_among(name, _INCLUDABLE, f"include[{at}]")
