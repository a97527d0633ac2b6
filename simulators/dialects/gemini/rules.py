"""What the API refuses of a request whose fields are all known: settings, tools and their schemas.

The words are the API's as recorded or documented; a request with several mistakes is told of the first.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simulators.core.turn import ModelInfo
from simulators.dialects.gemini.gates import Gates
from simulators.dialects.gemini.refusal import refuse, refuse_field

_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,127}\Z", re.ASCII)
_BAD_NAME = (
    "[FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, "
    "0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
)
_RANGES = {"temperature": (0.0, 2.0), "topP": (0.0, 1.0)}
_MOST_STOPS = 5
_MOST_CANDIDATES = 8
_JSON = frozenset({"application/json", "text/x.enum"})
_MIME = _JSON | {"", "text/plain", "application/xml", "application/yaml"}


def check_generation(body: Mapping[str, Any], info: ModelInfo, gates: Gates) -> None:
    """Everything but the contents."""
    config = body.get("generationConfig") or {}
    _check_numbers(config)
    _check_answer(config)
    _check_thinking(config, gates)
    tools = body.get("tools") or ()
    names = check_tools(tools)
    _check_choice((body.get("toolConfig") or {}).get("functionCallingConfig") or {}, names)
    if not gates.mixes:
        _check_mixture(tools, names, config)


def _check_numbers(config: Mapping[str, Any]) -> None:
    for name, (low, high) in _RANGES.items():
        value = config.get(name)
        if value is not None and not low <= value <= high:
            field = "top_p" if name == "topP" else name
            refuse_field(f"generation_config.{field}", f"{field} must be in the range [{low}, {high}].")
    if (top_k := config.get("topK")) is not None and top_k < 1:
        refuse_field("generation_config.top_k", "top_k must be positive.")
    if (most := config.get("maxOutputTokens")) is not None and most < 1:
        refuse_field("generation_config.max_output_tokens", "max_output_tokens must be positive.")
    candidates = config.get("candidateCount")
    if candidates is not None and not 1 <= candidates <= _MOST_CANDIDATES:
        refuse_field(
            "generation_config.candidate_count", f"candidate_count must be in the range [1, {_MOST_CANDIDATES}]."
        )
    if candidates and candidates > 1:
        refuse("Multiple candidates is not enabled for this model")
    if len(config.get("stopSequences") or ()) > _MOST_STOPS:
        refuse_field("generation_config.stop_sequences", f"the number of stop_sequences must be at most {_MOST_STOPS}.")


def _check_answer(config: Mapping[str, Any]) -> None:
    """The form of the answer."""
    mime = config.get("responseMimeType") or ""
    if mime not in _MIME:
        allowed = "`text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`"
        refuse_field("generation_config.response_mime_type", f"allowed mimetypes are {allowed}.")
    schemas = [name for name in ("responseSchema", "responseJsonSchema", "_responseJsonSchema") if name in config]
    if len(schemas) > 1:
        refuse_field("generation_config.response_json_schema", "only one of response_schema and it may be set.")
    if schemas and mime not in _JSON:
        snaked = "response_schema" if schemas[0] == "responseSchema" else "response_json_schema"
        refuse_field(f"generation_config.{snaked}", "only allowed when response_mime_type is `application/json`.")
    if "responseSchema" in config:
        _check_schema(config["responseSchema"], "generation_config.response_schema")


def _check_thinking(config: Mapping[str, Any], gates: Gates) -> None:
    asked = config.get("thinkingConfig") or {}
    level, budget = asked.get("thinkingLevel"), asked.get("thinkingBudget")
    if level and budget is not None:
        refuse("You can only set only one of thinking budget and thinking level.")
    if gates.budget is None and (level or budget or asked.get("includeThoughts")):
        refuse("Thinking is not supported for this model.")
    if level and not gates.levels:
        refuse("Thinking level is not supported for this model.")
    if budget is None or budget == -1 or gates.budget is None:
        return
    low, high = gates.budget
    if budget == 0 and gates.must_think:
        refuse("Budget 0 is invalid. This model only works in thinking mode.")
    if budget and not low <= budget <= high:
        refuse(f"The thinking budget {budget} is invalid. Please choose a value between {low} and {high}.")


def check_tools(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of all functions that are declared, checked with their schemas."""
    names: list[str] = []
    for index, tool in enumerate(tools):
        for position, function in enumerate(tool.get("functionDeclarations") or ()):
            path = f"tools[{index}].function_declarations[{position}]"
            name = function.get("name") or ""
            if not _NAME.match(name):
                refuse_field(f"{path}.name", _BAD_NAME)
            if name in names:
                refuse(f"Duplicate function declaration found: {name}")
            names.append(name)
            for plain, json in (("parameters", "parametersJsonSchema"), ("response", "responseJsonSchema")):
                if plain in function and json in function:
                    refuse_field(f"{path}.{plain}_json_schema", f"only one of {plain} and it may be set.")
                if plain in function:
                    _check_schema(function[plain], f"{path}.{plain}")
    return names


def _check_schema(schema: Mapping[str, Any], path: str) -> None:
    """A schema of the API's own kind; its unknown fields were refused before."""
    kind = schema.get("type")
    properties = schema.get("properties") or {}
    for position, name in enumerate(schema.get("required") or ()):
        if name not in properties:
            refuse_field(f"{path}.required[{position}]", "property is not defined")
    if kind == "ARRAY" and "items" not in schema:
        refuse_field(f"{path}.items", "missing field.")
    if schema.get("enum") and kind != "STRING":
        refuse_field(f"{path}.enum", "only allowed for STRING type")
    if "items" in schema:
        _check_schema(schema["items"], f"{path}.items")
    for name, inner in properties.items():
        _check_schema(inner, f"{path}.properties[{name}]")
    for position, inner in enumerate(schema.get("anyOf") or ()):
        _check_schema(inner, f"{path}.any_of[{position}]")


def _check_choice(choice: Mapping[str, Any], names: Sequence[str]) -> None:
    mode, allowed = choice.get("mode"), choice.get("allowedFunctionNames") or ()
    if allowed and mode not in ("ANY", "VALIDATED"):
        refuse("Please set allowed_function_names only when function calling mode is ANY.")
    if mode == "ANY" and not names:
        refuse("Function calling config is set without function_declarations.")
    for position, name in enumerate(allowed):
        if name not in names:
            refuse_field(
                f"tool_config.function_calling_config.allowed_function_names[{position}]",
                "function name is not declared in function_declarations.",
            )


def _check_mixture(tools: Sequence[Mapping[str, Any]], names: Sequence[str], config: Mapping[str, Any]) -> None:
    """Models before 3 answer in JSON, call functions or use built-in tools: one of the three."""
    built_in = any(name != "functionDeclarations" for tool in tools for name in tool)
    if names and built_in:
        refuse("Tool use with function calling is unsupported")
    if config.get("responseMimeType") in _JSON:
        said = f"with a response mime type: '{config['responseMimeType']}' is unsupported"
        if names:
            refuse(f"Function calling {said}")
        if built_in:
            refuse(f"Tool use {said}")
