"""The shape of a request: which fields there are, of which type. The first thing that is wrong is refused.

Field names are those of the `openai` package 3.57 (`types/chat/completion_create_params.py`); wording follows recorded
400s. Compatible servers take fields that they do not know; they are only asked for `model` and `messages`.
"""

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
    nullable,
    number,
    one_of,
    record,
    short_string,
    string,
    tagged,
)  # fmt: skip
from simulators.dialects._openai.profile import Profile
from simulators.dialects._openai.refusal import refuse

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_mark: dict[str, Check] = {"prompt_cache_breakpoint": nullable(mapping)}
_text = record(required={"type": string, "text": string}, optional=_mark)
_image = record(
    required={
        "type": string,
        "image_url": record(
            required={"url": string}, optional={"detail": nullable(literal("auto", "low", "high", "original"))}
        ),
    },
    optional=_mark,
)
_audio = record(
    required={"type": string, "input_audio": record(required={"data": string, "format": literal("wav", "mp3")})},
    optional=_mark,
)
_file = record(required={"type": string, "file": mapping}, optional=_mark)
_refusal = record(required={"type": string, "refusal": string})
_PARTS: dict[str, Check] = {"text": _text, "image_url": _image, "input_audio": _audio, "file": _file}
_CONTENT = "one of a string or array of objects"


def _content(parts: dict[str, Check]) -> Check:
    return one_of({str: string, list: listing(tagged(parts))}, _CONTENT)


_function_call = record(required={"name": string, "arguments": string})
_tool_call = tagged(
    {
        "function": record(
            required={"id": string, "type": string, "function": _function_call}, optional={"index": anything}
        ),
        "custom": record(
            required={"id": string, "type": string, "custom": record(required={"name": string, "input": string})}
        ),
    }
)
_named: dict[str, Check] = {"name": nullable(string)}
_MESSAGES: dict[str, Check] = {
    "system": record(required={"role": string, "content": _content({"text": _text})}, optional=_named),
    "developer": record(required={"role": string, "content": _content({"text": _text})}, optional=_named),
    "user": record(required={"role": string, "content": _content(_PARTS)}, optional=_named),
    "tool": record(
        required={"role": string, "content": _content({"text": _text}), "tool_call_id": string}, optional=_named
    ),
    "function": record(required={"role": string, "content": nullable(string), "name": string}),
    "assistant": record(
        required={"role": string},
        optional={
            "content": nullable(_content({"text": _text, "refusal": _refusal})),
            "refusal": nullable(string),
            "tool_calls": nullable(listing(_tool_call, at_least=1, at_most=128)),
            "function_call": nullable(_function_call),
            "audio": nullable(mapping),
            "annotations": anything,
            **_named,
        },
    ),
}


def message(value: Any, path: str) -> None:
    """One message; its role chooses the fields."""
    mapping(value, path)
    if "role" not in value:
        missing(f"{path}.role")
    literal(*ROLES)(value["role"], f"{path}.role")
    if value["role"] in ("user", "system", "developer") and value.get("content", 0) is None:
        refuse(
            f"Invalid value for 'content': expected a string, got null. (param: {path}.content)",
            param=f"{path}.content",
        )
    _MESSAGES[value["role"]](value, path)


_tool = tagged(
    {
        "function": record(
            required={
                "type": string,
                "function": record(
                    required={"name": string},
                    optional={
                        "description": nullable(string),
                        "parameters": nullable(mapping),
                        "strict": nullable(boolean),
                    },
                ),
            }
        ),
        "custom": record(required={"type": string, "custom": mapping}),
    }
)
_choice = one_of({str: literal("none", "auto", "required"), dict: mapping}, "one of a string or object")
_effort = nullable(literal("none", "minimal", "low", "medium", "high", "xhigh", "max"))
_REQUIRED: dict[str, Check] = {"messages": listing(message, at_least=1, of="an array of objects")}
_FIELDS: dict[str, Check] = {
    **_REQUIRED,
    "model": string,
    "audio": nullable(mapping),
    "frequency_penalty": nullable(number(-2, 2)),
    "function_call": anything,
    "functions": listing(mapping, at_least=1, at_most=128),
    "logit_bias": nullable(mapping),
    "logprobs": nullable(boolean),
    "max_completion_tokens": nullable(integer(1)),
    "max_tokens": nullable(integer(1)),
    "metadata": nullable(mapping),
    "modalities": nullable(listing(literal("text", "audio", "image"))),
    "moderation": nullable(mapping),
    "n": nullable(integer(1, 128)),
    "parallel_tool_calls": boolean,
    "prediction": nullable(mapping),
    "presence_penalty": nullable(number(-2, 2)),
    "prompt_cache_key": nullable(short_string(64)),
    "prompt_cache_options": nullable(mapping),
    "prompt_cache_retention": nullable(literal("in_memory", "in-memory", "24h")),
    "reasoning_effort": _effort,
    "response_format": nullable(mapping),
    "safety_identifier": nullable(string),
    "seed": nullable(integer()),
    "service_tier": nullable(literal("auto", "default", "flex", "scale", "priority", "fast", "standard")),
    "stop": nullable(one_of({str: string, list: listing(string, at_most=4)}, "one of a string or array of strings")),
    "store": nullable(boolean),
    "stream": nullable(boolean),
    "stream_options": nullable(
        record(required={}, optional={"include_usage": nullable(boolean), "include_obfuscation": nullable(boolean)})
    ),
    "temperature": nullable(number(0, 2)),
    "tool_choice": _choice,
    "tools": listing(_tool, at_most=128),
    "top_logprobs": nullable(integer(0, 20)),
    "top_p": nullable(number(0, 1)),
    "user": string,
    "verbosity": nullable(literal("low", "medium", "high")),
    "web_search_options": mapping,
}


def check_shape(body: dict[str, Any], profile: Profile) -> None:
    """Refuse the first field that is missing, of a wrong type, or unknown."""
    if body.get("model") in (None, ""):
        refuse("you must provide a model parameter")
    if profile.strict:
        string(body["model"], "model")
        for name in body:
            if name not in _FIELDS:
                refuse(f"Unrecognized request argument supplied: {name}")
        fields(body, _FIELDS, _REQUIRED)
        return
    string(body["model"], "model")
    if "messages" not in body:
        missing("messages")
    listing(lambda value, path: literal(*ROLES)(value.get("role") if type(value) is dict else value, f"{path}.role"))(
        body["messages"], "messages"
    )
    for name in ("tools", "stream", "temperature", "top_p", "n", "stop"):
        if body.get(name) is not None:
            _FIELDS[name](body[name], name)
