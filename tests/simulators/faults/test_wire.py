"""Faults on the way out."""

import json
import zlib

import pytest

from simulators.core.turn import ModelTurn
from simulators.core.wire import Abort, Chunk, Head, Wait
from tests.simulators.faults.trouble import answer, body, names, struck

WHOLE = [
    "head", "message_start", "content_block_start", "ping", *["content_block_delta"] * 6, "content_block_stop",
    "message_delta", "message_stop",
]  # fmt: skip


def test_the_answer_of_these_tests() -> None:
    assert names(answer()) == WHOLE


def test_a_truncated_answer_ends_cleanly_after_so_many_events() -> None:
    assert names(struck("truncate", after_events=4)) == WHOLE[:6]
    assert names(struck("truncate", after_events=1)) == WHOLE[:2]


def test_a_truncated_answer_never_has_its_terminator() -> None:
    assert names(struck("truncate", after_events=1000)) == WHOLE[:-1]


@pytest.mark.parametrize("how", ["reset", "fin"])
def test_a_cut_answer_breaks(how: str) -> None:
    events = struck("cut", after_events=2, how=how)
    assert names(events) == [*WHOLE[:4], "abort"]
    assert events[-1] == Abort(how)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["truncate", "cut"])
def test_of_a_body_in_one_piece_half_comes(kind: str) -> None:
    whole, half = body(answer(stream=False)), body(struck(kind, stream=False))
    assert half == whole[: len(whole) // 2]


def test_a_stalled_stream_goes_on_where_it_stood() -> None:
    events = struck("stall", after_events=3, seconds=40)
    assert names(events) == [*WHOLE[:5], "wait", *WHOLE[5:]]
    assert Wait(40.0) in events
    assert Wait(float("inf")) in struck("stall")


def test_a_slow_first_byte_comes_before_the_head() -> None:
    assert struck("slow_first_byte", seconds=5) == [Wait(5.0), *answer()]


def test_dripping_takes_its_time_and_loses_nothing() -> None:
    events = struck("drip", bytes_per_s=100)
    waited = sum(event.seconds for event in events if isinstance(event, Wait))
    assert body(events) == body(answer())
    assert waited == pytest.approx(len(body(answer())) / 100)
    assert max(len(event.data) for event in events if isinstance(event, Chunk)) == 10


def test_an_error_in_the_stream_is_the_last_that_comes() -> None:
    events = struck("error_event", after_events=3, error="overloaded")
    assert names(events) == [*WHOLE[:5], "error"]
    assert b'"overloaded_error"' in events[-1].data  # type: ignore[union-attr]


def test_json_that_breaks_off() -> None:
    events = struck("malformed_json", after_events=3)
    assert names(events) == WHOLE
    line = events[5].data.decode().split("data: ")[1]  # type: ignore[union-attr]
    with pytest.raises(json.JSONDecodeError):
        json.loads(line)
    with pytest.raises(json.JSONDecodeError):
        json.loads(body(struck("malformed_json", stream=False)))


def test_framing_that_is_lost() -> None:
    events = struck("malformed_sse", after_events=3)
    assert b"data:" not in events[5].data  # type: ignore[union-attr]
    assert body(events).count(b"data:") == body(answer()).count(b"data:") - 1


def test_characters_split_between_reads() -> None:
    events = struck("split_utf8", turn=ModelTurn(text="déjà vu", stop="end_turn"))
    assert body(events) == body(answer(ModelTurn(text="déjà vu", stop="end_turn")))
    with pytest.raises(UnicodeDecodeError):
        for event in events:
            if isinstance(event, Chunk):
                event.data.decode()


def test_a_line_separator_inside_of_text() -> None:
    told = body(struck("u2028")).decode()
    assert '"text":"\u2028one "' in told
    assert '"text":""' in told  # the start of a block stays as it is


def test_other_line_ends_and_comments_change_no_event() -> None:
    assert body(struck("crlf")).replace(b"\r\n", b"\n") == body(answer())
    commented = body(struck("comments", text="hold on"))
    assert commented.count(b": hold on\n\n") == len(WHOLE) - 1
    assert commented.replace(b": hold on\n\n", b"") == body(answer())


def test_events_too_many_too_few_and_out_of_order() -> None:
    words = ["one ", "two ", "three ", "four ", "five ", "six"]

    def said(kind: str, **given: object) -> list[str]:
        told = [event.data.decode() for event in struck(kind, **given) if isinstance(event, Chunk)]
        return [json.loads(line.split("data: ")[1])["delta"]["text"] for line in told if "text_delta" in line]

    assert said("duplicate_event", after_events=3) == ["one ", "two ", "two ", *words[2:]]
    assert said("reordered_deltas", after_events=3) == ["one ", "three ", "two ", *words[3:]]
    assert names(struck("missing_start")) == ["head", *WHOLE[2:]]
    assert names(struck("missing_end")) == WHOLE[:-1]


def test_an_event_that_nobody_knows() -> None:
    told = body(struck("unknown_event", name="thought_bubble")).decode()
    assert told.count("event: thought_bubble\n") == 1
    assert told.index("message_start") < told.index("thought_bubble") < told.index("content_block_start")


def test_heads_that_mislead() -> None:
    head = struck("wrong_content_type", content_type="text/html")[0]
    assert isinstance(head, Head)
    assert dict(head.headers)["content-type"] == "text/html"
    assert [event.status for event in struck("informational", times=2) if isinstance(event, Head)] == [103, 103, 200]
    flood = struck("header_flood", count=300, bytes=50)[0]
    assert isinstance(flood, Head)
    assert len(flood.headers) == 301


def test_gzip_without_its_end() -> None:
    events = struck("truncated_gzip")
    head = events[0]
    assert isinstance(head, Head)
    assert dict(head.headers)["content-encoding"] == "gzip"
    unpacker = zlib.decompressobj(wbits=31)
    assert unpacker.decompress(body(events)) == body(answer())
    assert not unpacker.eof


def test_one_event_is_very_large_and_still_json() -> None:
    events = struck("large_event", after_events=1, bytes=100_000)
    large = events[2]
    assert isinstance(large, Chunk)
    assert len(large.data) == 100_000
    assert json.loads(large.data.decode().split("data: ")[1])["type"] == "content_block_start"
    assert len(body(struck("large_event", stream=False, bytes=100_000))) == 100_000
