"""Thinking comes back as it was sent, or not at all."""

from typing import Any

import msgspec

from simulators.core.turn import ModelTurn, Tokens
from simulators.dialects.anthropic import DIALECT
from tests.simulators.dialects.anthropic.asking import (
    STAMP,
    accepted,
    assistant,
    body,
    parse,
    refused,
    request,
    text,
    user,
)

SHOW = {"thinking": {"type": "adaptive", "display": "summarized"}}


def thought(model: str, *history: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The thinking block of a simulated answer to this history."""
    call = accepted(*history, model=model, **fields)
    body = DIALECT.encode_json(call, ModelTurn(thinking="Let me see.", text="Yes."), Tokens(output=5), STAMP)
    block: dict[str, Any] = msgspec.json.decode(body)["content"][0]
    return block


def test_its_own_thinking_is_taken_back() -> None:
    block = thought("claude-opus-4-6", user("a"), **SHOW)
    assert refused(user("a"), assistant([block, text("Yes.")]), user("b"), model="claude-opus-4-6") == "accepted"


def test_changed_thinking_is_refused() -> None:
    block = thought("claude-opus-4-6", user("a"), **SHOW) | {"thinking": "Let me lie."}
    message = refused(user("a"), assistant([block, text("Yes.")]), user("b"), model="claude-opus-4-6")
    assert message.startswith("messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant")
    later = [assistant([block, text("Yes.")]), user("b"), assistant("c"), user("d")]
    assert refused(user("a"), *later, model="claude-opus-4-6") == (
        "messages.1.content.0: Invalid `signature` in `thinking` block"
    )


def test_foreign_thinking_is_taken_as_genuine() -> None:
    block = {"type": "thinking", "thinking": "whatever", "signature": "EqMBCkYICBgCKkA="}
    assert refused(user("a"), assistant([block, text("Yes.")]), user("b")) == "accepted"


BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def test_with_preserved_thinking_an_edit_before_it_makes_it_invalid() -> None:
    for model, bound in (("claude-opus-5-5", True), ("claude-opus-5", False)):
        block = thought(model, user("a"), system="Be kind.")
        history = [user("a"), assistant([block, text("Yes.")]), user("b")]
        assert refused(*history, model=model, system="Be kind.") == "accepted"
        message = refused(*history, model=model, system="Be rude.")
        assert message.startswith(BOUND) if bound else message == "accepted"


def test_a_continued_turn_keeps_its_thinking() -> None:
    paused = assistant(
        [text("Searching."), {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}]
    )
    block = thought("claude-opus-5-5", user("a"), paused)
    apart = [user("a"), paused, assistant([block, text("Yes.")]), user("b")]
    found = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
    merged = [user("a"), assistant([*paused["content"], found, block, text("Yes.")]), user("b")]
    assert refused(*apart, model="claude-opus-5-5") == "accepted"
    assert refused(*merged, model="claude-opus-5-5") == "accepted"


def test_stale_thinking_can_be_dropped_and_is_named() -> None:
    drop = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    beta = "thinking-binding-controls-2026-08-01"

    def asked(system: str, *history: dict[str, Any]) -> Any:
        given = body(*history, model="claude-opus-5-5", system=system, thinking=drop)
        return parse(request(given, anthropic_beta=beta))

    stale = thought("claude-opus-5-5", user("a"), system="Be kind.")
    history = [user("a"), assistant([stale, text("Yes.")]), user("b")]
    call = asked("Be rude.", *history)
    assert [block.kind for block in call.blocks] == ["text"] * 4
    answer = msgspec.json.decode(
        DIALECT.encode_json(call, ModelTurn(thinking="Hm.", text="No."), Tokens(output=5), STAMP)
    )
    assert answer["input_transformations"] == [
        {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    ]
    later = asked("Be rude.", *history, assistant(answer["content"]), user("c"))
    assert [block.kind for block in later.blocks].count("thinking") == 1
