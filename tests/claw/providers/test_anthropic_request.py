"""What is sent to Anthropic: structure, bytes, breakpoints, thinking."""

import json

import msgspec
import pytest
from pydantic import TypeAdapter

from claw.core.calls import ModelRequest, SystemBlock, ToolSpec
from claw.core.errors import ClawError
from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from claw.providers._anthropic_request import build

SHORT = {"type": "ephemeral"}
REQUEST = ModelRequest(
    model="claude-sonnet-4-5",
    system=(SystemBlock("SYS"), SystemBlock("today", stable=False)),
    messages=(
        user("first"),
        Message("assistant", (ThinkingPart("T", "S"), TextPart("A"), ToolCallPart("toolu_0", "read", {"path": "/x"}))),
        Message("tool", (ToolResultPart("toolu_0", "read", (TextPart("R"), ImagePart("image/png", "QUFB"))),)),
        user("second"),
    ),
    tools=(ToolSpec("read", "Read", {"type": "object"}), ToolSpec("write", "Write", {"type": "object"})),
    max_tokens=32_000,
)


def built(**changes):
    return build(msgspec.structs.replace(REQUEST, **changes), thinking="none")


def marks(arguments):
    """Where the breakpoints are: `system.0`, `messages.2.1`."""
    found = [f"tools.{i}" for i, tool in enumerate(arguments.get("tools", ())) if "cache_control" in tool]
    found += [f"system.{i}" for i, block in enumerate(arguments.get("system", ())) if "cache_control" in block]
    for m, message in enumerate(arguments["messages"]):
        found += [f"messages.{m}.{b}" for b, block in enumerate(message["content"]) if "cache_control" in block]
    return found


def test_a_conversation_as_the_vendor_writes_it():
    assert built(cache="none") == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32_000,
        "system": [{"type": "text", "text": "SYS"}, {"type": "text", "text": "today"}],
        "tools": [
            {"name": "read", "description": "Read", "input_schema": {"type": "object"}},
            {"name": "write", "description": "Write", "input_schema": {"type": "object"}},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "first"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "T", "signature": "S"},
                    {"type": "text", "text": "A"},
                    {"type": "tool_use", "id": "toolu_0", "name": "read", "input": {"path": "/x"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_0",
                        "content": [
                            {"type": "text", "text": "R"},
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "QUFB"},
                            },
                        ],
                    },
                    {"type": "text", "text": "second"},
                ],
            },
        ],
    }


@pytest.mark.parametrize("thinking", ["none", "budget", "adaptive", "always"])
def test_the_sdks_own_types_take_it(thinking):
    from anthropic.types import MessageParam, TextBlockParam, ThinkingConfigParam, ToolParam

    arguments = build(msgspec.structs.replace(REQUEST, thinking="high"), thinking=thinking)
    for type_, value in (
        (list[MessageParam], arguments["messages"]),
        (list[TextBlockParam], arguments["system"]),
        (list[ToolParam], arguments["tools"]),
    ):
        TypeAdapter(type_).validate_python(value)
    if "thinking" in arguments:
        TypeAdapter(ThinkingConfigParam).validate_python(arguments["thinking"])


def test_the_same_request_is_the_same_bytes_also_out_of_a_session_file():
    again = msgspec.json.decode(msgspec.json.encode(REQUEST), type=ModelRequest)
    assert json.dumps(build(again, thinking="none")) == json.dumps(build(REQUEST, thinking="none"))


def test_breakpoints_after_tools_stable_system_and_the_last_two_user_turns():
    assert marks(built()) == ["tools.1", "system.0", "messages.0.0", "messages.2.1"]
    assert built()["system"][0]["cache_control"] == SHORT
    assert built(cache="long")["tools"][1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert marks(built(cache="none")) == []


def test_the_next_turn_marks_where_this_one_wrote():
    more = (*REQUEST.messages, Message("assistant", (TextPart("B"),)), user("third"))
    wrote = marks(built())[-1]
    assert wrote in marks(built(messages=more))


def test_a_system_prompt_that_only_moves_gets_no_breakpoint():
    assert not any(mark.startswith("system") for mark in marks(built(system=(SystemBlock("now", stable=False),))))


def test_what_the_vendor_would_refuse_is_left_out():
    history = (
        Message("user", (TextPart(""), TextPart("x"))),
        Message("assistant", (ThinkingPart("no signature"), TextPart("\n"))),
        Message("tool", (ToolResultPart("a:b|c", "read", (TextPart(" "),), is_error=True),)),
    )
    (turn,) = built(messages=history, cache="none")["messages"]
    result, text = turn["content"]
    assert text == {"type": "text", "text": "x"}
    assert result["type"] == "tool_result"
    assert result["is_error"] is True
    assert result["content"][0]["text"].strip()  # an error must say something


def test_foreign_tool_ids_get_good_names_that_pair_and_differ():
    def ids(raw):
        call = Message("assistant", (ToolCallPart(raw, "read", {}),))
        messages = built(messages=(user("x"), call, Message("tool", (ToolResultPart(raw, "read"),))))["messages"]
        return messages[1]["content"][0]["id"], messages[2]["content"][0]["tool_use_id"]

    for raw in ("", "Write:6", "call_x|fc_y", "é" * 90, "x" * 65):
        call, result = ids(raw)
        assert call == result
        assert call.replace("_", "").replace("-", "").isascii()
        assert 0 < len(call) <= 64
    assert ids("Write:6") != ids("Write6")
    assert ids("toolu_01Ab-c")[0] == "toolu_01Ab-c"


@pytest.mark.parametrize(
    ("kind", "level", "expected"),
    [
        ("none", "high", {}),
        ("budget", "off", {}),
        ("budget", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("adaptive", "off", {"thinking": {"type": "disabled"}}),
        ("adaptive", "adaptive", {"thinking": {"type": "adaptive"}}),
        ("adaptive", "minimal", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ("always", "off", {}),
        ("always", "max", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
    ],
)
def test_thinking_as_each_kind_of_model_takes_it(kind, level, expected):
    arguments = build(msgspec.structs.replace(REQUEST, thinking=level), thinking=kind)
    assert {key: arguments[key] for key in ("thinking", "output_config") if key in arguments} == expected


def test_a_thinking_budget_leaves_room_for_the_answer_or_is_not_asked_for():
    small = build(msgspec.structs.replace(REQUEST, thinking="high", max_tokens=3000), thinking="budget")
    assert small["thinking"]["budget_tokens"] == 3000 - 1024
    assert "thinking" not in build(
        msgspec.structs.replace(REQUEST, thinking="high", max_tokens=1500), thinking="budget"
    )


def test_extra_parameters_go_into_the_body_and_betas_into_the_header():
    arguments = built(params={"temperature": 0.2, "betas": ["context-1m-2025-08-07"]}, session="s-1")
    assert arguments["extra_body"] == {"temperature": 0.2}
    assert arguments["extra_headers"] == {"anthropic-beta": "context-1m-2025-08-07"}
    assert arguments["metadata"] == {"user_id": "s-1"}


def test_parameters_cannot_take_over_what_claw_sets():
    with pytest.raises(ClawError, match="params must not set messages, stream"):
        built(params={"stream": False, "messages": []})


def test_the_vendors_refusal_trigger_cannot_end_a_session():
    text = built(messages=(user("see ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL_1FAEFB"),))["messages"][0]["content"][0][
        "text"
    ]
    assert "MAGIC_STRING" not in text
