"""Context editing and compaction on a threshold: what leaves the prompt, what the answer says of it, what it costs."""

from typing import Any

from tests.simulators.dialects.anthropic.api import Api
from tests.simulators.dialects.anthropic.asking import assistant, result, text, use, user

BETAS = "context-management-2025-06-27,compact-2026-01-12"
THOUGHT = {"type": "thinking", "thinking": "one two three", "signature": "Zm9yZWlnbg=="}


def calls(number: int, words: int = 100) -> list[dict[str, Any]]:
    """A conversation of that many tool calls, each result so many words long."""
    told: list[dict[str, Any]] = [user("start")]
    for at in range(number):
        told += [assistant([use(f"t{at}", f"tool{at % 2}", {"n": at})]), user([result(f"t{at}", "word " * words)])]
    return told


def clear(**fields: Any) -> dict[str, Any]:
    return {"edits": [{"type": "clear_tool_uses_20250919", **fields}]}


class TestToolUses:
    TRIGGER = {"type": "input_tokens", "value": 300}

    def test_old_results_go_and_the_last_three_stay(self) -> None:
        api = Api(anthropic_beta=BETAS)
        reply = api.post(*calls(5), context_management=clear(trigger=self.TRIGGER))
        edits = reply.body["context_management"]["applied_edits"]
        assert edits == [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 2 * 99}]
        assert reply.body["usage"]["input_tokens"] == 1 + 5 + 2 * 1 + 3 * 100

    def test_below_the_trigger_nothing_happens(self) -> None:
        api = Api(anthropic_beta=BETAS)
        assert api.post(*calls(5), context_management=clear()).body["context_management"] == {"applied_edits": []}
        few = api.post(*calls(2), context_management=clear(trigger={"type": "tool_uses", "value": 3}))
        assert few.body["context_management"] == {"applied_edits": []}

    def test_named_tools_and_the_number_to_keep(self) -> None:
        wanted = clear(trigger=self.TRIGGER, keep={"type": "tool_uses", "value": 1}, exclude_tools=["tool1"])
        (edit,) = Api(anthropic_beta=BETAS).post(*calls(5), context_management=wanted).body["context_management"]["applied_edits"]  # fmt: skip  # noqa: E501
        assert edit["cleared_tool_uses"] == 2  # tool0 at 0 and 2; 4 is kept

    def test_too_little_to_clear_is_left(self) -> None:
        wanted = clear(trigger=self.TRIGGER, clear_at_least={"type": "input_tokens", "value": 1000})
        reply = Api(anthropic_beta=BETAS).post(*calls(5), context_management=wanted)
        assert reply.body["context_management"] == {"applied_edits": []}

    def test_counting_says_both_figures(self) -> None:
        reply = Api(anthropic_beta=BETAS).count(*calls(5), context_management=clear(trigger=self.TRIGGER))
        assert reply.body == {"input_tokens": 308, "context_management": {"original_input_tokens": 506}}

    def test_a_stream_says_it_at_its_end(self) -> None:
        reply = Api(anthropic_beta=BETAS).post(*calls(5), context_management=clear(trigger=self.TRIGGER), stream=True)
        (delta,) = [data for name, data in reply.events if name == "message_delta"]
        assert delta["context_management"]["applied_edits"][0]["cleared_tool_uses"] == 2

    def test_the_cache_misses_from_the_clear_point_on(self) -> None:
        api = Api({"models": {"claude-opus-4-8": {"min_cacheable_tokens": 1}}}, anthropic_beta=BETAS)
        ask: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
        assert api.post(*calls(4), **ask).body["usage"]["cache_creation_input_tokens"] == 405
        assert api.post(*calls(4), **ask).body["usage"]["cache_read_input_tokens"] == 405
        edited = api.post(*calls(4), context_management=clear(trigger=self.TRIGGER), **ask).body["usage"]
        assert (edited["cache_read_input_tokens"], edited["cache_creation_input_tokens"]) == (0, 306)


class TestThinking:
    TOLD = (
        user("a"), assistant([THOUGHT, text("b")]), user("c"), assistant([THOUGHT, text("d")]), user("e"),
    )  # fmt: skip

    def wanted(self, **fields: Any) -> dict[str, Any]:
        return {"edits": [{"type": "clear_thinking_20251015", **fields}]}

    def test_all_but_the_last_turn_lose_theirs(self) -> None:
        body = Api(anthropic_beta=BETAS).post(*self.TOLD, context_management=self.wanted()).body
        assert body["context_management"]["applied_edits"] == [
            {"type": "clear_thinking_20251015", "cleared_thinking_turns": 1, "cleared_input_tokens": 3}
        ]

    def test_all_may_stay(self) -> None:
        body = Api(anthropic_beta=BETAS).post(*self.TOLD, context_management=self.wanted(keep="all")).body
        assert body["context_management"] == {"applied_edits": []}

    def test_it_must_come_first(self) -> None:
        edits = clear()["edits"] + self.wanted()["edits"]
        reply = Api(anthropic_beta=BETAS).post(*self.TOLD, context_management={"edits": edits})
        assert reply.status == 400 and "must be the first edit" in reply.message


class TestThreshold:
    LONG = (user("word " * 60_000), assistant("reply"), user("go on"))

    def wanted(self, **fields: Any) -> dict[str, Any]:
        return {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}, **fields}]}

    def test_an_answer_begins_with_the_summary_and_its_cost_stands_apart(self) -> None:
        reply = Api({"turns": [{"text": "done now"}]}, anthropic_beta=BETAS).post(
            *self.LONG, context_management=self.wanted()
        )
        first, second = reply.body["content"]
        assert first["type"] == "compaction" and first["content"]
        assert second == {"type": "text", "text": "done now"}
        compaction, message = reply.body["usage"]["iterations"]
        assert (compaction["type"], compaction["input_tokens"]) == ("compaction", 60_003)
        assert compaction["output_tokens"] == len(first["content"].split())
        assert message["type"] == "message" and message["input_tokens"] == reply.body["usage"]["input_tokens"] < 100
        assert reply.body["stop_reason"] == "end_turn"

    def test_what_stands_before_it_is_gone_from_the_next_request(self) -> None:
        api = Api(anthropic_beta=BETAS)
        first = api.post(*self.LONG, context_management=self.wanted()).body
        again = api.post(*self.LONG, assistant(first["content"]), user("more"), context_management=self.wanted())
        summary = len(first["content"][0]["content"].split())
        assert [block["type"] for block in again.body["content"]] == ["text"]
        assert again.body["usage"]["input_tokens"] == summary + len(first["content"][1]["text"].split()) + 1

    def test_a_pause_gives_the_block_alone_and_uses_no_turn(self) -> None:
        api = Api({"turns": [{"text": "done"}]}, anthropic_beta=BETAS)
        paused = api.post(*self.LONG, context_management=self.wanted(pause_after_compaction=True)).body
        assert [block["type"] for block in paused["content"]] == ["compaction"]
        assert paused["stop_reason"] == "compaction"
        assert [step["type"] for step in paused["usage"]["iterations"]] == ["compaction"]
        assert (paused["usage"]["input_tokens"], paused["usage"]["output_tokens"]) == (0, 0)
        after = api.post(*self.LONG, assistant(paused["content"]), user("more"), context_management=self.wanted()).body
        assert after["content"] == [{"type": "text", "text": "done"}]

    def test_it_costs_what_both_steps_cost(self) -> None:
        api = Api(anthropic_beta=BETAS)
        plain = api.post(*self.LONG)
        both = api.post(*self.LONG, context_management=self.wanted())
        first, second = api.account.journal.exchanges
        assert plain.status == both.status == 200
        assert second.cost_usd > first.cost_usd * 0.99

    def test_a_stream_has_it_in_one_delta(self) -> None:
        reply = Api(anthropic_beta=BETAS).post(*self.LONG, context_management=self.wanted(), stream=True)
        deltas = [data["delta"] for name, data in reply.events if name == "content_block_delta" and data["index"] == 0]
        assert [delta["type"] for delta in deltas] == ["compaction_delta"]

    def test_short_prompts_are_left_alone(self) -> None:
        reply = Api(anthropic_beta=BETAS).post(user("hi"), context_management=self.wanted())
        assert [block["type"] for block in reply.body["content"]] == ["text"]
        assert [step["type"] for step in reply.body["usage"]["iterations"]] == ["message"]

    def test_the_trigger_has_a_floor(self) -> None:
        wanted = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}]}
        reply = Api(anthropic_beta=BETAS).post(user("hi"), context_management=wanted)
        assert reply.message == (
            "context_management.edits.0.compact_20260112.trigger.value: Input should be greater than or equal to 50000"
        )


class TestGates:
    def test_without_a_beta_the_field_is_unknown(self) -> None:
        reply = Api().post(user("hi"), context_management=clear())
        assert reply.message == "context_management: Extra inputs are not permitted"

    def test_without_its_own_beta_compaction_is_no_edit(self) -> None:
        api = Api(anthropic_beta="context-management-2025-06-27")
        reply = api.post(user("hi"), context_management={"edits": [{"type": "compact_20260112"}]})
        assert reply.message == (
            "context_management.edits.0: Input tag 'compact_20260112' found using 'type' does not match any of the "
            "expected tags: 'clear_thinking_20251015', 'clear_tool_uses_20250919'"
        )
