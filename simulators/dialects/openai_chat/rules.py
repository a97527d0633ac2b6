"""What the API refuses once a request has the right shape and a known model, in the vendor's words."""

from typing import Any

from simulators.core.turn import ModelInfo
from simulators.dialects._openai.gates import Gates
from simulators.dialects._openai.limits import check_cache_options, check_effort, check_sampling, unsupported
from simulators.dialects._openai.profile import Profile
from simulators.dialects._openai.refusal import refuse
from simulators.dialects._openai.schemas import check_function, check_output_format

_SAYS = ("content", "function_call", "refusal", "audio", "reasoning_content", "reasoning")


def check_rules(body: dict[str, Any], model: ModelInfo, gates: Gates, profile: Profile) -> None:
    """Refuse what this model or the API does not allow. Compatible servers check the conversation alone."""
    if profile.strict:
        _check_gates(body, model, gates)
        _check_tools(body)
        _check_parts(body, gates)
    _check_conversation(body["messages"])


def _check_gates(body: dict[str, Any], model: ModelInfo, gates: Gates) -> None:
    if body.get("stream_options") is not None and not body.get("stream"):
        refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")
    if body.get("web_search_options") is not None and gates.known and not gates.search:
        refuse("Web search options not supported with this model.", param="web_search_options")
    if gates.reasons:
        if body.get("max_tokens") is not None:
            refuse(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
                "instead.",
                param="max_tokens",
                code="unsupported_parameter",
            )
        if body.get("stop") is not None:
            unsupported("stop")
        if (body.get("reasoning_effort") or gates.default_effort) != "none":
            check_sampling(body, ("temperature", "top_p", "presence_penalty", "frequency_penalty"))
        check_effort(body.get("reasoning_effort"), gates, "reasoning_effort")
        if body.get("logprobs"):
            unsupported("logprobs")
    elif body.get("reasoning_effort") is not None and gates.known:
        refuse("Unrecognized request argument supplied: reasoning_effort")
    elif body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        refuse(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            param="max_tokens",
            code="invalid_parameter_combination",
        )
    for name in ("max_tokens", "max_completion_tokens"):
        limit = body.get(name)
        if limit is not None and limit > model.max_output:
            refuse(
                f"max_tokens is too large: {limit}. This model supports at most {model.max_output} completion tokens, "
                f"whereas you provided {limit}.",
                param=name,
                code="invalid_value",
            )
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        refuse("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", param="top_logprobs")
    check_cache_options(body, gates)


def _check_tools(body: dict[str, Any]) -> None:
    names = set()
    for index, tool in enumerate(body.get("tools") or ()):
        if tool["type"] == "function":
            check_function(tool["function"], f"tools[{index}].function")
            names.add(tool["function"]["name"])
        elif isinstance(tool["custom"].get("name"), str):
            names.add(tool["custom"]["name"])
    choice = body.get("tool_choice")
    if choice is not None and not body.get("tools") and choice != "none":
        refuse("'tool_choice' is only allowed when 'tools' are specified.", param="tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        name = (choice.get("function") or {}).get("name")
        if name not in names:
            refuse(
                f"Invalid value for 'tool_choice': 'tool_choice': no function named '{name}' was specified in the "
                "'tools' parameter.",
                param="tool_choice",
            )
    form = body.get("response_format")
    if form is not None:
        check_output_format(form, "response_format", nested=True)
        if form.get("type") == "json_object" and not _mentions_json(body["messages"]):
            refuse(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
                param="messages",
            )


def _mentions_json(messages: list[dict[str, Any]]) -> bool:
    return any("json" in str(message.get("content") or "").lower() for message in messages)


def _check_parts(body: dict[str, Any], gates: Gates) -> None:
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        if not gates.known or gates.audio or not isinstance(content, list):
            continue
        if any(part.get("type") == "input_audio" for part in content):
            refuse(
                f"Invalid 'messages[{index}]'. Content blocks are expected to be either text or image_url type.",
                param=f"messages[{index}]",
                code="invalid_value",
            )


def _check_conversation(messages: list[dict[str, Any]]) -> None:
    """Every call is answered by `tool` messages before anything else, and nothing else is."""
    open_ids: list[str] = []
    called: set[str] = set()
    asked_at = 0
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in called:
                refuse(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    param=f"messages.[{index}].role",
                    kind="poisoned_history",
                )
            if message["tool_call_id"] in open_ids:
                open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            _unanswered(open_ids, index)
        called = set()
        if message["role"] == "assistant" and message.get("tool_calls"):
            open_ids, asked_at = [call["id"] for call in message["tool_calls"] if "id" in call], index
            called = set(open_ids)
        elif message["role"] == "assistant" and not any(message.get(name) is not None for name in _SAYS):
            refuse(
                f"Invalid value for 'content': expected a string, got null. (param: messages.[{index}].content)",
                param=f"messages.[{index}].content",
            )
    if open_ids:
        _unanswered(open_ids, asked_at + 1)


def _unanswered(ids: list[str], index: int) -> None:
    refuse(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}",
        param=f"messages.[{index}].role",
        kind="poisoned_history",
    )
