"""The tools that gemini offers in each approval mode, as they stand on the wire.

Names, parameters and their order are those of recorded requests; a number stands where the vendor's prose stands, and
is its length (`declarations` puts filler there).
"""

from collections.abc import Mapping
from typing import Any

from simulators.cli.prose import prose

_TOOLS: dict[str, dict[str, Any]] = {
    "update_topic": {
        "name": "update_topic",
        "description": 137,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": 38},
                "summary": {"type": "string", "description": 219},
                "strategic_intent": {"type": "string", "description": 60},
                "wait_for_previous": {"type": "boolean", "description": 204},
            },
            "required": ["strategic_intent"],
        },
    },
    "list_directory": {
        "name": "list_directory",
        "description": 150,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "dir_path": {"description": 33, "type": "string"},
                "ignore": {"description": 31, "items": {"type": "string"}, "type": "array"},
                "file_filtering_options": {
                    "description": 77,
                    "type": "object",
                    "properties": {
                        "respect_git_ignore": {"description": 122, "type": "boolean"},
                        "respect_gemini_ignore": {"description": 89, "type": "boolean"},
                    },
                },
            },
            "required": ["dir_path"],
        },
    },
    "read_file": {
        "name": "read_file",
        "description": 552,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "file_path": {"description": 29, "type": "string"},
                "start_line": {"description": 56, "type": "integer", "minimum": 1},
                "end_line": {"description": 64, "type": "integer", "minimum": 1},
            },
            "required": ["file_path"],
        },
    },
    "grep_search": {
        "name": "grep_search",
        "description": 80,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "pattern": {"description": 137, "type": "string"},
                "dir_path": {"description": 114, "type": "string"},
                "include_pattern": {"description": 169, "type": "string"},
                "exclude_pattern": {"description": 154, "type": "string"},
                "names_only": {"description": 159, "type": "boolean"},
                "max_matches_per_file": {"description": 131, "type": "integer", "minimum": 1},
                "total_max_matches": {"description": 132, "type": "integer", "minimum": 1},
            },
            "required": ["pattern"],
        },
    },
    "glob": {
        "name": "glob",
        "description": 261,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "pattern": {"description": 65, "type": "string"},
                "dir_path": {"description": 103, "type": "string"},
                "case_sensitive": {"description": 73, "type": "boolean"},
                "respect_git_ignore": {"description": 122, "type": "boolean"},
                "respect_gemini_ignore": {"description": 89, "type": "boolean"},
            },
            "required": ["pattern"],
        },
    },
    "google_web_search": {
        "name": "google_web_search",
        "description": 383,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": 130}},
            "required": ["query"],
        },
    },
    "enter_plan_mode": {
        "name": "enter_plan_mode",
        "description": 95,
        "parametersJsonSchema": {"type": "object", "properties": {"reason": {"type": "string", "description": 55}}},
    },
    "invoke_agent": {
        "name": "invoke_agent",
        "description": 62,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "agent_name": {"type": "string", "description": 30},
                "prompt": {"type": "string", "description": 194},
                "wait_for_previous": {"type": "boolean", "description": 204},
            },
            "required": ["agent_name", "prompt"],
        },
    },
    "replace": {
        "name": "replace",
        "description": 841,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "file_path": {"description": 31, "type": "string"},
                "instruction": {"description": 173, "type": "string"},
                "old_string": {"description": 159, "type": "string"},
                "new_string": {"description": 258, "type": "string"},
                "allow_multiple": {"type": "boolean", "description": 140},
            },
            "required": ["file_path", "instruction", "old_string", "new_string"],
        },
    },
    "write_file": {
        "name": "write_file",
        "description": 574,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "file_path": {"description": 17, "type": "string"},
                "content": {"description": 105, "type": "string"},
            },
            "required": ["file_path", "content"],
        },
    },
    "exit_plan_mode": {
        "name": "exit_plan_mode",
        "description": 320,
        "parametersJsonSchema": {
            "type": "object",
            "required": ["plan_filename"],
            "properties": {"plan_filename": {"type": "string", "description": 91}},
        },
    },
    "replace@auto_edit": {
        "name": "replace",
        "description": 571,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "file_path": {"description": 31, "type": "string"},
                "instruction": {"description": 173, "type": "string"},
                "old_string": {"description": 159, "type": "string"},
                "new_string": {"description": 258, "type": "string"},
                "allow_multiple": {"type": "boolean", "description": 140},
            },
            "required": ["file_path", "instruction", "old_string", "new_string"],
        },
    },
    "write_file@auto_edit": {
        "name": "write_file",
        "description": 304,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "file_path": {"description": 17, "type": "string"},
                "content": {"description": 105, "type": "string"},
            },
            "required": ["file_path", "content"],
        },
    },
    "web_fetch": {
        "name": "web_fetch",
        "description": 403,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {"prompt": {"description": 158, "type": "string"}},
            "required": ["prompt"],
        },
    },
    "replace@yolo": {
        "name": "replace",
        "description": 571,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "file_path": {"description": 31, "type": "string"},
                "instruction": {"description": 173, "type": "string"},
                "old_string": {"description": 159, "type": "string"},
                "new_string": {"description": 258, "type": "string"},
                "allow_multiple": {"type": "boolean", "description": 140},
            },
            "required": ["file_path", "instruction", "old_string", "new_string"],
        },
    },
    "write_file@yolo": {
        "name": "write_file",
        "description": 304,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "file_path": {"description": 17, "type": "string"},
                "content": {"description": 105, "type": "string"},
            },
            "required": ["file_path", "content"],
        },
    },
    "run_shell_command": {
        "name": "run_shell_command",
        "description": 1154,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": 52},
                "description": {"type": "string", "description": 152},
                "dir_path": {"type": "string", "description": 177},
                "is_background": {"type": "boolean", "description": 232},
                "delay_ms": {"type": "integer", "description": 168},
            },
            "required": ["command"],
        },
    },
    "list_background_processes": {
        "name": "list_background_processes",
        "description": 94,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {"wait_for_previous": {"type": "boolean", "description": 204}},
        },
    },
    "read_background_output": {
        "name": "read_background_output",
        "description": 82,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "pid": {"type": "integer", "description": 58},
                "lines": {"type": "integer", "minimum": 1, "description": 75},
                "delay_ms": {"type": "integer", "description": 132},
                "wait_for_previous": {"type": "boolean", "description": 204},
            },
            "required": ["pid"],
        },
    },
    "activate_skill": {
        "name": "activate_skill",
        "description": 368,
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": ["skill-creator", "antigravity-support"], "description": 34}
            },
            "required": ["name"],
            "additionalProperties": False,
            "$schema": "http://json-schema.org/draft-07/schema#",
        },
    },
}
OFFERED: Mapping[str, tuple[str, ...]] = {
    "default": (
        "update_topic",
        "list_directory",
        "read_file",
        "grep_search",
        "glob",
        "google_web_search",
        "enter_plan_mode",
        "invoke_agent",
    ),
    "plan": (
        "update_topic",
        "list_directory",
        "read_file",
        "grep_search",
        "glob",
        "replace",
        "write_file",
        "google_web_search",
        "exit_plan_mode",
        "invoke_agent",
    ),
    "auto_edit": (
        "update_topic",
        "list_directory",
        "read_file",
        "grep_search",
        "glob",
        "replace@auto_edit",
        "write_file@auto_edit",
        "web_fetch",
        "google_web_search",
        "enter_plan_mode",
        "invoke_agent",
    ),
    "yolo": (
        "update_topic",
        "list_directory",
        "read_file",
        "grep_search",
        "glob",
        "replace@yolo",
        "write_file@yolo",
        "web_fetch",
        "run_shell_command",
        "list_background_processes",
        "read_background_output",
        "google_web_search",
        "enter_plan_mode",
        "invoke_agent",
        "activate_skill",
    ),
}


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_filled(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, item in value.items():
        if key == "description" and isinstance(item, int):
            found[key] = prose(f"gemini {name}", item)
        else:
            found[key] = _filled(item, f"{name} {key}")
    return found


def names(mode: str) -> list[str]:
    """What is offered in a mode."""
    return [name.partition("@")[0] for name in OFFERED[mode]]


def declarations(mode: str) -> list[dict[str, Any]]:
    """The `functionDeclarations` of a request."""
    return [_filled(_TOOLS[name], name) for name in OFFERED[mode]]
