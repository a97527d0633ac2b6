"""Compaction on demand: one signed block, and what may be done with it."""

from typing import Any

import pytest

from tests.simulators.dialects.anthropic.api import Api, Reply
from tests.simulators.dialects.anthropic.asking import assistant, text, tool, use, user

BETA = "compact-2026-09-04"
SUMMARIZE: dict[str, Any] = {"compaction": {"type": "summarize"}}
TOLD = (user("What is the capital of Germany?"), assistant("Berlin."))


def api(*turns: dict[str, Any]) -> Api:
    return Api({"turns": list(turns)} if turns else {}, anthropic_beta=BETA)


def block(**changes: Any) -> dict[str, Any]:
    """A block as the API gives it, with changes."""
    made = api({"text": "They spoke of Berlin."}).post(*TOLD, **SUMMARIZE).body["content"][0]
    return {**made, **changes}


def code(reply: Reply) -> str:
    assert reply.status == 400
    return str(reply.body["error"]["details"]["error_code"])


class TestRequest:
    def test_the_answer_is_one_signed_block(self) -> None:
        one = api({"text": "They spoke of Berlin."})
        body = one.post(*TOLD, **SUMMARIZE).body
        (made,) = body["content"]
        assert (made["type"], made["content"], made["tool_changes"]) == ("compaction", "They spoke of Berlin.", [])
        assert made["signature"]
        assert body["stop_reason"] == "compaction"
        (step,) = body["usage"]["iterations"]
        assert (step["type"], step["input_tokens"], step["output_tokens"]) == ("compaction", 7, 4)
        assert body["usage"]["input_tokens"] == 0
        assert one.account.journal.exchanges[0].kind == "summary"

    def test_counting_ignores_it(self) -> None:
        assert api().count(*TOLD, **SUMMARIZE).body == {"input_tokens": 7}

    def test_without_its_beta_the_field_is_unknown(self) -> None:
        assert Api().post(*TOLD, **SUMMARIZE).message == "compaction: Extra inputs are not permitted"

    @pytest.mark.parametrize(
        "fields",
        [
            {"context_management": {"edits": []}},
            {"stop_sequences": ["x"]},
            {"tool_choice": {"type": "any"}, "tools": [tool("read")]},
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        ],
    )
    def test_what_shapes_a_reply_cannot_go_with_it(self, fields: dict[str, Any]) -> None:
        one = Api(anthropic_beta=f"{BETA},context-management-2025-06-27")
        reply = one.post(*TOLD, **SUMMARIZE, **fields)
        assert reply.status == 400 or fields == {"context_management": {"edits": []}}
        if reply.status == 400:
            assert "compaction: cannot be combined with" in reply.message

    def test_a_turn_that_is_not_finished(self) -> None:
        reply = api().post(user("hi"), assistant([use("t1")]), **SUMMARIZE)
        assert code(reply) == "compaction_incomplete_turn"

    def test_nothing_to_summarise(self) -> None:
        reply = api().post(assistant([block()]), **SUMMARIZE)
        assert code(reply) == "compaction_nothing_to_summarize"


class TestBlock:
    def test_it_stands_for_the_conversation(self) -> None:
        reply = api().post(assistant([block()]), user("And of France?"))
        assert reply.body["usage"]["input_tokens"] == 4 + 3

    def test_it_must_come_first(self) -> None:
        assert code(api().post(user("hi"), assistant([block()]), user("x"))) == "compaction_block_misplaced"
        assert code(api().post(assistant([text("a"), block()]), user("x"))) == "compaction_block_misplaced"

    def test_only_one(self) -> None:
        told = (assistant([block(), block()]), user("x"))
        assert code(api().post(*told)) == "compaction_block_ambiguous"

    def test_its_content_is_signed(self) -> None:
        changed = block(content="They spoke of Paris.")
        assert code(api().post(assistant([changed]), user("x"))) == "compaction_content_mismatch"

    def test_its_tool_changes_are_signed(self) -> None:
        changed = block(tool_changes=[{"type": "tool_removal", "tool_name": "read"}])
        assert code(api().post(assistant([changed]), user("x"))) == "compaction_tool_changes_mismatch"

    def test_its_signature_is_checked(self) -> None:
        assert code(api().post(assistant([block(signature="?")]), user("x"))) == "compaction_signature_invalid"

    def test_a_foreign_signature_is_taken_as_genuine(self) -> None:
        assert api().post(assistant([block(signature="Zm9yZWlnbg==")]), user("x")).status == 200
