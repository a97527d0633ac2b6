# ruff: noqa: E501 - a message of the vendor is one string
"""Limits, sampling, effort, thinking and forced tools, by model."""

from typing import Any

import pytest

from tests.simulators.dialects.anthropic.asking import refused, tool, user

BUDGET = {"type": "enabled", "budget_tokens": 2000}
MANUAL_ENDED = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to '
    "control thinking behavior."
)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "claude-haiku-4-5", "max_tokens": 128_000}, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5"),
        ({"model": "claude-opus-4-7", "temperature": 0.5}, "`temperature` is deprecated for this model."),
        ({"temperature": 0.5, "top_p": 0.9}, "`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
        ({"model": "claude-opus-4-6", "output_config": {"effort": "xhigh"}}, "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."),
        ({"output_config": {"effort": "high"}}, "This model does not support the effort parameter."),
        ({"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported on this model"),
        ({"model": "claude-opus-4-7", "thinking": BUDGET, "max_tokens": 4000}, MANUAL_ENDED),
        ({"model": "claude-opus-5-5", "thinking": {"type": "disabled"}}, MANUAL_ENDED.replace("type.enabled", "type.disabled")),
        ({"thinking": BUDGET, "max_tokens": 2000}, "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"),
        ({"thinking": BUDGET, "max_tokens": 4000, "tools": [tool("a")], "tool_choice": {"type": "any"}}, "Thinking may not be enabled when tool_choice forces tool use."),
        ({"model": "claude-opus-5-5", "tools": [tool("a")], "tool_choice": {"type": "any"}}, 'tool_choice: type "tool" and "any" are not supported for this model.'),
        ({"tools": [tool("a")], "tool_choice": {"type": "tool", "name": "b"}}, "Tool 'b' not found in provided tools"),
        ({"tools": [tool("a", input_schema={"type": "object", "properties": {"n": {"type": "text"}}})]}, "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use."),
        ({"tools": [tool("a", input_schema={})]}, "tools.0.custom.input_schema.type: Field required"),
        ({"max_tokens": 0, "stream": True}, "max_tokens: 0 is not supported with `stream`."),
    ],
)  # fmt: skip
def test_what_a_model_does_not_take_is_refused(fields: dict[str, Any], message: str) -> None:
    assert refused(user("hi"), **fields) == message


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0.5, "top_k": 5},
        {"model": "claude-opus-4-6", "thinking": {"type": "adaptive"}, "tools": [tool("a")], "tool_choice": {"type": "any"}},
        {"model": "claude-sonnet-4-6", "thinking": BUDGET, "max_tokens": 4000},
        {"model": "claude-sonnet-5-5", "output_config": {"effort": "xhigh"}},
        {"max_tokens": 0},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"model": "sim-x", "temperature": 1, "thinking": {"type": "adaptive"}},
    ],
)  # fmt: skip
def test_what_a_model_takes_is_taken(fields: dict[str, Any]) -> None:
    assert refused(user("hi"), **fields) == "accepted"
