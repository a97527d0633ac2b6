"""What the API refuses once a request has the right shape and a known model, in the vendor's words."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simulators.core.turn import ModelInfo
from simulators.dialects._openai.gates import Gates
from simulators.dialects._openai.limits import check_cache_options, check_effort
from simulators.dialects._openai.refusal import refuse
from simulators.dialects._openai.schemas import check_function, check_output_format
from simulators.dialects._openai.seal import opened
from simulators.dialects.openai_responses.notes import Item

CALLS = {
    "function_call": "function call",
    "custom_tool_call": "custom tool call",
    "local_shell_call": "local shell call",
    "shell_call": "shell call",
    "apply_patch_call": "apply_patch call",
    "computer_call": "computer call",
}
OUTPUTS = {f"{name}_output": name for name in CALLS}
_MEDIA = re.compile(r"\.(mp3|wav|m4a|ogg|flac|mp4|mov|avi|webm|mkv)$", re.I)
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def check_rules(body: Mapping[str, Any], model: ModelInfo, gates: Gates) -> None:
    """Refuse what this model or the API does not allow, the conversation apart."""
    if body.get("previous_response_id") and body.get("conversation"):
        refuse(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing "
            "one of these parameters.",
            code="mutually_exclusive_parameters",
        )
    if body.get("background") and body.get("store") is False and not body.get("stream"):
        refuse("Background mode requires 'store' to be true.", param="store")
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort")
    if effort is not None and effort not in _EFFORTS:
        refuse(
            f"Invalid value: '{effort}'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', "
            "and 'max'.",
            param="reasoning.effort",
            code="invalid_value",
        )
    if gates.reasons:
        check_effort(effort, gates, "reasoning.effort")
        if (effort or gates.default_effort) != "none":
            _check_sampling(body)
    elif effort is not None and gates.known:
        refuse(
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            param="reasoning.effort",
            code="unsupported_parameter",
        )
    elif gates.known and "reasoning.encrypted_content" in (body.get("include") or ()):
        refuse("Encrypted content is not supported with this model.", param="include")
    check_cache_options(body, gates)
    _check_limit(body, model)
    _check_tools(body)


def _check_sampling(body: Mapping[str, Any]) -> None:
    """Models that reason know neither, in the words of this API."""
    for name in ("temperature", "top_p"):
        if body.get(name) not in (None, 1):
            refuse(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                param=name,
                code="unsupported_parameter",
            )


def _check_limit(body: Mapping[str, Any], model: ModelInfo) -> None:
    limit = body.get("max_output_tokens")
    if limit is not None and limit > model.max_output:
        refuse(
            f"max_output_tokens is too large: {limit}. This model supports at most {model.max_output} completion "
            f"tokens, whereas you provided {limit}.",
            param="max_output_tokens",
            code="invalid_value",
        )


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools") or ()
    for index, tool in enumerate(tools):
        if tool["type"] == "function":
            check_function(tool, f"tools[{index}]")
    names = {tool.get("name") for tool in tools}
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function" and choice.get("name") not in names:
        refuse(f"Tool choice '{choice.get('name')}' not found in 'tools' parameter.", param="tool_choice")
    form = (body.get("text") or {}).get("format")
    if isinstance(form, dict):
        check_output_format(form, "text.format", nested=False)


def check_files(items: Sequence[Item]) -> None:
    """A file by its address must be one that can be read."""
    for item in items:
        content = item.get("content", item.get("output"))
        for part in content if isinstance(content, list) else ():
            address = part.get("file_url") if isinstance(part, dict) and part.get("type") == "input_file" else None
            if isinstance(address, str) and _MEDIA.search(address.partition("?")[0]):
                refuse(
                    "The file type you uploaded is not supported. Please try again with a pdf",
                    param="input",
                    code="unsupported_file",
                )


def check_conversation(items: Sequence[Item]) -> None:
    """Calls and outputs belong together, reasoning has its successor, sealed content is whole."""
    called = {item.get("call_id") for item in items if item.get("type") not in OUTPUTS}
    answered = {item.get("call_id") for item in items if item.get("type") in OUTPUTS}
    for item in items:
        kind = item.get("type")
        if kind in ("function_call_output", "custom_tool_call_output") and item.get("call_id") not in called:
            refuse(
                f"No tool call found for {CALLS[OUTPUTS[kind]]} output with call_id {item.get('call_id')}.",
                param="input",
                kind="poisoned_history",
            )
        if kind in ("function_call", "custom_tool_call") and item.get("call_id") not in answered:
            refuse(
                f"No tool output found for {CALLS[kind]} {item.get('call_id')}.",
                param="input",
                kind="poisoned_history",
            )
        if kind in ("reasoning", "compaction") and opened(item.get("encrypted_content") or "") is None:
            refuse(
                f"The encrypted content for item {item.get('id')} could not be verified. Reason: Encrypted content "
                "could not be decrypted or parsed.",
                code="invalid_encrypted_content",
                kind="poisoned_history",
            )
    _check_reasoning(items)


def _check_reasoning(items: Sequence[Item]) -> None:
    for at, item in enumerate(items):
        if item.get("type") != "reasoning" or not item.get("id"):
            continue
        follower = items[at + 1] if at + 1 < len(items) else {"role": "user"}
        if follower.get("role") in ("user", "developer", "system") or follower.get("type") in OUTPUTS:
            refuse(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
                param="input",
                kind="poisoned_history",
            )


def check_links(items: Sequence[Item], links: Mapping[str, str]) -> None:
    """A call that was made with reasoning comes with it. `links`: the reasoning of each item that has one."""
    there = {item.get("id") for item in items if item.get("type") == "reasoning"}
    for item in items:
        needed = links.get(str(item.get("id")))
        if needed is not None and needed not in there:
            refuse(
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' item: "
                f"'{needed}'.",
                param="input",
                kind="poisoned_history",
            )
