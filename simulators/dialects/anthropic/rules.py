"""What the API checks once a request has the right shape and a known model, in the vendor's words.

Sources: error and troubleshooting pages of the provider's documentation, recorded 400s. Where the order of two checks
is not known, the one that looks at less comes first: single fields, then markers, thinking, tools, messages.
"""

from collections.abc import Sequence
from typing import Any

from simulators.core.turn import ModelInfo
from simulators.dialects.anthropic.compaction import check_blocks, check_request
from simulators.dialects.anthropic.conversation import check_conversation
from simulators.dialects.anthropic.gates import Gates
from simulators.dialects.anthropic.markers import check_markers, leading_marks, ttl_of
from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.refusal import refuse

_BUDGET_DOC = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
_THINKING_DOC = (
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-"
    "thinking"
)


def check_rules(
    body: dict[str, Any],
    messages: Sequence[Known],
    model: ModelInfo,
    gates: Gates,
    *,
    counting: bool,
    old_version: bool,
) -> None:
    """Refuse what this model or the API does not allow. The shape has been checked. `old_version`: 2023-06-01."""
    if not counting:
        _check_limits(body, model)
        _check_sampling(body, gates)
    _check_effort(body, gates)
    _check_all_markers(body, messages)
    _check_thinking(body, gates, counting=counting)
    _check_tools(body)
    _check_tool_choice(body, gates)
    _check_prewarm(body)
    check_request(body, messages)
    check_blocks(messages)
    check_conversation(body, messages, gates, old_version=old_version)


def _check_all_markers(body: dict[str, Any], messages: Sequence[Known]) -> None:
    marks, last = leading_marks(body)
    for known in messages:
        marks += known.marks
        last = known.last_cacheable or last
    check_markers(marks, ttl_of(body.get("cache_control")), last)


def _check_limits(body: dict[str, Any], model: ModelInfo) -> None:
    limit = body["max_tokens"]
    if limit > model.max_output:
        refuse(
            f"max_tokens: {limit} > {model.max_output}, which is the maximum allowed number of output tokens for "
            f"{body['model']}"
        )


def _check_sampling(body: dict[str, Any], gates: Gates) -> None:
    given = [name for name in ("temperature", "top_p", "top_k") if body.get(name) is not None]
    if given and not gates.sampling:
        refuse(f"`{given[0]}` is deprecated for this model.")
    if gates.one_sampler and "temperature" in given and "top_p" in given:
        refuse("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        if "temperature" in given and body["temperature"] != 1:
            refuse(f"`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at {_THINKING_DOC}")  # fmt: skip  # noqa: E501
        if "top_k" in given:
            refuse(f"`top_k` must be unset when thinking is enabled. Please consult our documentation at {_THINKING_DOC}")  # fmt: skip  # noqa: E501


def _check_effort(body: dict[str, Any], gates: Gates) -> None:
    effort = (body.get("output_config") or {}).get("effort")
    if effort is None or effort in gates.efforts:
        return
    if not gates.efforts:
        refuse("This model does not support the effort parameter.")
    refuse(f"This model does not support effort level '{effort}'. Supported levels: {', '.join(gates.efforts)}.")


def _check_thinking(body: dict[str, Any], gates: Gates, *, counting: bool) -> None:
    thinking = body.get("thinking") or {}
    kind = thinking.get("type")
    if kind == "enabled":
        if not gates.manual_thinking:
            refuse(
                '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
                '"output_config.effort" to control thinking behavior.'
            )
        if not counting and body["max_tokens"] <= thinking["budget_tokens"]:
            refuse(
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
                f"{_BUDGET_DOC}"
            )
    elif kind == "adaptive" and not gates.adaptive_thinking:
        refuse("adaptive thinking is not supported on this model")
    elif kind == "disabled" and not gates.thinking_off:
        refuse(
            '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )


def _check_tools(body: dict[str, Any]) -> None:
    tools = body.get("tools") or ()
    names: set[str] = set()
    for index, tool in enumerate(tools):
        name = tool.get("name")
        if name is not None:
            if name in names:
                refuse("tools: Tool names must be unique")
            names.add(name)
        if "input_schema" in tool and not _is_schema(tool["input_schema"]):
            if "type" not in tool["input_schema"]:
                refuse(f"tools.{index}.custom.input_schema.type: Field required")
            refuse(
                f"tools.{index}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
                "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
                "https://docs.claude.com/en/docs/tool-use."
            )
    if tools and all(tool.get("defer_loading") for tool in tools):
        refuse("All tools have defer_loading: true. At least one tool must be non-deferred.")


_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


def _is_schema(schema: Any, *, top: bool = True) -> bool:
    """A cheap reading of JSON Schema 2020-12: the shapes that clients get wrong, not the whole meta-schema."""
    if type(schema) is bool:
        return not top
    if type(schema) is not dict or (top and schema.get("type") != "object"):
        return False
    kind = schema.get("type")
    kinds = kind if type(kind) is list else [kind]
    if kind is not None and not all(type(k) is str and k in _TYPES for k in kinds):
        return False
    required = schema.get("required", [])
    if type(required) is not list or not all(type(name) is str for name in required):
        return False
    for name in ("properties", "$defs", "patternProperties"):
        inner = schema.get(name, {})
        if type(inner) is not dict or not all(_is_schema(part, top=False) for part in inner.values()):
            return False
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        many = schema.get(name, [])
        if type(many) is not list or not all(_is_schema(part, top=False) for part in many):
            return False
    if type(schema.get("items", {})) is list:  # draft-07 tuples are `prefixItems` in 2020-12
        return False
    return all(_is_schema(schema[name], top=False) for name in ("items", "additionalProperties", "not") if name in schema)  # fmt: skip  # noqa: E501


def _check_tool_choice(body: dict[str, Any], gates: Gates) -> None:
    choice = body.get("tool_choice") or {}
    kind = choice.get("type")
    if kind in ("any", "tool"):
        if not gates.forced_tools:
            refuse('tool_choice: type "tool" and "any" are not supported for this model.')
        if (body.get("thinking") or {}).get("type") == "enabled":
            refuse("Thinking may not be enabled when tool_choice forces tool use.")
        if kind == "any" and not body.get("tools") and not body.get("mcp_servers"):
            refuse("tool_choice.any may only be specified while providing tools")
    if kind == "tool" and all(tool.get("name") != choice["name"] for tool in body.get("tools") or ()):
        refuse(f"Tool '{choice['name']}' not found in provided tools")


def _check_prewarm(body: dict[str, Any]) -> None:
    """`max_tokens: 0` only fills the cache. What it cannot go with is documented, the words of the refusal are not."""
    if body.get("max_tokens") != 0:
        return
    clashes = {
        "stream": body.get("stream"),
        "thinking.enabled": (body.get("thinking") or {}).get("type") == "enabled",
        "output_config.format": (body.get("output_config") or {}).get("format"),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
    }
    for name, clash in clashes.items():
        if clash:
            refuse(f"max_tokens: 0 is not supported with `{name}`.")
