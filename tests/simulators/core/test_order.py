"""The order of work: what is refused when, and what a refusal leaves untouched."""

from typing import Any

import pytest

from simulators.core.simulator import Engine
from simulators.core.wire import Chunk, Head, Wait
from tests.simulators.core.plain import NOW, Reply, ask, engine, reply, request, say

LONG = "word " * 2000


def loaded(document: str) -> Engine:
    """An engine whose account `k` counts words."""
    sim = engine()
    sim.account("k").load("tokenizer: words\n" + document)
    return sim


def last(sim: Engine) -> dict[str, Any]:
    """The latest journal entry."""
    return sim.account("k").journal.exchanges[-1].to_dict()


def answered_by(sim: Engine, body: Any, **options: Any) -> str:
    ask(sim, body, **options)
    said: str = last(sim)["answered_by"]
    return said


def test_an_answer_is_booked_from_head_to_end() -> None:
    sim = loaded("turns: [{text: one two three}]")
    sent = say("hello there", stream=True)
    assert ask(sim, sent).text.startswith("start ")
    entry = last(sim)
    entry.pop("headers", None)  # of the request, credentials left out
    assert entry.pop("cost_usd") == 0.0
    assert entry == {
        "n": 1, "at": NOW, "key": "k…", "dialect": "plain", "path": "/plain", "model": "sim-test", "stream": True,
        "kind": "main", "request": sent, "status": 200, "answered_by": "turns[0]",
        "usage": {"prompt": 2, "output": 3},
        "tokens": {"input": 2, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "output": 3},
        "cache": {"ideal_read": 0, "breakpoints": [], "miss": None}, "faults": [], "frames": 5, "ended": "complete",
    }  # fmt: skip


def test_a_call_that_nothing_answers_says_what_came_nearest() -> None:
    sim = loaded("rules: [{when: {last_user: deploy}, reply: {text: done}}]")
    answer = ask(sim, say("hello"))
    assert (answer.status, answer.headers["x-sim-unmatched"]) == (400, "1")
    assert answer.text.startswith("bad_request: no scripted answer")
    assert (last(sim)["answered_by"], last(sim)["nearest"]) == ("unmatched", {"rule": "rules[0]"})
    assert sim.account("k").state(NOW)["unmatched"] == 1


class TestRefusals:
    """Each refusal comes at its place, consumes no turn, writes no cache entry and costs nothing."""

    @pytest.mark.parametrize(
        ("document", "body", "status", "by"),
        [
            ("faults: [{kind: busy, on: {call: 1}}]", say("x"), 400, "fault:busy"),
            ("faults: [{kind: page, on: {call: 1}}]", say("x"), 503, "fault:page"),
            ("limits: {rpm: 1}", None, 429, "limits"),
            ("limits: {itpm: 1000}", say(LONG), 429, "limits"),
            ("limits: {spend_usd: 0}", say("x"), 429, "limits"),
            ("", b"{", 400, "validation"),
            ("", say("x", model="unknown"), 404, "validation"),
            ("models: {sim-test: {context_window: 1999}}", say(LONG), 400, "overflow"),
            ("models: {sim-test: {context_window: 9}}", say("a b", max_tokens=8, strict=True), 400, "overflow"),
        ],
    )
    def test_it_leaves_everything_as_it_was(self, document: str, body: Any, status: int, by: str) -> None:
        sim = loaded(f"turns: [{{text: used}}]\n{document}")
        if body is None:  # one request a minute: the one that uses it up must not use the turn
            sim.account("k").load("turns: [{text: first}, {text: used}]\nlimits: {rpm: 1}")
            ask(sim, say("x"))
            body = say("x")
        before = sim.account("k").state(NOW)
        answer = ask(sim, body)
        after = sim.account("k").state(NOW)
        assert (answer.status, last(sim)["answered_by"], last(sim)["status"]) == (status, by, status)
        assert after["script"] == before["script"] or by.startswith("fault")
        assert after["script"]["next"] == before["script"]["next"]
        assert after["cache"] == {"entries": 0}
        assert after["totals"]["cost_usd"] == 0 and after["totals"]["tokens"] == before["totals"]["tokens"]
        assert last(sim)["tokens"] is None and last(sim)["ended"] == "complete"

    def test_a_body_too_large_comes_before_everything_else(self) -> None:
        sim = loaded("faults: [{kind: busy}]")
        assert answered_by(sim, b"x" * (32 * 1024 * 1024 + 1)) == "validation"
        assert last(sim)["status"] == 413

    def test_admission_faults_come_before_limits_and_limits_before_validation(self) -> None:
        sim = loaded("faults: [{kind: busy, on: {call: 1}}]\nlimits: {spend_usd: 0}")
        assert [answered_by(sim, b"{"), answered_by(sim, b"{")] == ["fault:busy", "limits"]

    def test_validation_comes_before_overflow_and_overflow_before_the_buckets(self) -> None:
        sim = loaded("responder: script\nmodels: {sim-test: {context_window: 10}}\nlimits: {itpm: 8}")
        assert answered_by(sim, say(LONG)) == "overflow"
        assert answered_by(sim, say("a b c d e f g h i j")) == "limits"
        assert answered_by(sim, say("a b c")) == "unmatched"

    def test_the_journal_knows_a_refused_call_as_far_as_it_can_be_read(self) -> None:
        sim = loaded("faults: [{kind: busy}]")
        ask(sim, say("CRITICAL: Respond with TEXT ONLY. Go.", stream=True))
        assert [last(sim)[key] for key in ("model", "stream", "kind")] == ["sim-test", True, "summary"]


class TestOverflow:
    def test_the_numbers_are_the_real_count(self) -> None:
        sim = loaded("models: {sim-test: {context_window: 5}}\nturns: [{text: ok}]")
        assert ask(sim, say("a b c d e f")).status == 400
        assert ask(sim, say("a b c")).status == 200

    def test_without_a_strict_window_the_answer_ends_at_the_windows_end(self) -> None:
        sim = loaded("models: {sim-test: {context_window: 5}}\nturns: [{text: one two three four}]")
        answer = ask(sim, say("a b c", max_tokens=100))
        assert answer.body == b'{"text":"one two ","stop":"context_window_exceeded","output":2}'


class TestTurns:
    def test_an_error_turn_is_consumed(self) -> None:
        sim = loaded("turns: [{error: {kind: rate_limited, retry_after: 7}}, {text: ok}]")
        answer = ask(sim, say("x"))
        assert (answer.status, answer.headers["retry-after"]) == (429, "7")
        assert last(sim)["answered_by"] == "turns[0]"
        assert ask(sim, say("x")).status == 200

    def test_an_error_like_one_of_the_catalogue(self) -> None:
        sim = loaded("turns: [{error: {like: other/odd}}]")
        answer = ask(sim, say("x"))
        assert (answer.status, answer.body, answer.headers["x-odd"]) == (418, b"teapot", "1")

    def test_a_raw_error_and_a_raw_answer(self) -> None:
        sim = loaded(
            "turns:\n"
            "- {error: {status: 451, headers: {X-Why: law}, body: {no: 1}}}\n"
            "- {raw: {status: 200, headers: {content-type: text/x}, body: 'event: hm'}}\n"
        )
        answer = ask(sim, say("x"))
        assert (answer.status, answer.body, answer.headers["x-why"]) == (451, b'{"no":1}', "law")
        answer = ask(sim, say("x"))
        assert (answer.status, answer.body, answer.headers) == (200, b"event: hm", {"content-type": "text/x"})

    def test_output_tokens_override_the_figure_alone(self) -> None:
        sim = loaded("turns: [{text: one two, output_tokens: 900}]")
        assert ask(sim, say("x", max_tokens=5)).body == b'{"text":"one two","stop":"end_turn","output":900}'

    def test_warming_the_cache_uses_no_turn(self) -> None:
        sim = loaded("turns: [{text: ok}]")
        warm = say(LONG, max_tokens=0, marks={"0": "5m"})
        assert ask(sim, warm).body == b'{"text":null,"stop":"max_tokens","output":0}'
        assert (last(sim)["answered_by"], last(sim)["tokens"]["cache_write_5m"]) == ("prewarm", 2000)
        assert answered_by(sim, say("x")) == "turns[0]"

    def test_max_tokens_and_stop_sequences_end_an_answer(self) -> None:
        sim = loaded("turns: [{text: one two three}, {text: one two three}]")
        assert b'"text":"one two ","stop":"max_tokens"' in ask(sim, say("x", max_tokens=2)).body
        assert b'"text":"one ","stop":"stop_sequence"' in ask(sim, say("x", stop=["two"])).body


class TestFaults:
    def test_a_fault_of_a_turn_acts_on_that_turn_alone(self) -> None:
        sim = loaded("turns: [{text: one two three, fault: {kind: clipped, events: 2}}, {text: whole}]")
        assert ask(sim, say("x", stream=True)).text.count("\n") == 2
        assert (last(sim)["faults"], last(sim)["frames"]) == (["clipped"], 2)
        assert "stop end_turn" in ask(sim, say("x", stream=True)).text

    def test_an_admission_fault_of_a_turn_uses_the_turn(self) -> None:
        sim = loaded("turns: [{fault: {kind: busy}}, {text: ok}]")
        assert answered_by(sim, say("x")) == "fault:busy"
        assert answered_by(sim, say("x")) == "turns[1]"

    def test_a_turn_fault_changes_what_is_reported_and_not_the_truth(self) -> None:
        sim = loaded("turns: [{text: one two}]\nfaults: [{kind: doubled}]")
        assert ask(sim, say("x", stream=True)).text.startswith("START ")
        assert (last(sim)["usage"]["output"], last(sim)["tokens"]["output"]) == (4, 2)

    def test_which_calls_it_acts_on(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script\nfaults: [{kind: busy, on: {call: 2, times: 2}}]")
        assert [ask(sim, say("x")).status for _ in range(4)] == [200, 400, 400, 200]

    def test_counting_tokens_is_no_generation_call(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script\nfaults: [{kind: busy, on: {call: 1}}]")
        assert ask(sim, say("a b c"), path="/plain/count").body == b"3"
        assert int(ask(sim, None, path="/plain/models").body) > 50
        assert ask(sim, say("x")).status == 400

    def test_a_turns_own_fault_joins_the_accounts(self) -> None:
        sim = loaded(
            "turns: [{text: a b c, fault: {kind: doubled}}]\nfaults: [{kind: clipped}, {kind: busy, on: {call: 2}}]"
        )
        assert ask(sim, say("x", stream=True)).text.startswith("START ")
        assert last(sim)["faults"] == ["doubled", "clipped"]

    def test_chance_repeats(self) -> None:
        document = "otherwise: echo\nresponder: script\nseed: 5\nfaults: [{kind: busy, on: {probability: 0.5}}]"
        runs = [[ask(sim, say("x")).status for _ in range(20)] for sim in (loaded(document), loaded(document))]
        assert runs[0] == runs[1] and set(runs[0]) == {200, 400}

    def test_one_that_is_added_later_goes_with_the_rest(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script")
        ask(sim, say("x"))
        sim.account("k").add_fault({"kind": "busy", "on": {"call": 2}})
        assert [ask(sim, say("x")).status for _ in range(2)] == [400, 200]
        assert len(sim.account("k").journal) == 3


def test_a_service_that_is_not_there() -> None:
    sim = loaded("responder: echo")
    assert ask(sim, say("x"), path="/plain/other").status == 404
    assert last(sim)["answered_by"] == "validation"


class TestEnds:
    def test_a_client_that_leaves_in_the_middle_has_paid_and_left_an_entry(self) -> None:
        sim = loaded("turns: [{text: one two three}]\nlimits: {concurrency: 1}")
        answer = sim.handle(request(say(LONG, stream=True, marks={"0": "5m"})), NOW)
        events = iter(answer)
        assert isinstance(next(events), Head) and isinstance(next(events), Chunk)
        assert sim.account("k").state(NOW)["limits"]["concurrency"]["open"] == 1
        answer.close(NOW, "client_gone")
        answer.close(NOW, "complete")
        assert (last(sim)["ended"], last(sim)["frames"], last(sim)["tokens"]["output"]) == ("client_gone", 1, 3)
        state = sim.account("k").state(NOW)
        assert (state["cache"]["entries"], state["limits"]["concurrency"]["open"]) == (1, 0)

    def test_a_client_that_leaves_before_the_head_has_paid_nothing(self) -> None:
        sim = loaded("turns: [{text: one}]\npacing: {first_token_ms: 400}\nlimits: {itpm: 3000}")
        answer = sim.handle(request(say(LONG, stream=True, marks={"0": "5m"})), NOW)
        assert next(iter(answer)) == Wait(0.4)
        answer.close(NOW, "client_gone")
        state = sim.account("k").state(NOW)
        assert (state["cache"]["entries"], state["totals"]["tokens"]["input"]) == (0, 0)
        assert state["limits"]["input_tokens"]["remaining"] == 3000
        assert last(sim)["status"] is None and last(sim)["cost_usd"] == 0

    def test_an_answer_under_way_when_another_document_is_loaded_is_booked_where_it_began(self) -> None:
        sim = loaded("turns: [{text: one}]\nlimits: {concurrency: 1}")
        answer = sim.handle(request(say("x")), NOW)
        sim.account("k").load("turns: [{text: two}]\nlimits: {concurrency: 1}")
        assert reply(list(answer)).status == 200
        answer.close(NOW, "complete")
        assert sim.account("k").state(NOW)["totals"]["requests"] == 0
        assert ask(sim, say("x")).status == 200

    def test_concurrency_counts_open_answers(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script\nlimits: {concurrency: 1}")
        first = sim.handle(request(say("x")), NOW)
        assert ask(sim, say("x")).status == 429
        first.close(NOW, "client_gone")
        assert ask(sim, say("x")).status == 200


class TestCacheAndLimits:
    PROMPT = say(LONG, marks={"0": "5m"})

    def test_what_the_cache_gives_is_free_of_the_input_limit(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script\nlimits: {itpm: 2500}")
        assert [ask(sim, self.PROMPT).status for _ in range(3)] == [200, 200, 200]
        assert last(sim)["tokens"]["cache_read"] == 2000

    def test_a_miss_stands_in_the_journal(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script")
        ask(sim, say(LONG, marks={"0": "5m"}, system="it is ten"))
        ask(sim, say(LONG, "yes", "go on", marks={"0": "5m"}, system="it is eleven"))
        miss = last(sim)["cache"]["miss"]
        assert (miss["level"], miss["at"], miss["before"], miss["after"]) == (
            "system", "system[0]", "it is ten", "it is eleven",
        )  # fmt: skip

    def test_a_long_pause_on_the_accounts_clock(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script")
        ask(sim, self.PROMPT)
        sim.advance(301, "k")
        ask(sim, self.PROMPT)
        assert (last(sim)["tokens"]["cache_read"], last(sim)["at"]) == (0, NOW + 301)
        assert last(sim)["cache"]["miss"]["why"].startswith("expired")

    def test_the_minute_refills_the_bucket(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script\nlimits: {rpm: 2}")
        assert [ask(sim, say("x")).status for _ in range(3)] == [200, 200, 429]
        answer = ask(sim, say("x"))
        assert answer.headers["retry-after"] == "30"
        assert ask(sim, say("x"), now=NOW + 30).status == 200

    def test_output_leaves_a_debt(self) -> None:
        sim = loaded("otherwise: echo\nresponder: script\nlimits: {otpm: 60}")
        ask(sim, say("word " * 90))
        assert ask(sim, say("x"), now=NOW + 30).status == 429
        assert ask(sim, say("x"), now=NOW + 31).status == 200

    def test_money(self) -> None:
        sim = loaded(
            "otherwise: echo\nresponder: script\nlimits: {spend_usd: 0.003}\nmodels: {sim-test: {input: 1, output: 0}}"
        )
        assert [ask(sim, say(LONG)).status for _ in range(3)] == [200, 200, 429]
        assert sim.account("k").state(NOW)["totals"]["cost_usd"] == pytest.approx(0.004)
        assert "retry-after" not in ask(sim, say(LONG)).headers


class TestPacing:
    def test_a_stream_waits_before_its_head_and_between_its_deltas(self) -> None:
        sim = loaded("turns: [{text: one two three}]\npacing: {first_token_ms: 400, tokens_per_s: 50}")
        events = ask(sim, say("x", stream=True)).events
        assert [e.seconds for e in events if isinstance(e, Wait)] == [0.4, 0.02, 0.02]
        assert isinstance(events[0], Wait) and isinstance(events[1], Head)

    def test_one_piece_waits_for_all_of_it(self) -> None:
        sim = loaded("turns: [{text: one two three}]\npacing: {first_token_ms: 400, tokens_per_s: 50}")
        assert ask(sim, say("x")).events[0] == Wait(pytest.approx(0.46))  # type: ignore[arg-type]

    def test_wire_faults_see_the_head_first(self) -> None:
        sim = loaded("turns: [{text: a b}]\nfaults: [{kind: clipped}]\npacing: {first_token_ms: 400}")
        assert [type(e).__name__ for e in ask(sim, say("x", stream=True)).events] == ["Wait", "Head", "Chunk"]


def test_same_seed_same_bytes_whatever_the_key() -> None:
    def run(seed: int, key: str) -> list[Reply]:
        sim = engine(seed=seed, script="turns: [{text: hi, tool_calls: [{name: read}]}, {error: {kind: auth}}]")
        return [ask(sim, say("x", stream=True), key=key) for _ in range(2)]

    assert run(1, "a") == run(1, "b")
    assert run(1, "a") != run(2, "a")
