"""A rewritten cassette: none of the old words, and everything else as it was."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from simulators.cassettes import vcr
from simulators.cassettes.format import Cassette, Exchange, Frame
from simulators.cassettes.migrate import migrated
from simulators.cassettes.rewrite import rewritten
from simulators.core.models import catalogue
from simulators.core.tokens import Counter
from simulators.core.turn import Refused
from simulators.shells.recorded_journal import journal_of, request_of
from simulators.shells.simulator import parts
from simulators.shells.vocabulary import o200k_words
from simulators.verdict import judge
from tests.simulators.cassettes._recorded import needs_recordings, recordings, some

URL = "https://api.anthropic.com/v1/messages"
TEXTS = ("text", "thinking", "content", "input", "system", "instructions", "summary", "description", "title", "query")


def conversation() -> Cassette:
    """Two requests, the second of which continues the first, with a tool call that came in pieces."""
    tool = {"name": "read_diary", "description": "Reads Grandmother's diary.",
            "input_schema": {"type": "object", "properties": {"chapter": {"type": "string"}}, "required": ["chapter"]}}  # fmt: skip  # noqa: E501
    first = {"role": "user", "content": "Dear friend, what's in Grandmother's \"secret\" diary?\nTell me: 42 pages!"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "read_diary", "input": {"chapter": "Grandmother's\nyouth"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Grandmother's youth: Überraschung in Köln."}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 99, "stream": True, "tools": [tool]}
    requests = [{**body, "messages": [first]},
                {**body, "messages": [first, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]}]  # fmt: skip  # noqa: E501
    arguments = msgspec.json.encode(call["input"]).decode()
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {**call, "input": {}}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}}
          for part in (arguments[:7], arguments[7:20], arguments[20:])),
    ]  # fmt: skip
    stream = b"".join(b"event: %b\ndata: %b\n\n" % (e["type"].encode(), msgspec.json.encode(e)) for e in events)
    headers = (("content-type", "text/event-stream"),)
    frames = (Frame(at=0.1, head=True), Frame(at=0.2, size=len(stream)))
    return Cassette(
        exchanges=[
            Exchange(
                method="POST",
                uri=URL,
                request_body=msgspec.json.encode(one),
                headers=headers,
                body=stream,
                frames=frames,
            )
            for one in requests
        ]
    )


def counts(exchange: Exchange) -> Any:
    """Tokens of every block under every tokenizer; None for what no dialect reads."""
    request = request_of(exchange)
    for dialect in parts().dialects.values():
        operation = dialect.route(request)
        if operation in ("generate", "count_tokens"):
            try:
                call = dialect.parse(request, operation, catalogue())
            except Refused as refused:
                return refused.failure.kind
            model = catalogue().get(call.model)
            kinds: Any = ("default", "chars4", "words")
            return model and [Counter(kind, parts().count_default).prompt(call.blocks, model) for kind in kinds]
    return None


def words(exchange: Exchange) -> set[str]:
    """Every word of four letters and more in the texts of a request and its answer."""
    found: set[str] = set()

    def walk(value: Any, key: str) -> None:
        if isinstance(value, str) and key in TEXTS:
            found.update(word.lower() for word in re.findall(r"[^\W\d_]{4,}", value))
        for name, one in value.items() if isinstance(value, dict) else ():
            walk(one, name)
        for one in value if isinstance(value, list) else ():
            walk(one, key)

    for body in (exchange.request_body, exchange.body if exchange.status < 400 else b""):
        try:
            walk(msgspec.json.decode(body), "")
        except msgspec.DecodeError:
            continue
    return found


def assert_alike(before: Cassette, after: Cassette) -> int:
    """All that must stay stays, all that must go is gone; how many words went."""
    left, right = journal_of(before), journal_of(after)
    for was, now in zip(before.exchanges, after.exchanges, strict=True):
        assert counts(was) == counts(now)
        assert [len(was.body), len(was.request_body)] == [len(now.body), len(now.request_body)]
        assert was.frames is None or [frame.size for frame in was.frames] == [frame.size for frame in now.frames or ()]
    for name in ("tokens", "cache", "status", "ended", "kind", "answered_by"):
        assert [row[name] for row in left] == [row[name] for row in right], name
    assert [(f.check, f.status, f.exchanges) for f in judge(left)] == [
        (f.check, f.status, f.exchanges) for f in judge(right)
    ]
    old = set[str]().union(*map(words, before.exchanges))
    assert not old & set[str]().union(*map(words, after.exchanges))
    return len(old)


def test_a_conversation_keeps_all_but_its_words() -> None:
    before = conversation()
    after = rewritten(before, o200k_words(), seed="s")
    assert assert_alike(before, after) > 8
    assert b"Grandmother" not in vcr.dump(after)
    first, second = (msgspec.json.decode(exchange.request_body) for exchange in after.exchanges)
    assert second["messages"][0] == first["messages"][0]  # the shared beginning is shared
    assert second["tools"][0]["input_schema"]["required"] == list(second["tools"][0]["input_schema"]["properties"])
    call = second["messages"][1]["content"][0]
    assert call["name"] == second["tools"][0]["name"] != "read_diary"
    deltas = re.findall(rb'"partial_json":("(?:[^"\\]|\\.)*")', after.exchanges[0].body)
    assert msgspec.json.decode("".join(msgspec.json.decode(delta) for delta in deltas)) == call["input"]


def test_without_a_seed_nobody_can_repeat_the_choice() -> None:
    made = [rewritten(conversation(), o200k_words(), seed=seed).exchanges[0].body for seed in ("s", "s", None, None)]
    assert made[0] == made[1]
    assert len(set(made)) == 3


def test_what_a_provider_says_of_an_error_stays() -> None:
    said = b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}'
    failed = Exchange(
        method="POST", uri=URL, request_body=conversation().exchanges[0].request_body, status=400, body=said
    )
    assert rewritten(Cassette(exchanges=[failed]), o200k_words()).exchanges[0].body == said


@needs_recordings
@pytest.mark.parametrize("file", some(24), ids=lambda file: file.stem[:60])
def test_recordings_keep_all_but_their_words(file: Path) -> None:
    before = migrated(vcr.read(file))
    assert_alike(before, rewritten(before, o200k_words(), seed="s"))


@needs_recordings
@pytest.mark.slow
def test_all_recordings_keep_all_but_their_words() -> None:
    gone = 0
    for file in recordings():
        before = migrated(vcr.read(file))
        gone += assert_alike(before, rewritten(before, o200k_words(), seed="s"))
    assert gone > 1000
