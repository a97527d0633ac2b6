"""The Anthropic adapter, judged by the official SDK over the simulator, and by streams written out by hand."""

import asyncio
import json

import httpx2
import msgspec
import pytest

from claw import host
from claw.core.calls import ModelRequest, SystemBlock, ToolSpec
from claw.core.errors import ClawError, ProviderError
from claw.core.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from claw.core.stream import Fold
from claw.core.usage import Usage
from simulators import Simulator
from simulators.shells import virtual_time

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
REQUEST = ModelRequest(
    model="claude-haiku-4-5",
    system=(SystemBlock("Be brief."),),
    messages=(user("go"),),
    tools=(READ,),
    max_tokens=3000,
)


class Outcome(msgspec.Struct):
    turn: object = None
    failure: object = None
    delivered: bool = False


async def call(transport, request=REQUEST, key="sk-test", base_url="http://provider"):
    """One call, folded; a failure is an outcome too."""
    providers = host.SdkProviders(transport)
    fold = Fold()
    try:
        async for event in providers.open("anthropic", base_url=base_url, key=key).call(request):
            fold.feed(event)
    except ProviderError as error:
        return Outcome(failure=error.failure, delivered=fold.delivered)
    finally:
        await providers.close()
    assert fold.done
    return Outcome(turn=fold.turn(), delivered=fold.delivered)


def simulated(*turns, stream=True, **document):
    """The outcome of the first of the scripted turns."""

    async def story():
        simulator = Simulator()
        simulator.account("sk-test").load({"turns": list(turns), "unused": "allow", **document})
        return await call(simulator.transport(), msgspec.structs.replace(REQUEST, stream=stream))

    return virtual_time.run(story())


def sse(*events):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def served(body, status=200, content_type="text/event-stream", **headers):
    """The outcome of a call that gets these bytes."""

    def handler(request):
        return httpx2.Response(status, headers={"content-type": content_type, **headers}, content=body)

    return asyncio.run(call(httpx2.MockTransport(handler)))


def start(**usage):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    return {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}


def text_block(text, index=0):
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": index},
    ]


def end(stop="end_turn", **usage):
    return [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}, {"type": "message_stop"}]


# -- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
def test_thinking_text_and_tool_calls_come_whole(stream):
    turn = {
        "thinking": "Which file?",
        "text": "I'll read it.",
        "tool_calls": [{"name": "read", "input": {"path": "notes.md", "lines": [1, 2]}}],
    }
    found = simulated(turn, stream=stream).turn
    thinking, text, tool = found.message.parts
    assert (thinking.text, text.text) == ("Which file?", "I'll read it.")
    assert thinking.signature
    assert (tool.name, tool.input, tool.broken) == ("read", {"path": "notes.md", "lines": [1, 2]}, None)
    assert found.stop == "tool_use"
    assert found.usage.input > 0
    assert found.usage.output > 0


def test_streaming_and_not_give_the_same_turn():
    turn = {"thinking": "Hm.", "text": "Done — all of it. 完", "tool_calls": [{"name": "read", "input": {"path": "a"}}]}
    streamed, whole = simulated(turn, stream=True).turn, simulated(turn, stream=False).turn
    assert streamed == whole


@pytest.mark.parametrize(
    ("vendor", "neutral"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("pause_turn", "pause_turn"),
        ("model_context_window_exceeded", "context_window_exceeded"),
        ("a_reason_of_next_year", "end_turn"),
    ],
)
def test_stop_reasons(vendor, neutral):
    assert served(sse(start(), *text_block("x"), *end(vendor))).turn.stop == neutral


def test_redacted_thinking_comes_back_as_it_came():
    block = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
    ]
    assert served(sse(start(), *events, *end())).turn.message.parts == (ThinkingPart("c2VjcmV0", None, True),)


def test_blocks_and_events_that_claw_does_not_know_are_passed_over():
    foreign = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "web_search_tool_result", "content": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta", "x": 1}},
        {"type": "content_block_stop", "index": 0},
        {"type": "brand_new_event"},
    ]
    assert served(sse(start(), *foreign, *text_block("x", 1), *end())).turn.message.text == "x"


# -- usage -----------------------------------------------------------------------------------


def test_cumulative_figures_replace_and_are_not_added():
    events = (start(input_tokens=3, cache_read_input_tokens=1000, cache_creation_input_tokens=200, output_tokens=1),)
    events += (*text_block("x"), *end(input_tokens=3, cache_read_input_tokens=1000, output_tokens=40))
    usage = served(sse(*events)).turn.usage
    assert usage == Usage(input=3, cache_read=1000, cache_write_5m=200, output=40)
    assert usage.context_tokens == 1203


def test_figures_that_a_proxy_tells_only_at_the_end():
    events = (start(input_tokens=0, cache_read_input_tokens=0, output_tokens=0), *text_block("x"))
    usage = served(sse(*events, *end(input_tokens=7, cache_read_input_tokens=900, output_tokens=5))).turn.usage
    assert (usage.input, usage.cache_read, usage.output) == (7, 900, 5)


def test_writes_by_lifetime_and_reasoning_as_a_part_of_output():
    split = {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100}
    began = start(input_tokens=8, cache_creation_input_tokens=248, cache_creation=split)
    usage = served(sse(began, *end(output_tokens=90, output_tokens_details={"thinking_tokens": 60}))).turn.usage
    assert usage == Usage(input=8, cache_write_5m=148, cache_write_1h=100, output=90, reasoning=60)


def test_no_figures_at_all_are_zeros():
    began = start()
    del began["message"]["usage"]
    assert served(sse(began, *text_block("x"), *end())).turn.usage == Usage()


# -- failures --------------------------------------------------------------------------------

FAULTS = {  # fault → (kind streaming, kind not streaming); None: the answer is whole in spite of it
    "overloaded": ("overloaded", "overloaded"),
    "rate_limited": ("rate_limited", "rate_limited"),
    "server_error": ("server_error", "server_error"),
    "reset": ("transport", "transport"),
    "hang": ("timeout", "timeout"),
    "redirect": ("transport", "transport"),
    "html": ("server_error", "server_error"),
    "empty": ("truncated", "empty_response"),
    "informational": (None, None),
    "header_flood": (None, None),
    "truncate": ("truncated", "truncated"),
    "missing_end": ("truncated", None),
    "cut": ("transport", "transport"),
    "stall": ("timeout", "timeout"),
    "error_event": ("overloaded", None),
    "malformed_json": ("truncated", "truncated"),
    "reordered_deltas": ("transport", None),
    "split_utf8": (None, None),
    "crlf": (None, None),
    "comments": (None, None),
    "unknown_event": (None, None),
    "large_event": (None, None),
    "wrong_content_type": (None, None),
    "drip": (None, None),
    "slow_first_byte": (None, None),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_a_failure_of_its_kind_or_no_harm(fault, stream):
    turn = {"text": "Hello big world", "tool_calls": [{"name": "read", "input": {"path": "notes.md"}}]}
    found = simulated({**turn, "fault": {"kind": fault}}, stream=stream)
    expected = FAULTS[fault][0 if stream else 1]
    assert (found.failure and found.failure.kind.value) == expected
    if expected is None:
        assert found.turn.message.text == "Hello big world"
        assert found.turn.message.tool_calls[0].input == {"path": "notes.md"}
    else:
        assert found.failure.replay_safe is not found.delivered


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", ["invalid_tool_json", "partial_tool_json"])
def test_arguments_that_are_no_json_are_kept_as_they_came(fault, stream):
    turn = {"tool_calls": [{"name": "read", "input": {"path": "notes.md and more"}}], "fault": {"kind": fault}}
    (tool,) = simulated(turn, stream=stream).turn.message.tool_calls
    assert tool.input == {}
    assert tool.broken.startswith('{"path":"notes')


def test_a_wait_that_was_asked_for_is_told():
    failure = simulated({"error": {"kind": "rate_limited", "retry_after": 7}}).failure
    assert (failure.kind.value, failure.status, failure.retry_after) == ("rate_limited", 429, 7)


def test_an_overflow_tells_its_numbers():
    document = {"models": {"claude-haiku-4-5": {"context_window": 2}}, "tokenizer": "words"}
    failure = simulated({"text": "x"}, **document).failure
    assert failure.kind.value == "context_overflow"
    assert failure.limit == 2
    assert failure.tokens > 2


class Broken(httpx2.AsyncByteStream):
    def __init__(self, data, error):
        self.data, self.error = data, error

    async def __aiter__(self):
        yield self.data
        raise self.error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.RemoteProtocolError("peer closed connection without sending complete message body"), "truncated"),
        (httpx2.RemoteProtocolError("Server disconnected without sending a response."), "transport"),
        (httpx2.ReadError("reset"), "transport"),
        (httpx2.ReadTimeout("timed out"), "timeout"),
    ],
)
def test_the_http_librarys_own_errors_in_the_middle_of_a_stream(error, kind):
    def handler(request):
        stream = Broken(sse(start(), *text_block("Hel")), error)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)

    found = asyncio.run(call(httpx2.MockTransport(handler)))
    assert (found.failure.kind.value, found.failure.replay_safe) == (kind, False)


def test_an_error_after_the_end_of_an_answer_does_not_matter():
    def handler(request):
        stream = Broken(sse(start(), *text_block("whole"), *end()), httpx2.ReadError("late"))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)

    assert asyncio.run(call(httpx2.MockTransport(handler))).turn.message.text == "whole"


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<html>Sign in</html>", "text/html", "server_error"),
        (b'{"error":{"type":"overloaded_error","message":"Overloaded"}}', "application/json", "overloaded"),
        (b'{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}', "application/json", "billing"),
    ],
)
def test_a_200_that_is_no_answer(body, content_type, kind):
    assert served(body, content_type=content_type).failure.kind.value == kind


def test_an_event_without_its_fields_is_unreadable_and_no_crash():
    assert served(sse({"type": "message_start"}, *end())).failure.kind.value == "transport"


@pytest.mark.parametrize("base_url", ["ftp://x", "no-scheme"])
def test_an_address_that_cannot_work_is_not_tried_again(base_url):
    assert asyncio.run(call(None, base_url=base_url)).failure.kind.value == "bad_request"


def test_no_key_is_told_before_anything_is_sent():
    with pytest.raises(ClawError, match="ANTHROPIC_API_KEY"):
        asyncio.run(call(None, key=""))


# -- the prompt cache ------------------------------------------------------------------------


def test_every_call_of_a_session_reads_what_the_one_before_wrote():
    """Thirty tool calls in one turn are more than the twenty positions that the cache looks back."""
    many = [{"name": "read", "input": {"path": f"{n}.md"}} for n in range(30)]
    long_system = (SystemBlock("rule " * 6000), SystemBlock("Today is Thursday.", stable=False))

    async def story():
        simulator = Simulator()
        account = simulator.account("sk-test").load(
            {
                "turns": [{"tool_calls": many}, {"text": "one"}, {"text": "two"}],
                "cache": {"runs_count_as_one": False},
            }
        )
        messages = [user("go")]
        for prompt in (None, "and now?", None):
            request = msgspec.structs.replace(REQUEST, system=long_system, messages=tuple(messages))
            found = await call(simulator.transport(), request)
            messages.append(found.turn.message)
            calls = found.turn.message.tool_calls
            if calls:
                results = (ToolResultPart(c.id, c.name, (TextPart("line " * 50),)) for c in calls)
                messages.append(Message("tool", tuple(results)))
            else:
                messages.append(user(prompt or "more"))
        return account.journal.exchanges

    first, *later = virtual_time.run(story())
    assert first.tokens.cache_read == 0
    for exchange in later:
        assert exchange.tokens.cache_read >= 0.95 * exchange.cache["ideal_read"] > 4096
        assert len(exchange.cache["breakpoints"]) <= 4


def test_long_retention_pays_for_an_hour_and_none_for_nothing():
    async def story():
        simulator = Simulator()
        account = simulator.account("sk-test").load({"turns": [{"text": "x"}, {"text": "x"}]})
        request = msgspec.structs.replace(REQUEST, system=(SystemBlock("rule " * 6000),))
        await call(simulator.transport(), msgspec.structs.replace(request, cache="long"))
        await call(simulator.transport(), msgspec.structs.replace(request, cache="none"))
        return [exchange.tokens for exchange in account.journal.exchanges]

    long, none = virtual_time.run(story())
    assert long.cache_write_1h > 2000
    assert (none.cache_read, none.cache_write_1h, none.cache_write_5m) == (0, 0, 0)


def test_a_conversation_of_every_kind_of_part_is_one_the_vendor_takes():
    history = (
        user("first"),
        Message(
            "assistant", (ThinkingPart("foreign, unsigned"), TextPart("A"), ToolCallPart("call_x|fc_y", "read", {}))
        ),
        Message("tool", (ToolResultPart("call_x|fc_y", "read", (), is_error=True),)),
        Message("assistant", (TextPart("  "),)),
        user("second"),
        user("third"),
    )

    async def story():
        simulator = Simulator()
        simulator.account("sk-test").load({"turns": [{"text": "fine"}]})
        return await call(simulator.transport(), msgspec.structs.replace(REQUEST, messages=history))

    assert virtual_time.run(story()).turn.message.text == "fine"
