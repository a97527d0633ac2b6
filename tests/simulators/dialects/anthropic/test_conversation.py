# ruff: noqa: E501 - a message of the vendor is one string
"""What cannot be a conversation is refused, in the vendor's words."""

import struct
from base64 import b64encode
from typing import Any

import pytest

from tests.simulators.dialects.anthropic.asking import NEW, assistant, refused, result, text, tool, use, user

READ = [tool("read")]
THINKING = {"type": "thinking", "thinking": "hm", "signature": "Zm9yZWlnbg=="}


def test_every_call_is_answered_in_the_next_message() -> None:
    assert (
        refused(user("go"), assistant([use("a"), use("b")]), user([result("a"), result("b")]), tools=READ) == "accepted"
    )
    assert refused(user("go"), assistant([use("a"), use("b")]), user([result("b")])) == (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each `tool_use` block "
        "must have a corresponding `tool_result` block in the next message."
    )
    assert refused(user("go"), assistant([use("a")]), user("never mind")).startswith("messages.1: `tool_use` ids were")


def test_results_come_before_any_text() -> None:
    late = user([text("by the way"), result("a")])
    assert refused(user("go"), assistant([use("a")]), late).startswith("messages.1: `tool_use` ids were found without")
    assert refused(user("go"), assistant([use("a")]), user([result("a"), text("and now?")])) == "accepted"


def test_consecutive_messages_of_a_role_are_one_turn() -> None:
    halves = [user([result("a")]), user([result("b")])]
    assert refused(user("go"), assistant([use("a"), use("b")]), *halves) == "accepted"
    assert (
        refused(user("go"), assistant([use("a")]), assistant([use("b")]), user([result("a"), result("b")]))
        == "accepted"
    )


def test_a_result_belongs_to_a_call_of_the_turn_before() -> None:
    assert refused(user([result("x")])) == (
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: x. Each `tool_result` block must "
        "have a corresponding `tool_use` block in the previous message."
    )
    twice = user([result("a"), result("a")])
    assert refused(user("go"), assistant([use("a")]), twice).startswith(
        "messages.2.content.1: each tool_use must have a"
    )


def test_ids_and_names_are_unique() -> None:
    again = [user("go"), assistant([use("a")]), user([result("a")]), assistant([use("a")]), user([result("a")])]
    assert refused(*again) == "messages: `tool_use` ids must be unique"
    assert refused(tools=[tool("read"), tool("read")]) == "tools: Tool names must be unique"


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([user([text("")])], "messages: text content blocks must be non-empty"),
        ([user("  \n")], "messages: text content blocks must contain non-whitespace text"),
        ([user("")], "messages.0: all messages must have non-empty content except for the optional final assistant message"),
        ([user("a"), assistant([]), user("b")], "messages.1: all messages must have non-empty content except for the optional final assistant message"),
        ([user("a"), assistant("b ")], "messages: final assistant content cannot end with trailing whitespace"),
    ],
)  # fmt: skip
def test_content_is_there(messages: list[dict[str, Any]], message: str) -> None:
    assert refused(*messages) == message


def test_an_empty_last_assistant_message_is_taken() -> None:
    assert refused(user("a"), assistant("")) == "accepted"


def test_prefill_ended_with_claude_4_6() -> None:
    begun = [user("name a colour"), assistant("I would say")]
    assert refused(*begun, model="claude-sonnet-4-5") == "accepted"
    assert refused(*begun, model="claude-sonnet-4-6") == (
        "This model does not support assistant message prefill. The conversation must end with a user message."
    )


def test_system_entries_stand_where_the_model_takes_them() -> None:
    entry = {"role": "system", "content": "Now in French."}
    assert refused(user("a"), entry, model="claude-sonnet-4-5") == "role 'system' is not supported on this model"
    assert refused(user("a"), entry, model="claude-sonnet-5") == "role 'system' is not supported on this model"
    assert refused(user("a"), entry, model="claude-opus-4-8") == "accepted"
    assert "must follow a 'user' message" in refused(entry, user("a"), model="claude-opus-4-8")
    assert "must follow a 'user' message" in refused(user("a"), assistant("b"), entry, model="claude-opus-4-8")
    assert "must precede an 'assistant'" in refused(user("a"), entry, user("b"), model="claude-opus-4-8")


def test_a_thinking_budget_wants_thinking_before_the_last_tool_calls() -> None:
    budget = {"type": "enabled", "budget_tokens": 1024}
    without = [user("go"), assistant([use("a")]), user([result("a")])]
    message = refused(*without, max_tokens=2000, thinking=budget)
    assert message.startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    )
    kept = [user("go"), assistant([THINKING, use("a")]), user([result("a")])]
    assert refused(*kept, max_tokens=2000, thinking=budget) == "accepted"


def test_the_new_version_moves_documents_and_citations() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    assert refused(user("a"), assistant([document]), user("b"), version=NEW).startswith(
        "messages.1.content.0: `document`"
    )
    assert refused(user("a"), assistant([document]), user("b")) == "accepted"


def test_an_error_result_says_something() -> None:
    message = refused(user("go"), assistant([use("a")]), user([result("a", "", is_error=True)]))
    assert message == "messages.2.content.0: content cannot be empty if `is_error` is true"


def test_a_server_tools_call_needs_its_result_unless_the_turn_was_paused() -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    assert refused(user("hi"), assistant([call, text("ok")]), user("and?")) == (
        "messages.1.content.0: `server_tool_use` block with id srvtoolu_1 was found without a corresponding "
        "`web_search_tool_result` block"
    )
    assert refused(user("hi"), assistant([call, found, text("ok")]), user("and?")) == "accepted"
    assert refused(user("hi"), assistant([call])) == "accepted"  # sent back to be continued


def png(side: int) -> dict[str, Any]:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", side, side)
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b64encode(head).decode()}}


def test_many_images_must_be_smaller() -> None:
    said = refused(user([png(100)] * 20 + [png(2001)]))
    assert said == (
        "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size "
        "for many-image requests: 2000 pixels"
    )
    assert refused(user([png(100)] * 19 + [png(2001)])) == "accepted"
    assert refused(user([png(2000)] * 21)) == "accepted"
