"""The Responses API: what is refused, what is kept, and what an answer looks like."""

from typing import Any

import pytest

from tests.simulators.dialects._openai.asking import RESPONSES, Asker, called, function, output, user

TOOL = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
READ = {"tool_calls": [{"name": "read", "input": {"path": "a"}}]}
CONVERSATIONS = "/v1/conversations"
REFUSED: dict[str, tuple[Any, dict[str, Any], tuple[str, str | None, str | None]]] = {
    "no model": ("x", {"model": None}, ("Missing required parameter: 'model'.", "model", "missing_required_parameter")),
    "no input": (None, {}, ("Missing required parameter: 'input'.", "input", "missing_required_parameter")),
    "a stranger": ("x", {"nonsense": 1}, ("Unknown parameter: 'nonsense'.", "nonsense", "unknown_parameter")),
    "too small": (
        "x",
        {"max_output_tokens": 1},
        (
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",
            "max_output_tokens",
            "integer_below_min_value",
        ),
    ),
    "temperature of a model that reasons": (
        "x",
        {"model": "gpt-5.5", "temperature": 0.2},
        (
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "temperature",
            "unsupported_parameter",
        ),
    ),
    "a call without output": (
        [user("x"), called("call_abc")],
        {},
        ("No tool output found for function call call_abc.", "input", None),
    ),
    "output without a call": (
        [user("x"), output("call_abc")],
        {},
        ("No tool call found for function call output with call_id call_abc.", "input", None),
    ),
    "an unknown response": (
        "x",
        {"previous_response_id": "resp_1"},
        (
            "Previous response with id 'resp_1' not found.",
            "previous_response_id",
            "previous_response_not_found",
        ),
    ),
    "two pasts": (
        "x",
        {"previous_response_id": "resp_1", "conversation": "conv_1"},
        (
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing "
            "one of these parameters.",
            None,
            "mutually_exclusive_parameters",
        ),
    ),
    "reasoning without what follows": (
        [user("x"), {"type": "reasoning", "id": "rs_1", "summary": []}, user("y")],
        {},
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", "input", None),
    ),
}


@pytest.mark.parametrize(("given", "fields", "said"), REFUSED.values(), ids=REFUSED)
def test_refusals(given: Any, fields: dict[str, Any], said: tuple[str, str | None, str | None]) -> None:
    refused = Asker().respond(given, **fields)
    assert refused.status == 400
    assert (refused.error["message"], refused.error["param"], refused.error["code"]) == said


def test_overflow_has_no_figures_and_truncation_drops_from_the_beginning() -> None:
    asker = Asker(models={"gpt-4.1": {"context_window": 20}})
    history = [user("w " * 12), {"role": "assistant", "content": "w " * 6}, user("a b c")]
    refused = asker.respond(history, instructions="be brief")
    assert refused.error == {
        "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "type": "invalid_request_error",
        "param": "input",
        "code": "context_length_exceeded",
    }
    kept = asker.respond(history, instructions="be brief", truncation="auto")
    assert (kept.status, kept.body["usage"]["input_tokens"]) == (200, 2 + 6 + 3)


class TestState:
    def test_a_response_is_kept_shown_and_removed(self) -> None:
        asker = Asker()
        made = asker.respond("hello").body
        path = f"{RESPONSES}/{made['id']}"
        assert asker.send(path, method="GET").body == made
        (item,) = asker.send(f"{path}/input_items", method="GET").body["data"]
        assert item["content"] == [{"type": "input_text", "text": "hello"}]
        assert asker.send(path, method="DELETE").body == {"id": made["id"], "object": "response", "deleted": True}
        assert asker.send(path, method="GET").error["message"] == f"Response with id '{made['id']}' not found."

    def test_going_on_from_a_response_bills_its_input_again_and_drops_its_instructions(self) -> None:
        asker = Asker()
        first = asker.respond("one two", instructions="a b c").body
        second = asker.respond("three", previous_response_id=first["id"]).body
        assert second["usage"]["input_tokens"] == 2 + 1 + 1  # its words, the answer, the new word
        assert second["previous_response_id"] == first["id"]
        assert asker.account.journal.exchanges[-1].request["input"] == "three"

    def test_not_stored_is_not_found(self) -> None:
        asker = Asker()
        made = asker.respond("x", store=False).body
        assert asker.respond("y", previous_response_id=made["id"]).error["code"] == "previous_response_not_found"

    def test_two_accounts_share_no_state(self) -> None:
        asker = Asker()
        made = asker.respond("x").body
        assert asker.send(f"{RESPONSES}/{made['id']}", method="GET", authorization="Bearer sk-other").status == 404

    def test_a_conversation_grows(self) -> None:
        asker = Asker()
        name = asker.send(CONVERSATIONS, {"items": [user("one two")], "metadata": {"a": "b"}}).body["id"]
        asker.respond("three", conversation=name)
        second = asker.respond("four", conversation={"id": name}).body
        assert second["usage"]["input_tokens"] == 2 + 1 + 1 + 1
        assert second["conversation"] == {"id": name}
        items = asker.send(f"{CONVERSATIONS}/{name}/items?order=asc", method="GET").body["data"]
        assert [item["role"] for item in items] == ["user", "user", "assistant", "user", "assistant"]
        assert asker.send(f"{CONVERSATIONS}/{name}", {"metadata": {}}).body["metadata"] == {}
        assert asker.send(f"{CONVERSATIONS}/{name}", method="DELETE").body["object"] == "conversation.deleted"
        assert asker.respond("x", conversation=name).status == 404

    def test_a_background_response_takes_its_time_and_can_be_cancelled(self) -> None:
        asker = Asker(pacing={"tokens_per_s": 1}, turns=[{"text": "a b c"}, {"text": "a b c"}])
        made = asker.respond("x", background=True).body
        path = f"{RESPONSES}/{made['id']}"
        assert (made["status"], made["output"]) == ("queued", [])
        assert asker.send(path, method="GET").body["status"] == "in_progress"
        asker.simulator.advance(3)
        assert asker.send(path, method="GET").body["status"] == "completed"
        other = asker.respond("x", background=True).body["id"]
        assert asker.send(f"{RESPONSES}/{other}/cancel", {}).body["status"] == "cancelled"
        asker.simulator.advance(30)
        assert asker.send(f"{RESPONSES}/{other}", method="GET").body["status"] == "cancelled"
        plain = Asker()
        refused = plain.send(f"{RESPONSES}/{plain.respond('x').body['id']}/cancel", {})
        assert refused.error["message"] == "Cannot cancel a synchronous response."

    def test_the_events_of_a_background_response_can_be_had_again(self) -> None:
        asker = Asker()
        events = asker.respond("x", background=True, stream=True).events
        name = events[0]["response"]["id"]
        again = asker.send(f"{RESPONSES}/{name}?stream=true&starting_after=2", method="GET")
        assert again.events == events[3:]
        assert [event["type"] for event in events[:3]] == [
            "response.created",
            "response.queued",
            "response.in_progress",
        ]

    def test_an_item_can_be_referred_to(self) -> None:
        asker = Asker()
        item = asker.respond("x").body["output"][0]["id"]
        assert asker.respond([{"type": "item_reference", "id": item}, user("on")]).body["usage"]["input_tokens"] == 2
        refused = asker.respond([{"type": "item_reference", "id": "msg_1"}, user("on")])
        assert refused.error["message"].startswith("Item with id 'msg_1' not found.")


class TestReasoning:
    ASK: dict[str, Any] = {"model": "gpt-5.5", "tools": [TOOL], "include": ["reasoning.encrypted_content"]}

    def first(self, asker: Asker, **fields: Any) -> list[dict[str, Any]]:
        output_: list[dict[str, Any]] = asker.respond([user("go")], **self.ASK, **fields).body["output"]
        return output_

    def test_a_call_comes_back_with_its_reasoning(self) -> None:
        asker = Asker(turns=[{"thinking": "hm hm", **READ}, {"text": "done"}])
        reasoning, call = self.first(asker)
        back = [user("go"), call, output(call["call_id"])]
        refused = asker.respond(back, **self.ASK)
        assert refused.error["message"] == (
            f"Item '{call['id']}' of type 'function_call' was provided without its required 'reasoning' item: "
            f"'{reasoning['id']}'."
        )
        taken = asker.respond([user("go"), reasoning, call, output(call["call_id"])], **self.ASK)
        assert (taken.status, taken.body["usage"]["input_tokens"]) == (200, 1 + 2 + 1 + 1)

    def test_its_own_seal_is_checked_and_a_foreign_one_taken(self) -> None:
        asker = Asker(turns=[{"thinking": "hm", **READ}, {"text": "done"}])
        reasoning, call = self.first(asker)
        sealed = reasoning["encrypted_content"]
        spoilt = {**reasoning, "encrypted_content": f"{sealed[:-6]}AAAAAA"}
        refused = asker.respond([user("go"), spoilt, call, output(call["call_id"])], **self.ASK)
        assert refused.error["code"] == "invalid_encrypted_content"
        foreign = {"type": "reasoning", "id": "rs_real", "summary": [], "encrypted_content": "gAAAAABpiixxrPOPTckLKcmd"}
        assert asker.respond([user("go"), foreign, called("c"), output("c")], **self.ASK).status == 200

    def test_what_was_not_stored_must_bring_its_content(self) -> None:
        asker = Asker(turns=[{"thinking": "hm", **READ}, {"text": "done"}])
        reasoning, call = self.first(asker, store=False)
        bare = {name: value for name, value in reasoning.items() if name != "encrypted_content"}
        refused = asker.respond([user("go"), bare, call, output(call["call_id"])], **self.ASK)
        assert (refused.status, "not persisted" in refused.error["message"]) == (404, True)

    def test_a_summary_is_shown_only_if_it_was_asked_for(self) -> None:
        asker = Asker(turns=[{"thinking": "hm", "text": "a"}] * 2)
        assert self.first(asker)[0]["summary"] == []
        shown = self.first(asker, reasoning={"summary": "auto"})[0]["summary"]
        assert shown == [{"type": "summary_text", "text": "hm"}]


class TestCompaction:
    def test_compact_gives_the_users_words_and_one_sealed_item(self) -> None:
        asker = Asker(turns=[{"text": "four"}])
        said = asker.send(
            f"{RESPONSES}/compact",
            {"model": "gpt-4.1", "input": [user("one two"), {"role": "assistant", "content": "ok"}]},
        )
        assert (said.status, said.body["object"]) == (200, "response.compaction")
        kept, compaction = said.body["output"]
        assert (kept["role"], compaction["type"]) == ("user", "compaction")
        exchange = asker.account.journal.exchanges[-1]
        assert (exchange.kind, exchange.answered_by) == ("summary", "compaction")
        on = asker.respond([kept, compaction, user("three")])
        assert on.text == "four"  # no turn was used up
        assert on.body["usage"]["input_tokens"] > 3

    def test_a_threshold_puts_one_behind_the_answer(self) -> None:
        asker = Asker()
        ask = {"context_management": [{"type": "compaction", "compact_threshold": 1000}]}
        assert [item["type"] for item in asker.respond("w " * 998, **ask).body["output"]] == ["message"]
        said = asker.respond("w " * 999, stream=True, **ask).events
        assert [item["type"] for item in said[-1]["response"]["output"]] == ["message", "compaction"]
        assert "response.compaction.compacting" in [event["type"] for event in said]

    def test_tools_and_the_users_words_outlive_one(self) -> None:
        asker = Asker()
        tools = {"type": "additional_tools", "role": "developer", "tools": [{**TOOL, "description": "two words"}]}
        said = [tools, user("one"), {"role": "assistant", "content": "lost lost"}]
        sealed = {"type": "compaction", "encrypted_content": "gAAAAABpiixxrPOP"}
        assert (
            asker.respond([*said, sealed, user("on")], model="gpt-6.2-sol").body["usage"]["input_tokens"] == 2 + 1 + 1
        )

    def test_a_trigger_asks_for_one(self) -> None:
        asker = Asker(turns=[{"text": "unused"}])
        said = asker.respond([user("x"), {"type": "compaction_trigger"}]).body
        assert [item["type"] for item in said["output"]] == ["compaction"]
        assert asker.account.state(0)["script"]["unused"] == ["turns[0]"]


class TestCache:
    LONG = "w " * 3000

    def test_breakpoints_are_paid_for_and_told_by_lifetime(self) -> None:
        asker = Asker()
        ask = {"model": "gpt-5.6-sol", "prompt_cache_options": {"ttl": "12h"}}
        first = asker.respond(self.LONG, **ask).body["usage"]["input_tokens_details"]
        assert first == {
            "cached_tokens": 0,
            "cache_write_tokens": 3000,
            "cache_write_tokens_details": {"ttl_30m_tokens": 0, "ttl_12h_tokens": 3000},
        }
        assert asker.respond(self.LONG, **ask).body["usage"]["input_tokens_details"]["cached_tokens"] == 3000
        assert asker.account.journal.exchanges[0].cost_usd == pytest.approx((3000 * 10 + 20) / 1e6)

    def test_prewarming_generates_nothing(self) -> None:
        asker = Asker(turns=[{"text": "one"}])
        warmed = asker.respond(self.LONG, model="gpt-5.6-sol", prompt_cache_options={"prewarm": True}).body
        assert (warmed["output"], warmed["usage"]["output_tokens"]) == ([], 0)
        assert (
            asker.respond(self.LONG, model="gpt-5.6-sol").body["usage"]["input_tokens_details"]["cached_tokens"] == 3000
        )

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"model": "gpt-6-sol"}, "model_changed"),
            ({"prompt_cache_key": "other"}, "prompt_cache_key_changed"),
            ({"tools": [TOOL]}, "tools_changed"),
            ({"text": {"format": {"type": "json_object"}}}, "text_format_changed"),
            ({"reasoning": {"effort": "low"}}, "reasoning_effort_changed"),
            ({"text": {"verbosity": "low"}}, "verbosity_changed"),
            ({"service_tier": "flex"}, "service_tier_changed"),
            ({"input": "v " * 3000}, "input_changed"),
        ],
    )
    def test_diagnostics(self, change: dict[str, Any], reason: str) -> None:
        asker = Asker()
        ask: dict[str, Any] = {"model": "gpt-5.6-sol", "input": self.LONG}
        first = asker.respond(ask["input"], model=ask["model"]).body["id"]
        compare = {"prompt_cache_options": {"comparison_response_id": first}}
        same = asker.send(RESPONSES, {**ask, **compare}).body["prompt_cache_diagnostics"]
        assert same == {"type": "cache_hit"}
        missed = asker.send(RESPONSES, {**ask, **compare, **change}).body["prompt_cache_diagnostics"]
        assert (missed["type"], missed["reason"], missed["comparison_reusable_tokens"]) == ("cache_miss", reason, 3000)
        nobody = {"prompt_cache_options": {"comparison_response_id": "resp_1"}}
        found = asker.send(RESPONSES, {**ask, **nobody}).body["prompt_cache_diagnostics"]
        assert found == {"type": "comparison_response_not_found"}


def test_tools_that_come_inside_the_conversation_are_on_offer() -> None:
    asker = Asker(turns=[READ])
    late = {"type": "additional_tools", "role": "developer", "tools": [TOOL]}
    assert asker.respond([late, user("go")], model="gpt-6.2-sol").body["output"][0]["name"] == "read"


def test_custom_tools_take_text() -> None:
    asker = Asker(turns=[{"tool_calls": [{"name": "patch", "input": "*** Begin"}]}])
    (item,) = asker.respond("go", tools=[{"type": "custom", "name": "patch"}]).body["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin")


def test_counting() -> None:
    said = Asker().send(f"{RESPONSES}/input_tokens", {"model": "gpt-4.1", "input": "one two three"})
    assert said.body == {"object": "response.input_tokens", "input_tokens": 3}


@pytest.mark.parametrize(("stop", "reason"), [("max_tokens", "max_output_tokens"), ("refusal", "content_filter")])
def test_incomplete(stop: str, reason: str) -> None:
    turn = {"stop": stop} | ({"text": "a"} if stop == "max_tokens" else {})
    said = Asker(turns=[turn]).respond(stream=True).events[-1]
    assert (said["type"], said["response"]["incomplete_details"]) == ("response.incomplete", {"reason": reason})


def test_the_chat_schema_of_a_function_is_not_this_apis() -> None:
    assert Asker().respond(tools=[function()]).error["param"] == "tools[0].name"
