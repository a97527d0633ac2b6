"""Claude Code's output, record by record, and the recorded runs of the real one."""

import json
from pathlib import Path
from typing import Any

import pytest

from claw.cli_backends.claude import BACKEND
from claw.core.calls import (
    CliCompaction,
    CliEvent,
    CliReply,
    CliRetry,
    CliRun,
    CliSession,
    CliTool,
    CliUsage,
)
from claw.core.stream import Fold, MessageEnd, MessageStart, PartDelta
from claw.core.usage import Usage

CAPTURES = Path(__file__).parents[4] / "shared" / "captures"
RUN = CliRun(prompt="hi", system="", model="claude-x", cli_session="S1", resume=False, workspace="/w")


def decode(*records: dict[str, Any], code: int = 0, stderr: bytes = b"") -> list[CliEvent]:
    decoder = BACKEND.decoder(RUN)
    out = list(decoder.feed(b"".join(json.dumps(r).encode() + b"\n" for r in records)))
    return [*out, *decoder.finish(code, stderr)]


def reply(events: list[CliEvent]) -> CliReply:
    """The last event, which must be the only reply."""
    replies = [e for e in events if isinstance(e, CliReply)]
    assert replies == [events[-1]]
    return replies[0]


def only(events: list[CliEvent], kind: type) -> list[Any]:
    return [e for e in events if isinstance(e, kind)]


def event(**fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "session_id": "S1", "parent_tool_use_id": None, "event": fields}


def start(id: str = "msg_1", **usage: int) -> dict[str, Any]:
    return event(type="message_start", message={"id": id, "model": "claude-x", "usage": usage or {"input_tokens": 3}})


def text_block(*pieces: str, index: int = 0) -> list[dict[str, Any]]:
    return [
        event(type="content_block_start", index=index, content_block={"type": "text", "text": ""}),
        *(event(type="content_block_delta", index=index, delta={"type": "text_delta", "text": p}) for p in pieces),
        event(type="content_block_stop", index=index),
    ]


def end(stop: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    return [
        event(type="message_delta", delta={"stop_reason": stop}, usage=usage or {"output_tokens": 5}),
        event(type="message_stop"),
    ]


def snapshot(*blocks: dict[str, Any], id: str = "msg_1", model: str = "claude-x", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": 1}
    message = {
        "id": id,
        "model": model,
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": None,
        "usage": usage,
    }
    return {"type": "assistant", "session_id": "S1", "parent_tool_use_id": None, "message": message} | more


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def result(text: str = "OK", **more: Any) -> dict[str, Any]:
    fields = {"subtype": "success", "is_error": False, "result": text, "stop_reason": "end_turn", "usage": {}}
    return {"type": "result", "session_id": "S1"} | fields | more


# ------------------------------------------------------------------ the real runs


def recorded() -> list[Path]:
    return sorted(path.parent for path in CAPTURES.glob("c*/stdout.jsonl")) if CAPTURES.is_dir() else []


def last_result(folder: Path) -> dict[str, Any] | None:
    found = None
    for line in (folder / "stdout.jsonl").read_text().splitlines():
        record = json.loads(line) if line.startswith(("{", "[")) else None
        if isinstance(record, dict) and record.get("type") == "result":
            found = record
    return found


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="recorded runs of the real CLI are not here (../shared/captures)")
def test_recorded_runs_are_here() -> None:
    assert sum(last_result(folder) is not None for folder in recorded()) >= 70


@pytest.mark.parametrize("folder", recorded(), ids=lambda folder: folder.name)
def test_a_recorded_run_says_what_its_result_says(folder: Path) -> None:
    decoder = BACKEND.decoder(RUN)
    out, told = (folder / "stdout.jsonl").read_bytes(), last_result(folder)
    events = [e for at in range(0, len(out), 777) for e in decoder.feed(out[at : at + 777])]
    exit_code = json.loads((folder / "run.json").read_text())["exit_code"]
    stderr = (folder / "stderr.txt").read_bytes() if (folder / "stderr.txt").exists() else b""
    said = reply(events := [*events, *decoder.finish(exit_code, stderr)])
    if told is None:
        assert said.failure is not None
        return
    assert (said.failure is None) == (not told["is_error"])
    if not told["is_error"]:
        assert said.text == told["result"]
        assert told["stop_reason"] in (said.stop, "tool_use", None)
    elif status := told.get("api_error_status"):
        assert said.failure is not None and said.failure.status == status
    total = only(events, CliUsage)[-1]
    assert total.scope == "run_total"
    if told.get("result_index", 0) == 0:
        assert total.usage.context_tokens == sum(
            told["usage"][k] for k in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        assert total.usage.output == told["usage"]["output_tokens"]


# ------------------------------------------------------------------ streaming


def test_a_streamed_message_is_shown_once_though_it_comes_twice() -> None:
    """The provider's events carry the text; the record of the same message adds nothing."""
    events = decode(
        start(), *text_block("Hel", "lo")[:-1], snapshot(text("Hello")), text_block()[-1], *end(), result("Hello")
    )
    assert [e.text for e in only(events, PartDelta)] == ["Hel", "lo"]
    assert reply(events) == CliReply(text="Hello", stop="end_turn")


def test_a_record_that_comes_after_its_message_ended_adds_nothing() -> None:
    events = decode(start(), *text_block("Hello"), *end(), snapshot(text("Hello")), result("Hello"))
    assert [e.text for e in only(events, PartDelta)] == ["Hello"]


def test_without_partials_the_records_are_the_stream() -> None:
    events = decode(snapshot(text("Hello")), result("Hello", usage={"input_tokens": 3, "output_tokens": 5}))
    fold = Fold()
    for e in events:
        if isinstance(e, MessageStart | PartDelta | MessageEnd) or type(e).__name__ in ("PartStart", "PartEnd"):
            fold.feed(e)  # type: ignore[arg-type]
    assert (fold.turn().message.text, fold.turn().stop) == ("Hello", "end_turn")


def test_a_record_that_grows_gives_what_is_new() -> None:
    events = decode(snapshot(text("Hel")), snapshot(text("Hello")), snapshot(text("Hello")), result("Hello"))
    assert [e.text for e in only(events, PartDelta)] == ["Hel", "lo"]


def test_thinking_keeps_its_signature() -> None:
    events = decode(
        start(),
        event(type="content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
        event(type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hmm"}),
        event(type="content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2ln"}),
        event(type="content_block_stop", index=0),
        *text_block("OK", index=1),
        *end(),
        result(),
    )
    fold = Fold()
    for e in events:
        if type(e).__module__ == "claw.core.stream":
            fold.feed(e)  # type: ignore[arg-type]
    thinking, said = fold.turn().message.parts
    assert (thinking.text, thinking.signature, said.text) == ("hmm", "c2ln", "OK")  # type: ignore[union-attr]


def test_a_call_that_broke_and_was_streamed_again_is_closed_as_an_error() -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "retry_delay_ms": 567, "error_status": None}
    events = decode(
        start("m1"), *text_block("par")[:-1], retry, start("m2"), *text_block("whole"), *end(), result("whole")
    )
    assert [e.stop for e in only(events, MessageEnd)] == ["error", "end_turn"]
    assert only(events, CliRetry) == [CliRetry(attempt=1, delay_s=0.567, status=None, error="unknown")]
    assert reply(events).failure is None


# ------------------------------------------------------------------ tools and sub-agents


def test_tools_of_the_cli_begin_and_end_by_name() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    back = {"type": "tool_result", "tool_use_id": "t1", "content": [text("a\nb")], "is_error": True}
    events = decode(
        snapshot(call),
        {"type": "user", "message": {"role": "user", "content": [back]}, "parent_tool_use_id": None},
        snapshot(text("OK"), id="msg_2"),
        result(),
    )
    assert only(events, CliTool) == [
        CliTool(id="t1", name="Bash", phase="start", input={"command": "ls"}),
        CliTool(id="t1", name="Bash", phase="end", ok=False, text="a\nb"),
    ]


def test_a_streamed_tool_call_is_announced_once_with_its_whole_input() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash"}
    pieces = [
        event(type="content_block_start", index=0, content_block=call | {"input": {}}),
        event(type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"command":'}),
        event(type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '"ls"}'}),
    ]
    stop = event(type="content_block_stop", index=0)
    whole = snapshot(call | {"input": {"command": "ls"}})
    for records in ([*pieces, whole, stop], [*pieces, stop]):  # with its record, and with the record lost
        events = decode(start(), *records, *end("tool_use"), result())
        assert [(t.phase, dict(t.input)) for t in only(events, CliTool)] == [("start", {"command": "ls"})]


def test_a_sub_agent_is_another_conversation() -> None:
    sub = snapshot(text("from below"), id="sub") | {"parent_tool_use_id": "t1"}
    events = decode(snapshot(text("OK")), sub, result())
    assert [e.text for e in only(events, PartDelta)] == ["OK"]
    assert [u.scope for u in only(events, CliUsage)] == ["last_call", "run_total"]


# ------------------------------------------------------------------ usage


def test_the_context_is_the_last_calls_prompt_not_the_runs_sum() -> None:
    """24 calls of 85,501 tokens sum to two million; the window holds 85,501 of them."""
    calls = [
        record
        for n in range(24)
        for record in (
            start(f"m{n}", input_tokens=1, cache_creation_input_tokens=500, cache_read_input_tokens=85_000),
            *text_block("."),
            *end(output_tokens=7),
        )
    ]
    total = {"input_tokens": 24, "cache_creation_input_tokens": 12_000, "cache_read_input_tokens": 2_040_000}
    events = decode(*calls, result(usage=total | {"output_tokens": 168}))
    last, run = [u for u in only(events, CliUsage) if u.scope == "last_call"][-1], only(events, CliUsage)[-1]
    assert last.usage == Usage(input=1, cache_write_5m=500, cache_read=85_000, output=7)
    assert last.usage.context_tokens == 85_501
    assert run.usage.context_tokens == 2_052_024


def test_a_gateway_that_sends_zero_at_the_end_does_not_wipe_the_prompt() -> None:
    events = decode(start(input_tokens=40), *text_block("x"), *end(input_tokens=0, output_tokens=2), result())
    assert only(events, CliUsage)[0].usage == Usage(input=40, output=2)


def test_writes_for_an_hour_are_told_from_those_for_five_minutes() -> None:
    split = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 400}
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 500, "cache_creation": split}
    events = decode(snapshot(text("x")), result(usage=usage))
    assert only(events, CliUsage)[-1].usage == Usage(input=1, cache_write_5m=100, cache_write_1h=400)


def test_the_cost_is_this_runs_and_the_window_the_models() -> None:
    """`total_cost_usd` goes on counting over a resumed session; what was added since is this run's."""
    since = {"claude-x": {"costUSD": 0.25}, "small": {"costUSD": 0.05}}
    models = {"small": {"contextWindow": 100}, "claude-x": {"contextWindow": 200_000, "inputTokens": 9}}
    told = result(total_cost_usd=9.0, modelUsage=models, model_usage_since_last_result=since)
    run = only(decode(snapshot(text("x")), told), CliUsage)[-1]
    assert (run.cost_usd, run.context_window) == (pytest.approx(0.3), 200_000)
    old = only(decode(result(total_cost_usd=0.5)), CliUsage)[-1]
    assert old.cost_usd == 0.5


# ------------------------------------------------------------------ compaction


def test_a_compaction_begins_and_ends_with_its_sizes() -> None:
    events = decode(
        {"type": "system", "subtype": "status", "status": "compacting"},
        {"type": "system", "subtype": "status", "status": None, "compact_result": "success"},
        {
            "type": "system",
            "subtype": "compact_boundary",
            "compact_metadata": {"trigger": "auto", "pre_tokens": 172_423, "post_tokens": 2645},
        },
        snapshot(text("OK")),
        result(),
    )
    begun, ended = only(events, CliCompaction)
    assert begun.phase == "start"
    assert (ended.phase, ended.trigger, ended.pre_tokens, ended.post_tokens, ended.ok) == (
        "end",
        "auto",
        172_423,
        2645,
        True,
    )


def test_a_boundary_without_a_beginning_still_makes_a_pair() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {"trigger": "manual", "pre_tokens": 9},
    }
    assert [c.phase for c in only(decode(boundary, result("")), CliCompaction)] == ["start", "end"]


@pytest.mark.parametrize(
    "after", [[{"type": "system", "subtype": "status", "status": None, "compact_result": "failed"}], []]
)
def test_a_compaction_that_failed_or_was_cut_short_says_so(after: list[dict[str, Any]]) -> None:
    events = decode({"type": "system", "subtype": "status", "status": "compacting"}, *after, code=1)
    assert [(c.phase, c.ok) for c in only(events, CliCompaction)] == [("start", True), ("end", False)]


def test_a_compaction_asked_for_may_answer_with_nothing() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "compact_metadata": {}}
    assert reply(decode(boundary, result(""))).failure is None


# ------------------------------------------------------------------ sessions


def test_the_session_that_the_cli_names_is_told_and_every_change_of_it() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "S1"}
    events = decode(init, snapshot(text("x")), result(session_id="S2"))
    assert only(events, CliSession) == [CliSession("S1"), CliSession("S2")]


@pytest.mark.parametrize("stream_json", [True, False])
def test_a_lost_session_is_expired_and_its_made_up_id_is_ignored(stream_json: bool) -> None:
    """Release 2.1.19 answers with a new random id; in `json` mode there is nothing but stderr."""
    lost = "No conversation found with session ID: S1"
    told = result("", subtype="error_during_execution", is_error=True, errors=[lost], num_turns=0, session_id="random")
    events = decode(told, code=1) if stream_json else decode(code=1, stderr=lost.encode())
    failure = reply(events).failure
    assert failure is not None and (failure.kind, failure.replay_safe) == ("session_expired", True)
    assert only(events, CliSession) == []


# ------------------------------------------------------------------ failures


def test_an_error_result_is_a_failure_whatever_subtype_and_exit_code_say() -> None:
    events = decode(result("API Error: 529 Overloaded", is_error=True, api_error_status=529), code=0)
    failure = reply(events).failure
    assert failure is not None and failure.kind == "overloaded"


def test_the_clis_own_error_text_is_no_answer_of_the_model() -> None:
    said = "API Error: 500 Internal server error"
    spoken = snapshot(text(said), model="<synthetic>")
    assert reply(decode(spoken, result(said))).failure is not None
    assert only(decode(spoken, result(said)), PartDelta) == []
    assert reply(decode(snapshot(text(said)), result(said))).failure is None  # a model may well quote one


def test_success_with_nothing_in_it_is_an_empty_response() -> None:
    failure = reply(decode(result(""))).failure
    assert failure is not None and (failure.kind, failure.replay_safe) == ("empty_response", True)


def test_silence_and_code_0_is_an_empty_response_too() -> None:
    failure = reply(decode()).failure
    assert failure is not None and failure.kind == "empty_response"


def test_a_stream_that_the_cli_took_for_whole_is_truncated() -> None:
    """Release 2.1.19 reports success when the stream ends without its terminator."""
    said = reply(decode(start(), *text_block("par"), result("par", stop_reason=None)))
    assert said.failure is not None
    assert (said.failure.kind, said.failure.replay_safe, said.text) == ("truncated", False, "par")


def test_a_fallback_call_makes_a_broken_stream_whole() -> None:
    events = decode(start("m1"), *text_block("par"), snapshot(text("whole"), id="m2"), result("whole"))
    assert reply(events).failure is None


def test_an_answer_whose_result_is_missing_counts_if_it_was_finished_and_the_cli_ended_well() -> None:
    whole = [start(), *text_block("OK"), *end()]
    assert reply(decode(*whole)) == CliReply(text="OK", stop="end_turn")
    for records, code in ((whole, 1), (whole[:-1], 0), ([start(), *text_block("x"), *end("tool_use")], 0)):
        failure = reply(decode(*records, code=code)).failure
        assert failure is not None and failure.kind == "truncated"


def test_a_process_that_dies_before_a_word_can_be_started_again_and_after_one_cannot() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "S1"}
    early, late = (reply(decode(init, *more, code=-9)).failure for more in ([], [start(), *text_block("x")]))
    assert early is not None and (early.kind, early.replay_safe) == ("transport", True)
    assert late is not None and (late.kind, late.replay_safe) == ("truncated", False)


def test_a_cli_ended_while_it_waits_to_ask_again_failed_for_that_reason() -> None:
    retry = {
        "type": "system",
        "subtype": "api_retry",
        "attempt": 1,
        "retry_delay_ms": 5960,
        "error_status": 429,
        "error": "rate_limit",
    }
    failure = reply(decode(retry, code=143)).failure
    assert failure is not None and (failure.kind, failure.status) == ("rate_limited", 429)


def test_a_result_wrapped_in_the_text_of_a_result_is_unwrapped() -> None:
    inner = json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "OK"})
    assert reply(decode(result(inner))).text == "OK"


@pytest.mark.parametrize("record", [
    {"type": "assistant"}, {"type": "assistant", "message": "text"}, {"type": "user", "message": None},
    {"type": "stream_event", "event": None}, {"type": "stream_event", "event": {"type": "content_block_delta"}},
    {"type": "system", "subtype": "compact_boundary"}, {"type": "system", "subtype": "api_retry"}, {"type": None}, {},
])  # fmt: skip
def test_records_with_parts_missing_never_raise(record: dict[str, Any]) -> None:
    reply(decode(record, start(), record, result(usage=None, modelUsage=None), record))
