"""Faults that users of agent runtimes have reported, one story each: overflow (area 1), limits (2) and streams (6).

`WHERE` says for every report where it is told; the inputs are written afresh.
"""

import json
from pathlib import Path

import pytest

from claw.cli_backends.claude import BACKEND
from claw.core.calls import CliReply, CliRun
from claw.core.classify import classify
from claw.core.messages import Message, TextPart, ToolCallPart
from claw.core.transcript import sound_calls
from claw.ports import ModelFacts
from claw.runtime.config import ProviderOptions
from claw.testing.fakes import MemoryFiles
from tests.conformance.reported import (
    FILE,
    Provider,
    Story,
    answer,
    anthropic,
    api_error,
    calls,
    chunked,
    data,
    end,
    overflow,
    refused,
    says,
    start,
    stream,
)  # fmt: skip

REPORTS = Path(__file__).parents[3] / "shared" / "bugs" / "bugs.jsonl"
AREAS = (1, 2, 6)
LONG = "a long story " * 4_000  # some 13,000 tokens
RECOVERY = "tests/claw/core/test_recovery.py::"
WHERE = {
    **dict.fromkeys(("B01", "B04", "B07", "B09", "B15"), "test_an_overflow_in_any_words_is_condensed_once"),
    "B02": "test_room_for_the_answer_is_lowered", "B10": "test_room_for_the_answer_is_lowered",
    "B13": "test_a_daily_limit_condenses_nothing", "B14": "test_a_request_larger_than_the_limit_goes_to_the_next_model",
    "B16": "test_what_an_answer_says_is_never_an_error", "B80": "test_what_an_answer_says_is_never_an_error",
    "B17": "test_an_overflow_for_ever_is_bounded_and_leaves_the_history_alone",
    "B24": "test_an_overflow_for_ever_is_bounded_and_leaves_the_history_alone",
    "B28": "test_an_overflow_for_ever_is_bounded_and_leaves_the_history_alone",
    "B19": "test_a_summary_that_does_not_fit_is_asked_in_smaller_pieces",
    "B22": "test_one_huge_tool_result_is_cut_when_it_comes_in",
    "B26": RECOVERY + "test_an_answer_gives_a_later_overflow_a_fresh_budget",
    "B30": RECOVERY + "test_a_failed_compaction_leaves_history_and_usage_as_they_were",
    "B33": "test_a_larger_window_is_asked_once_where_one_is_configured",
    "B35": RECOVERY + "test_what_is_summarised_and_what_is_kept_is_everything",
    "B36": "test_a_summary_that_is_larger_is_not_kept", "B41": RECOVERY + "test_three_useless_compactions_end_the_run",
    "B37": "test_a_thrashing_cli_is_an_overflow", "B38": "tests/claw/core/test_mending.py::"
    "test_a_cli_whose_session_overflows_begins_a_new_one",
    "B43": "test_the_window_that_the_user_declares_holds", "B45": "test_an_image_that_is_refused_is_left_out_for_good",
    "B46": "test_an_error_among_the_events_counts_though_the_status_is_200",
    "B47": "test_an_error_among_the_events_counts_though_the_status_is_200",
    "B48": "test_text_is_delivered_once", "B50": "test_a_limit_that_is_an_overload_rests_shortly",
    "B53": "test_a_stream_that_only_ends_is_tried_again", "B55": "test_money_is_asked_for_once",
    "B56": "test_money_is_asked_for_once", "B59": "test_a_wrong_request_and_missing_credits",
    "B61": "test_a_wait_of_hours_is_told", "B71": "test_a_wait_of_hours_is_told",
    "B62": "test_status_and_wait_survive_an_empty_body", "B65": "test_googles_delay_is_kept_and_a_day_is_not_waited",
    "B67": "test_no_pause_grows_beyond_its_cap", "B70": "test_a_fallback_stays_the_one_that_answers",
    "B73": "test_one_models_limit_leaves_the_others_free",
    "B76": "tests/claw/auth/test_book.py::test_success_forgets_earlier_failures_and_not_later_ones",
    "B77": "test_a_refused_history_is_no_fault_of_the_profile",
    "B79": "tests/claw/runtime/test_tokens.py::test_two_processes_renew_a_token_once_and_both_use_the_new_one",
    "B83": "test_an_overloaded_server_in_openais_words",
    "B169": "test_a_character_in_two_chunks_is_one", "B170": "test_a_stream_is_utf_8_and_only_line_ends_end_lines",
    "B172": "test_line_ends_of_either_kind", "B175": "test_comments_and_pings_are_no_end", "B192":
    "test_comments_and_pings_are_no_end", "B177": "test_a_stream_without_its_end_is_no_answer",
    "B178": "test_a_stream_without_its_end_is_no_answer", "B181": "test_a_response_that_is_not_completed",
    "B182": "test_cut_arguments_are_never_run", "B184": "test_arguments_that_are_no_json_are_never_run",
    "B187": "test_ids_that_are_sent_back_are_unique", "B189": "test_figures_in_a_chunk_without_choices",
}  # fmt: skip


def test_every_report_is_told_somewhere():
    for place in WHERE.values():
        path, _, name = place.rpartition("::")
        source = (Path(__file__).parents[2] / path).read_text() if path else Path(__file__).read_text()
        assert f"def {name}(" in source, place
    if not REPORTS.exists():
        pytest.skip(f"{REPORTS} is not there: whether a report was forgotten was not judged")
    reported = {r["id"] for r in map(json.loads, REPORTS.read_text().splitlines()) if r["area"] in AREAS}
    assert sorted(reported - WHERE.keys()) == []


# -- overflow ---------------------------------------------------------------------------------

OPENROUTER = (
    "This endpoint's maximum context length is {} tokens. However, you requested about {} tokens ({} of text input, {} "
    "in the output). Please reduce the length of either one."
)


@pytest.mark.parametrize(
    "reply",
    [
        overflow("Request size exceeds model context window"),
        refused(400, {"__type": "ValidationException", "message": "Input is too long for requested model."}),
        refused(400, {"error": "ollama: context length exceeded for llama3"}),
        refused(400, {"message": "too many tokens: total tokens exceeds the model's max of 4096"}),
        stream({"type": "error", "name": "ModelStreamErrorException", "error": {"message": "Input is too long"}}),
        refused(400, {"error": {"code": "1210", "message": "tokens in request more than max tokens allowed"}}),
        refused(400, {"error": {"message": OPENROUTER.format(40960, 42988, 38892, 4096), "code": 400}}),
        api_error(429, "rate_limit_error", "Extra usage is required for long context requests."),
    ],
)
def test_an_overflow_in_any_words_is_condensed_once(reply):
    """One compaction, one more request, smaller than the first; no pause, and the profile does not rest."""
    story = Story(Provider(*[answer()] * 3, reply, answer("done"))).run(LONG, LONG, LONG, "go on")
    assert story.kinds == ["context_overflow"]
    assert (story.result.compactions, story.result.reply) == (1, "done")
    sizes = [len(json.dumps(body)) for body in story.provider.main[3:]]
    assert len(sizes) == 2 and sizes[1] < sizes[0]
    assert (story.slept, story.rests) == ([], [])


@pytest.mark.parametrize(
    ("reply", "most"),
    [
        (overflow("input length and `max_tokens` exceed context limit: 186321 + 32000 > 200000"), 13_679),
        (refused(400, {"error": {"message": OPENROUTER.format(131072, 149884, 117884, 32000), "code": 400}}), 13_188),
    ],
)
def test_room_for_the_answer_is_lowered(reply, most):
    story = Story(Provider(reply, answer())).run("go")
    first, second = story.provider.main
    assert (first["max_tokens"], second["max_tokens"]) == (32_000, most)
    assert second["messages"] == first["messages"]
    assert story.result.compactions == 0


def test_a_daily_limit_condenses_nothing():
    body = {"error": {"message": "request reached organization TPD rate limit, current: 1506556, limit: 1500000",
                      "type": "rate_limit_reached_error", "code": "rate_limit_reached"}}  # fmt: skip
    story = Story(Provider(refused(429, body))).run("go")
    assert story.kinds[0] == "rate_limited"
    assert (story.result.compactions, len(story.provider.main), story.provider.summaries) == (0, 1, [])
    assert len(story.entries("message")) == 1


def test_a_request_larger_than_the_limit_goes_to_the_next_model():
    text = "Request too large for model `x` on tokens per minute (TPM): Limit 8000, Requested 51234, reduce your size"
    body = {"error": {"message": text, "type": "tokens", "code": "rate_limit_exceeded"}}
    by_model = {"x": refused(413, body), "next": answer()}
    story = Story(Provider(answer(), by_model=by_model), model="groq/x", fallbacks=["anthropic/next"]).run("go")
    assert [a.model for a in story.result.attempts] == ["x", "next"]
    assert (story.result.reply, story.result.compactions) == ("ok", 0)


@pytest.mark.parametrize(
    "text",
    [
        "The log line was: Context overflow: prompt too large for the model.",
        "Your invoice is $402.55; billing credits cover 20.",
    ],
)
def test_what_an_answer_says_is_never_an_error(text):
    story = Story(Provider(answer(text))).run(f"what of `{text}`?")
    assert (story.result.reply, story.result.compactions, story.rests) == (text, 0, [])


def test_an_overflow_for_ever_is_bounded_and_leaves_the_history_alone():
    """Each prompt costs a bounded number of calls, ends as an error with words, and adds a bounded number of bytes."""
    provider = Provider(overflow())
    story = Story(provider).run("first")
    sizes, counts = [], []
    for number in range(20):
        before = len(provider.main) + len(provider.summaries)
        story.run(f"prompt {number}")
        counts.append(len(provider.main) + len(provider.summaries) - before)
        sizes.append(len(story.files.read(FILE)))
        assert (story.result.stop, story.result.failure.kind) == ("error", "context_overflow")
        assert story.result.failure.message
    assert max(counts) <= 8
    assert sizes[-1] - sizes[-2] < 4_000
    assert not any("too long" in json.dumps(e) for e in story.entries("message"))


def test_a_summary_that_does_not_fit_is_asked_in_smaller_pieces():
    provider = Provider(*[answer()] * 4, overflow(), answer("done"), summary=[overflow(), answer("S")])
    story = Story(provider).run(LONG, LONG, LONG, LONG, "go")
    assert story.result.reply == "done"
    asked = [len(json.dumps(body)) for body in provider.summaries]
    assert all(later < asked[0] for later in asked[1:])
    assert story.result.usage is not None and story.result.usage.context_tokens > 0


def test_one_huge_tool_result_is_cut_when_it_comes_in():
    files = MemoryFiles({"/w/a": "A" * 736_000})
    read = stream(start(136_000), *calls('{"path": "a"}'), *end("tool_use"))
    story = Story(Provider(read, answer()), files=files).run("read it")
    assert len(json.dumps(story.provider.main[1])) < 100_000
    assert story.result.reply == "ok"


def test_a_larger_window_is_asked_once_where_one_is_configured():
    by_model = {"m": overflow(), "big": answer("done")}
    no_summary = api_error(400, "invalid_request_error", "no")
    alone = Story(Provider(answer(), by_model=by_model, summary=no_summary)).run("go")
    assert "does not fit" in alone.result.failure.message
    provider = Provider(answer(), by_model=by_model, summary=no_summary)
    options = {"providers": {"anthropic": ProviderOptions(windows={"big": 1_000_000})}}
    story = Story(provider, fallbacks=["anthropic/big"], **options).run("go")
    assert [b["model"] for b in provider.main].count("big") == 1
    assert story.result.reply == "done"


def test_a_summary_that_is_larger_is_not_kept():
    story = Story(Provider(answer(), summary=answer("word " * 30_000))).run("a", "b")
    story.provider.answers = [overflow()]
    story.run("c")
    assert story.entries("compaction") == []
    assert any("no smaller" in e.get("why", "") for e in story.told if e["type"] == "compaction_end")


def test_a_thrashing_cli_is_an_overflow():
    text = (
        "Autocompact is thrashing: the context refilled to the limit within 3 turns of the previous compact, 3 times."
    )
    said = {"model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": text}]}
    lines = [
        {"type": "assistant", "session_id": "S1", "message": said},
        {"type": "result", "subtype": "success", "is_error": True, "result": text, "session_id": "S1"},
    ]
    run = CliRun(prompt="go", system="", model="m", cli_session="S1", resume=True, workspace="/w")
    decoder = BACKEND.decoder(run)
    events = [*decoder.feed("".join(json.dumps(line) + "\n" for line in lines).encode()), *decoder.finish(1, b"")]
    reply = next(e for e in events if isinstance(e, CliReply))
    assert reply.failure is not None and reply.failure.kind == "context_overflow"


def test_the_window_that_the_user_declares_holds():
    options = ProviderOptions(context_window=32_768)
    facts = ModelFacts(id="m", context_window=1_000_000)
    story = Story(Provider(answer()), facts=facts, providers={"anthropic": options}).run("go")
    assert story.result.usage.context_window == 32_768


def test_an_image_that_is_refused_is_left_out_for_good():
    text = "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size"
    text += " for many-image requests: 2000 pixels"
    image = {"type": "image", "media_type": "image/png", "data": "AA=="}
    story = Story(Provider(answer())).run("first")
    lines = story.entries()
    entry = {"type": "message", "id": "pic", "parentId": lines[-1]["id"], "message": {"role": "user", "parts": [image]}}
    story.files.append(FILE, (json.dumps(entry) + "\n").encode())

    def looks(request):
        return (overflow(text) if b'"image"' in request.content else answer("fine"))(request)

    story.provider.answers = [looks]
    story.run("second")
    assert (story.result.reply, story.kinds) == ("fine", ["poisoned_history"])
    assert "over 2000 pixels" in str(story.entries("decisions"))
    story.run("third")
    assert (story.result.reply, story.kinds) == ("fine", [])


# -- limits -----------------------------------------------------------------------------------

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
HELLO = [start(), *says("Hello")[:2]]


def test_an_error_among_the_events_counts_though_the_status_is_200():
    story = Story(Provider(stream(OVERLOADED), answer())).run("go")
    assert (story.kinds, story.result.reply) == (["overloaded"], "ok")
    late = Story(Provider(stream(*HELLO, OVERLOADED), answer())).run("go")
    assert late.kinds == ["overloaded"]
    assert late.result.usage_total.input == 20  # what the failed call had read is counted


def test_text_is_delivered_once():
    """What a failed call had shown is taken back, so that the text that stays is there once."""
    story = Story(Provider(stream(*HELLO, OVERLOADED), answer("Hello"))).run("go")
    assert story.result.reply == "Hello"
    shown = ""
    for event in story.told:
        shown = "" if event.get("retracted") else shown + event.get("text", "")
    assert shown == "Hello"


def test_a_limit_that_is_an_overload_rests_shortly():
    body = {"error": {"code": "1305", "message": "The service may be temporarily overloaded, please try again later"}}
    story = Story(Provider(refused(429, body), answer())).run("go")
    assert story.kinds == ["overloaded"]
    assert all(r["until"] - r["since"] <= 30 for r in story.rests)


@pytest.mark.parametrize("model", ["gemini/x", "openai/x", "openai-chat/x", "anthropic/x", "groq/x"])
def test_a_stream_that_only_ends_is_tried_again(model):
    story = Story(Provider(chunked()), model=model).run("go")
    assert set(story.kinds) == {"truncated"} and len(story.kinds) > 1


@pytest.mark.parametrize("status", [400, 429])
def test_money_is_asked_for_once(status):
    error = {"message": "You exceeded your current quota, please check your plan and billing details."}
    body = {"error": {**error, "type": "insufficient_quota", "code": "insufficient_quota"}}
    story = Story(Provider(refused(status, body)), model="openai/x").run("go")
    assert (story.kinds, len(story.provider.main), story.slept) == (["billing"], 1, [])


def test_a_wrong_request_and_missing_credits():
    fields = {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}
    wrong = Story(Provider(refused(422, fields)), model="mistral/x").run("go")
    assert (wrong.kinds, wrong.rests) == (["bad_request"], [])
    credits = {"error": {"message": "This request requires more credits, or fewer max_tokens.", "code": None}}
    assert Story(Provider(refused(400, credits)), model="openrouter/x").run("go").kinds == ["billing"]


@pytest.mark.parametrize("seconds", [900, 7_198, 129_786])
def test_a_wait_of_hours_is_told(seconds):
    story = Story(Provider(api_error(429, "rate_limit_error", "rate limited", retry_after=seconds))).run("go")
    assert story.result.failure.kind == "rate_limited"
    assert str(seconds) in story.result.failure.message
    assert story.seconds < 30


def test_status_and_wait_survive_an_empty_body():
    story = Story(Provider(refused(429, "", retry_after=5), answer())).run("go")
    assert (story.kinds, story.result.attempts[0].status) == (["rate_limited"], 429)
    assert story.seconds >= 5


@pytest.mark.parametrize(("quota", "again"), [("PerMinutePerProject", True), ("PerDayPerProject", False)])
def test_googles_delay_is_kept_and_a_day_is_not_waited(quota, again):
    details = [
        {"@type": "…QuotaFailure", "violations": [{"quotaId": f"GenerateRequests{quota}PerModel-FreeTier"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22s"},
    ]
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota"}
    parts = {"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}
    provider = Provider(refused(429, {"error": {**error, "details": details}}), data({"candidates": [parts]}))
    story = Story(provider, model="gemini/x").run("go")
    assert len(story.slept) == int(again)
    assert all(pause >= 22 for pause in story.slept)


def test_no_pause_grows_beyond_its_cap():
    body = {
        "error": {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}
    }
    story = Story(Provider(refused(503, body))).run("go")
    assert len(story.slept) > 5 and max(story.slept) <= 30 * 1.5


def test_a_fallback_stays_the_one_that_answers():
    by_model = {"m1": api_error(429, "rate_limit_error", "rate limited", retry_after=900), "m2": answer()}
    story = Story(Provider(answer(), by_model=by_model), model="anthropic/m1", fallbacks=["anthropic/m2"]).run("go")
    assert [b["model"] for b in story.provider.main] == ["m1", "m2"]
    assert story.result.reply == "ok"


def test_one_models_limit_leaves_the_others_free():
    by_model = {"opus": api_error(429, "rate_limit_error", "opus limit", retry_after=900), "haiku": answer()}
    story = Story(Provider(answer(), by_model=by_model)).run("go", model="anthropic/opus")
    assert story.result.failure.kind == "rate_limited"
    story.run("go", model="anthropic/haiku")
    assert (story.result.reply, story.result.attempts[0].profile) == ("ok", "a")


def test_a_refused_history_is_no_fault_of_the_profile():
    text = "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"
    story = Story(Provider(overflow(text)), profiles=("a", "b")).run("go")
    assert {a.profile for a in story.result.attempts} == {"a"}
    assert (story.rests, len(story.provider.main)) == ([], 1)  # there is nothing to repair: it is not sent again


def test_an_overloaded_server_in_openais_words():
    error = {
        "type": "service_unavailable_error",
        "code": "server_is_overloaded",
        "message": "Our servers are overloaded.",
    }
    event = {"type": "error", "error": error, "sequence_number": 0}
    story = Story(Provider(data(event)), model="openai/x").run("go")
    assert set(story.kinds) == {"overloaded"}


# -- streams ----------------------------------------------------------------------------------


def replied(raw, model="anthropic/m", then=None):
    return Story(Provider(raw, *([then] if then else [])), model=model).run("go")


def test_a_character_in_two_chunks_is_one():
    whole = anthropic(start(), *says("北"), *end()).replace(b"\\u5317", "北".encode())
    at = whole.index("北".encode())
    for cut in range(at - 1, at + 5):
        assert replied(chunked(whole[:cut], whole[cut:])).result.reply == "北"


def chat(content, finish=None, **more):
    return {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}],
        **more,
    }


def test_a_stream_is_utf_8_and_only_line_ends_end_lines():
    body = json.dumps(chat("\u2005x\u2028\x85y"), ensure_ascii=False)
    assert replied(data(body, chat(None, "stop"), "[DONE]"), "openai-chat/m").result.reply == "\u2005x\u2028\x85y"


def test_line_ends_of_either_kind():
    whole = anthropic(start(), *says("x"), *end())
    for ends in (b"\r\n", b"\r"):
        assert replied(chunked(whole.replace(b"\n", ends))).result.reply == "x"


def test_comments_and_pings_are_no_end():
    body = "".join(f": ping\n\ndata: {json.dumps(c)}\n\n" for c in (chat("x"), chat(None, "stop")))
    assert replied(chunked(body.encode() + b"data: [DONE]\n\n"), "openai-chat/m").result.reply == "x"
    pings = b'event: ping\ndata: {"type": "ping"}\n\n' * 3
    assert replied(chunked(anthropic(start()), pings, anthropic(*says("x"), *end()))).result.reply == "x"


def test_a_stream_without_its_end_is_no_answer():
    """Also where the last frame lacks its blank line, which by the rules of event streams is no frame."""
    for raw in (stream(start(), *says("par")), chunked(anthropic(start(), *says("par"), *end())[:-1])):
        story = replied(raw, then=answer("whole"))
        assert (story.kinds, story.result.reply) == (["truncated"], "whole")


def test_a_response_that_is_not_completed():
    events = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_text.delta", "delta": "par"},
    ]
    assert set(replied(data(*events), "openai/x").kinds) == {"truncated"}


def test_cut_arguments_are_never_run():
    cut = stream(start(), *calls('{"path": "a", "lines": [1'), *end("max_tokens"))
    story = replied(cut, then=answer())
    assert [t.ok for t in story.result.tool_calls] == [False]
    assert "Not run" in json.dumps(story.provider.main[1])


def test_arguments_that_are_no_json_are_never_run():
    def piece(arguments, **more):
        call = {"index": 0, "function": {"arguments": arguments, **more.pop("function", {})}, **more}
        return {
            "id": "c",
            "model": "m",
            "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}],
        }

    first = piece("", id="c", type="function", function={"name": "read"})
    raw = data(first, piece('path": "a"}'), chat(None, "tool_calls"), "[DONE]")
    story = replied(raw, "openai-chat/m", data(chat("ok"), chat(None, "stop"), "[DONE]"))
    assert [t.ok for t in story.result.tool_calls] == [False]
    assert story.result.reply == "ok"


def test_ids_that_are_sent_back_are_unique():
    twice = Message("assistant", (ToolCallPart("c1", "f", {}), ToolCallPart("c1", "f", {"a": 1}), TextPart("x")))
    ids = [call.id for call in sound_calls(twice, ()).tool_calls]
    assert len(set(ids)) == 2


def test_figures_in_a_chunk_without_choices():
    last = {"id": "c", "model": "m", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    story = replied(data(chat("x"), chat(None, "stop"), last, "[DONE]"), "openai-chat/m")
    assert (story.result.usage.input, story.result.usage.output) == (5, 1)


def test_no_body_makes_the_judge_of_errors_fail():
    assert classify("x", 500, {}, b"\xff").kind == "server_error"
