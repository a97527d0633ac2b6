"""What the API checks of JSON Schemas that a request brings: of functions, and of structured output."""

import re
from collections.abc import Mapping
from typing import Any

from simulators.dialects._openai.refusal import refuse

_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


def check_function(function: Mapping[str, Any], path: str) -> None:
    """Name and parameters of a function."""
    name = function.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        refuse(
            f"Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            param=f"{path}.name",
            code="invalid_value",
        )
    if len(name) > 64:
        refuse(
            f"Invalid '{path}.name': string too long. Expected a string with maximum length 64, but got a string with "
            f"length {len(name)} instead.",
            param=f"{path}.name",
            code="string_above_max_length",
        )
    schema = function.get("parameters")
    if schema is None or schema == {}:
        return
    problem = _problem(schema, top=True, strict=function.get("strict") is True)
    if problem:
        refuse(
            f"Invalid schema for function '{name}': {problem}",
            param=f"{path}.parameters",
            code="invalid_function_parameters",
        )


def check_output_format(form: Mapping[str, Any], path: str, *, nested: bool) -> None:
    """`response_format` (the schema is `nested` under `json_schema`), or `text.format`."""
    kind = form.get("type")
    if kind not in ("text", "json_object", "json_schema", "grammar", "python"):
        refuse(
            f"Invalid value: '{kind}'. Supported values are: 'json_object', 'json_schema', and 'text'.",
            param=f"{path}.type",
            code="invalid_value",
        )
    if kind != "json_schema":
        return
    place = f"{path}.json_schema" if nested else path
    described = form.get("json_schema") if nested else form
    if not isinstance(described, Mapping) or "name" not in described:
        refuse(f"Missing required parameter: '{place}.name'.", param=f"{place}.name", code="missing_required_parameter")
    if not isinstance(described, Mapping) or "schema" not in described:
        if not nested:
            refuse(
                f"Missing required parameter: '{place}.schema'.",
                param=f"{place}.schema",
                code="missing_required_parameter",
            )
        return
    problem = _problem(described["schema"], top=True, strict=described.get("strict") is True)
    if problem:
        refuse(
            f"Invalid schema for response_format '{described['name']}': {problem}",
            param=path if nested else f"{path}.schema",
            code="invalid_json_schema" if not nested else None,
        )


def _problem(schema: Any, *, top: bool = False, strict: bool = False, context: str = "") -> str | None:
    """What is wrong with a schema, as far as clients get it wrong."""
    if not isinstance(schema, Mapping):
        return f"{schema!r} is not of type 'object', 'boolean'." if not isinstance(schema, bool) else None
    kind = schema.get("type")
    if top and kind != "object":
        if "anyOf" in schema or "$ref" in schema:
            return None
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    kinds = kind if isinstance(kind, list) else [kind]
    if kind is not None and not all(isinstance(k, str) and k in _TYPES for k in kinds):
        return f"{kind!r} is not valid under any of the given schemas."
    if kind == "array" and "items" not in schema and "prefixItems" not in schema:
        return f"In context=({context}), array schema missing items."
    if strict and kind == "object":
        if schema.get("additionalProperties") is not False:
            return f"In context=({context}), 'additionalProperties' is required to be supplied and to be false."
        properties = schema.get("properties") or {}
        absent = [name for name in properties if name not in (schema.get("required") or ())]
        if absent:
            return (
                f"In context=({context}), 'required' is required to be supplied and to be an array including every key "
                f"in properties. Missing '{absent[0]}'."
            )
    return _inner(schema, strict, context)


def _inner(schema: Mapping[str, Any], strict: bool, context: str) -> str | None:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, part in properties.items():
            lead = f"{context}, " if context else ""
            problem = _problem(part, strict=strict, context=f"{lead}'properties', '{name}'")
            if problem:
                return problem
    items = schema.get("items")
    if isinstance(items, Mapping):
        lead = f"{context}, " if context else ""
        return _problem(items, strict=strict, context=f"{lead}'items'")
    return None
