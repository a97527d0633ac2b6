"""Thinking comes back as it was sent, or not at all."""

from typing import Any

import msgspec

from simulators.core.turn import ModelTurn, Tokens
from simulators.dialects.anthropic import DIALECT
from tests.simulators.dialects.anthropic.asking import STAMP, accepted, assistant, refused, text, user

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


def test_with_preserved_thinking_an_edit_before_it_makes_it_invalid() -> None:
    for model, expected in (
        ("claude-opus-5-5", "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ("claude-opus-5", "accepted"),
    ):
        block = thought(model, user("a"), system="Be kind.")
        history = [user("a"), assistant([block, text("Yes.")]), user("b")]
        assert refused(*history, model=model, system="Be kind.") == "accepted"
        assert refused(*history, model=model, system="Be rude.") == expected
