"""The tools that each version offers, as they stand on the wire: names, parameters, and descriptions of equal length.

Lengths and parameter names are taken from recorded requests; the descriptions are filler (`texts.prose`). A parameter
is a string unless its name is followed by a type; a trailing `!` marks a required one.
"""

import json
from collections.abc import Mapping
from typing import Any

from simulators.cli.claude.texts import prose

_TYPES = {"b": "boolean", "n": "number", "i": "integer", "a": "array", "o": "object"}

# name: (length of the description on announced models, on inline models, parameters)
_2_1_332: dict[str, tuple[int, int, str]] = {
    "Agent": (3225, 8227, "description! effort isolation model prompt! run_in_background:b subagent_type"),
    "AskUserQuestion": (1394, 1394, "questions:a! answers:o annotations:o metadata:o"),
    "Bash": (2110, 10778, "command! dangerouslyDisableSandbox:b description run_in_background:b timeout:n"),
    "Edit": (360, 1094, "file_path! new_string! old_string! replace_all:b"),
    "ListAgents": (1433, 1433, "channel cursor q"),
    "Read": (790, 1782, "allow_large:b file_path! limit:n offset:n pages"),
    "ReportFindings": (574, 574, "findings:a! level"),
    "ScheduleWakeup": (3396, 3396, "delaySeconds:n! noop:b prompt! reason! stop:b"),
    "Skill": (1417, 1417, "args skill!"),
    "ToolSearch": (952, 953, "max_results:n query!"),
    "Workflow": (3496, 3480, "args:o description name resumeFromRunId script scriptPath title"),
    "DeferredToolPlaceholder": (83, 83, ""),
    "Write": (240, 618, "content! file_path!"),
    "CronCreate": (3716, 3716, "cron! durable:b prompt! recurring:b"),
    "CronDelete": (167, 167, "id!"),
    "CronList": (106, 106, ""),
    "EnterWorktree": (3220, 3220, "name path"),
    "ExitWorktree": (2149, 2149, "action! discard_changes:b"),
    "Monitor": (6357, 6357, "command! description timeout_ms:n ws:o"),
    "NotebookEdit": (619, 619, "cell_id cell_type edit_mode new_source! notebook_path!"),
    "SendMessage": (4761, 4761, "message! notify_when_idle:b summary to!"),
    "TaskStop": (364, 364, "shell_id task_id"),
    "WebFetch": (469, 469, "offset:n prompt! url!"),
    "WebSearch": (334, 334, "allowed_domains:a blocked_domains:a query!"),
}
_2_1_19: dict[str, tuple[int, int, str]] = {
    "Task": (
        0,
        6079,
        "description! prompt! subagent_type! model resume run_in_background:b max_turns:i allowed_tools:a",
    ),
    "TaskOutput": (0, 446, "task_id! block:b! timeout:n!"),
    "Bash": (0, 10625, "command! timeout:n description run_in_background:b dangerouslyDisableSandbox:b"),
    "Glob": (0, 530, "pattern! path"),
    "Grep": (0, 865, "pattern! path glob output_mode -B:n -A:n -C:n -n:b -i:b type head_limit:n offset:n multiline:b"),
    "ExitPlanMode": (0, 1849, "allowedPrompts:a pushToRemote:b remoteSessionId remoteSessionUrl remoteSessionTitle"),
    "Read": (0, 1752, "file_path! offset:n limit:n"),
    "Edit": (0, 1110, "file_path! old_string! new_string! replace_all:b"),
    "Write": (0, 622, "file_path! content!"),
    "NotebookEdit": (0, 513, "notebook_path! cell_id new_source! cell_type edit_mode"),
    "WebFetch": (0, 1504, "url! prompt!"),
    "TodoWrite": (0, 9701, "todos:a!"),
    "WebSearch": (0, 1313, "query! allowed_domains:a blocked_domains:a"),
    "TaskStop": (0, 203, "task_id shell_id"),
    "AskUserQuestion": (0, 813, "questions:a! answers:o metadata:o"),
    "Skill": (0, 1608, "skill! args"),
    "EnterPlanMode": (0, 4021, ""),
}
_BY_VERSION = {"2.1.19": _2_1_19, "2.1.332": _2_1_332}


def tool(name: str, version: str, form: str) -> dict[str, Any]:
    """One tool as a request carries it."""
    announced, inline, _ = _BY_VERSION[version][name]
    length = announced if form == "announced" else inline
    made: dict[str, Any] = {
        "name": name,
        "description": prose(f"tool {name}", length),
        "input_schema": schema(name, version),
    }
    if name == "DeferredToolPlaceholder":
        made["defer_loading"] = True
    return made


def schema(name: str, version: str) -> dict[str, Any]:
    """The JSON Schema of a tool's input."""
    properties: dict[str, Any] = {}
    required = []
    for word in _BY_VERSION[version][name][2].split():
        key, _, kind = word.rstrip("!").partition(":")
        properties[key] = {"type": _TYPES.get(kind, "string"), "description": prose(f"{name}.{key}", 60)}
        if kind == "a":
            properties[key]["items"] = {}
        if word.endswith("!"):
            required.append(key)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def problems(name: str, version: str, given: dict[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with a tool's input: ("missing" | "unexpected", parameter), in the CLI's order."""
    expected = schema(name, version)
    missing = [("missing", key) for key in expected["required"] if key not in given]
    return missing + [("unexpected", key) for key in given if key not in expected["properties"]]


def structured_output(schema_text: str) -> dict[str, Any]:
    """The tool that --json-schema adds."""
    return {
        "name": "StructuredOutput",
        "description": prose("tool StructuredOutput", STRUCTURED_OUTPUT_LENGTH),
        "input_schema": json.loads(schema_text),
    }


STRUCTURED_OUTPUT_LENGTH = 178


def unfit(schema: Mapping[str, Any], value: Any, at: str = "root") -> str:
    """What keeps a value from fitting a JSON Schema (types, required, properties, items, enum), or ""."""
    kinds: dict[str, tuple[type, ...]] = {
        "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "number": (int, float),
        "integer": (int,), "null": (type(None),),
    }  # fmt: skip
    kind = schema.get("type")
    if isinstance(kind, str) and kind in kinds:
        fits = isinstance(value, kinds[kind]) and not (kind in ("number", "integer") and isinstance(value, bool))
        if not fits:
            return f"{at}: must be {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at}: must be equal to one of the allowed values"
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        for key in schema.get("required") or ():
            if key not in value:
                return f"{at}: must have required property '{key}'"
        if schema.get("additionalProperties") is False and set(value) - set(properties):
            return f"{at}: must NOT have additional properties"
        problems = (unfit(sub, value[key], f"/{key}") for key, sub in properties.items() if key in value)
        return next((p for p in problems if p), "")
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return next((p for i, item in enumerate(value) if (p := unfit(schema["items"], item, f"{at}/{i}"))), "")
    return ""
