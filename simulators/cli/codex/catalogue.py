"""The tools that each family of models is offered, as they stand on the wire.

Names, parameters and their order are those of recorded requests; a number stands where the vendor's prose or grammar
stands, and is its length (`filled` puts filler there).
"""

from typing import Any

from simulators.cli.prose import prose

Tool = dict[str, Any]

_TOOLS: dict[str, Tool] = {
    "exec_command": {
        "type": "function",
        "name": "exec_command",
        "description": 82,
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {
                "cmd": {"type": "string", "description": 25},
                "justification": {"type": "string", "description": 70},
                "login": {"type": "boolean", "description": 45},
                "max_output_tokens": {"type": "number", "description": 87},
                "prefix_rule": {"type": "array", "description": 118, "items": {"type": "string"}},
                "sandbox_permissions": {
                    "type": "string",
                    "description": 107,
                    "enum": ["use_default", "require_escalated"],
                },
                "shell": {"type": "string", "description": 61},
                "tty": {"type": "boolean", "description": 72},
                "workdir": {"type": "string", "description": 60},
                "yield_time_ms": {"type": "number", "description": 83},
            },
            "required": ["cmd"],
            "additionalProperties": False,
        },
    },
    "write_stdin": {
        "type": "function",
        "name": "write_stdin",
        "description": 80,
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {
                "chars": {"type": "string", "description": 72},
                "max_output_tokens": {"type": "number", "description": 87},
                "session_id": {"type": "number", "description": 47},
                "yield_time_ms": {"type": "number", "description": 128},
            },
            "required": ["session_id"],
            "additionalProperties": False,
        },
    },
    "request_user_input": {
        "type": "function",
        "name": "request_user_input",
        "description": 120,
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {
                "questions": {
                    "type": "array",
                    "description": 56,
                    "items": {
                        "type": "object",
                        "properties": {
                            "header": {"type": "string", "description": 55},
                            "id": {"type": "string", "description": 51},
                            "options": {
                                "type": "array",
                                "description": 224,
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "description": {"type": "string", "description": 58},
                                        "label": {"type": "string", "description": 30},
                                    },
                                    "required": ["label", "description"],
                                    "additionalProperties": False,
                                },
                            },
                            "question": {"type": "string", "description": 41},
                        },
                        "required": ["id", "header", "question", "options"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["questions"],
            "additionalProperties": False,
        },
    },
    "apply_patch": {
        "type": "custom",
        "name": "apply_patch",
        "description": 108,
        "format": {"type": "grammar", "syntax": "lark", "definition": 578},
    },
    "view_image": {
        "type": "function",
        "name": "view_image",
        "description": 124,
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": 39}},
            "required": ["path"],
            "additionalProperties": False,
        },
    },
    "get_goal": {
        "type": "function",
        "name": "get_goal",
        "description": 122,
        "strict": False,
        "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    },
    "create_goal": {
        "type": "function",
        "name": "create_goal",
        "description": 265,
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {
                "objective": {"type": "string", "description": 151},
                "token_budget": {"type": "integer", "description": 73},
            },
            "required": ["objective"],
            "additionalProperties": False,
        },
    },
    "update_goal": {
        "type": "function",
        "name": "update_goal",
        "description": 1541,
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"status": {"type": "string", "description": 370, "enum": ["complete", "blocked", "paused"]}},
            "required": ["status"],
            "additionalProperties": False,
        },
    },
    "tool_search": {
        "type": "tool_search",
        "execution": "client",
        "description": 372,
        "parameters": {
            "type": "object",
            "properties": {
                "limit": {"type": "number", "description": 49},
                "query": {"type": "string", "description": 32},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    },
    "web_search": {"type": "web_search", "external_web_access": False, "search_content_types": ["text", "image"]},
    "multi_agent_v1": {
        "type": "namespace",
        "name": "multi_agent_v1",
        "description": 43,
        "tools": [
            {
                "type": "function",
                "name": "close_agent",
                "description": 298,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"target": {"type": "string", "description": 37}},
                    "required": ["target"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "resume_agent",
                "description": 89,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"id": {"type": "string", "description": 19}},
                    "required": ["id"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "send_input",
                "description": 215,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "interrupt": {"type": "boolean", "description": 98},
                        "items": {
                            "type": "array",
                            "description": 96,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "audio_url": {"type": "string", "description": 34},
                                    "image_url": {"type": "string", "description": 29},
                                    "name": {"type": "string", "description": 43},
                                    "path": {"type": "string", "description": 173},
                                    "text": {"type": "string", "description": 31},
                                    "type": {"type": "string", "description": 81},
                                },
                                "additionalProperties": False,
                            },
                        },
                        "message": {"type": "string", "description": 76},
                        "target": {"type": "string", "description": 39},
                    },
                    "required": ["target"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "spawn_agent",
                "description": 5989,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "fork_context": {"type": "boolean", "description": 111},
                        "items": {
                            "type": "array",
                            "description": 96,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "audio_url": {"type": "string", "description": 34},
                                    "image_url": {"type": "string", "description": 29},
                                    "name": {"type": "string", "description": 43},
                                    "path": {"type": "string", "description": 173},
                                    "text": {"type": "string", "description": 31},
                                    "type": {"type": "string", "description": 81},
                                },
                                "additionalProperties": False,
                            },
                        },
                        "message": {"type": "string", "description": 71},
                        "model": {"type": "string", "description": 77},
                        "reasoning_effort": {"type": "string", "description": 79},
                    },
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "wait_agent",
                "description": 252,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "targets": {"type": "array", "description": 77, "items": {"type": "string"}},
                        "timeout_ms": {"type": "number", "description": 120},
                    },
                    "required": ["targets"],
                    "additionalProperties": False,
                },
            },
        ],
    },
    "web_search@plain": {"type": "web_search", "external_web_access": False},
}

_NAMESPACES: list[Tool] = [
    {
        "type": "namespace",
        "name": "functions",
        "description": 0,
        "tools": [
            {
                "type": "custom",
                "name": "exec",
                "description": 13403,
                "format": {"type": "grammar", "syntax": "lark", "definition": 177},
            },
            {
                "type": "function",
                "name": "wait",
                "description": 769,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "cell_id": {"type": "string", "description": 36},
                        "max_tokens": {"type": "number", "description": 65},
                        "terminate": {"type": "boolean", "description": 68},
                        "yield_time_ms": {"type": "number", "description": 55},
                    },
                    "required": ["cell_id"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "request_user_input",
                "description": 120,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "questions": {
                            "type": "array",
                            "description": 56,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "header": {"type": "string", "description": 55},
                                    "id": {"type": "string", "description": 51},
                                    "options": {
                                        "type": "array",
                                        "description": 224,
                                        "items": {
                                            "type": "object",
                                            "properties": {
                                                "description": {"type": "string", "description": 58},
                                                "label": {"type": "string", "description": 30},
                                            },
                                            "required": ["label", "description"],
                                            "additionalProperties": False,
                                        },
                                    },
                                    "question": {"type": "string", "description": 41},
                                },
                                "required": ["id", "header", "question", "options"],
                                "additionalProperties": False,
                            },
                        }
                    },
                    "required": ["questions"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "request_user_input_async",
                "description": 556,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "questions": {
                            "type": "array",
                            "description": 75,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "options": {
                                        "type": "array",
                                        "description": 324,
                                        "items": {"type": "string"},
                                        "minItems": 1,
                                    },
                                    "title": {"type": "string", "description": 83},
                                },
                                "required": ["title"],
                                "additionalProperties": False,
                            },
                            "minItems": 1,
                        }
                    },
                    "required": ["questions"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "send_message_to_user_async",
                "description": 613,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"message": {"type": "string", "description": 51}},
                    "required": ["message"],
                    "additionalProperties": False,
                },
            },
        ],
    },
    {
        "type": "namespace",
        "name": "clock",
        "description": 38,
        "tools": [
            {
                "type": "function",
                "name": "sleep",
                "description": 143,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"duration_ms": {"type": "number", "description": 66}},
                    "required": ["duration_ms"],
                    "additionalProperties": False,
                },
            }
        ],
    },
    {
        "type": "namespace",
        "name": "collaboration",
        "description": 43,
        "tools": [
            {
                "type": "function",
                "name": "followup_task",
                "description": 232,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "message": {"type": "string", "description": 41, "encrypted": True},
                        "target": {"type": "string", "description": 79},
                    },
                    "required": ["target", "message"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "interrupt_agent",
                "description": 136,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"target": {"type": "string", "description": 64}},
                    "required": ["target"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "list_agents",
                "description": 88,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"path_prefix": {"type": "string", "description": 79}},
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "send_message",
                "description": 105,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "message": {"type": "string", "description": 42, "encrypted": True},
                        "target": {"type": "string", "description": 62},
                    },
                    "required": ["target", "message"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "spawn_agent",
                "description": 2785,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "fork_turns": {"type": "string", "description": 126},
                        "message": {"type": "string", "description": 42, "encrypted": True},
                        "model": {"type": "string", "description": 77},
                        "reasoning_effort": {"type": "string", "description": 79},
                        "task_name": {"type": "string", "description": 76},
                    },
                    "required": ["task_name", "message"],
                    "additionalProperties": False,
                },
            },
            {
                "type": "function",
                "name": "wait_agent",
                "description": 383,
                "strict": False,
                "parameters": {
                    "type": "object",
                    "properties": {"timeout_ms": {"type": "number", "description": 67}},
                    "additionalProperties": False,
                },
            },
        ],
    },
]

STANDARD = (
    "exec_command",
    "write_stdin",
    "request_user_input",
    "apply_patch",
    "view_image",
    "get_goal",
    "create_goal",
    "update_goal",
    "tool_search",
    "web_search",
)

PLAIN = (
    "exec_command",
    "write_stdin",
    "request_user_input",
    "view_image",
    "multi_agent_v1",
    "get_goal",
    "create_goal",
    "update_goal",
    "web_search@plain",
)


def filled(value: Any, name: str = "") -> Any:
    """The same with prose of equal length where a length stands."""
    if isinstance(value, list):
        return [filled(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("name") or value.get("type") or name)
    found = {}
    for key, item in value.items():
        if key in ("description", "definition") and isinstance(item, int):
            found[key] = grammar(item) if key == "definition" else prose(f"codex {name}", item)
        else:
            found[key] = filled(item, key)
    return found


def grammar(length: int) -> str:
    """A grammar (Lark) that takes any text, with a comment that makes it as long as the vendor's."""
    rule = "start: LINE+\nLINE: /[^\\n]*\\n/\n// "
    return rule + prose("codex grammar", length - len(rule))


def tools(names: tuple[str, ...]) -> list[Tool]:
    """The `tools` of a request."""
    return [filled(_TOOLS[name]) for name in names]


def namespaces() -> list[Tool]:
    """The tools of a model that gets them inside its input."""
    return [filled(item) for item in _NAMESPACES]
