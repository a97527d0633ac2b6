"""Every reader makes a cassette of a small file of its kind, and says where a bad one is bad."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from simulators.cassettes import imports
from simulators.cassettes.format import CassetteError

USER, SAID = "What is new?", "Nothing much."


def rows(*values: Mapping[str, Any]) -> bytes:
    return b"\n".join(msgspec.json.encode(value) for value in values) + b"\n"


def netstring(value: Any) -> bytes:
    """As mitmproxy writes a value."""
    kind = b","
    match value:
        case bool():
            data, kind = str(value).lower().encode(), b"!"
        case None:
            data, kind = b"", b"~"
        case int():
            data, kind = str(value).encode(), b"#"
        case float():
            data, kind = repr(value).encode(), b"^"
        case str():
            data, kind = value.encode(), b";"
        case bytes():
            data = value
        case dict():
            data, kind = b"".join(netstring(k) + netstring(v) for k, v in value.items()), b"}"
        case _:
            data, kind = b"".join(map(netstring, value)), b"]"
    return b"%d:%b%b" % (len(data), data, kind)


def har() -> bytes:
    entry = {
        "startedDateTime": "2026-01-01T00:00:00.000Z", "time": 500, "timings": {"send": 0, "wait": 300, "receive": 200},
        "request": {"method": "POST", "url": "https://api.anthropic.com/v1/messages", "headers": [{"name": "x-api-key", "value": "k"}],  # noqa: E501
                    "postData": {"text": json.dumps({"messages": [USER]})}},
        "response": {"status": 200, "statusText": "OK", "headers": [{"name": "content-encoding", "value": "br"}],
                     "content": {"text": base64.b64encode(SAID.encode()).decode(), "encoding": "base64"}},
    }  # fmt: skip
    return msgspec.json.encode({"log": {"entries": [entry, {**entry, "response": {"status": 0}}]}})


def flows() -> bytes:
    request = {"method": b"POST", "scheme": b"https", "host": "api.openai.com", "port": 443, "path": b"/v1/responses",
               "headers": [[b"content-type", b"application/json"]], "content": USER.encode(), "timestamp_start": 10.0,
               "timestamp_end": 10.5}  # fmt: skip
    response = {"status_code": 200, "reason": b"OK", "headers": [], "content": SAID.encode(), "timestamp_start": 11.0,
                "timestamp_end": 12.0}  # fmt: skip
    return netstring({"type": "http", "request": request, "response": response, "error": None, "websocket": None})


def journal() -> bytes:
    asked = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": USER}]}
    return msgspec.json.encode({"exchanges": [
        {"n": 1, "at": 5.0, "dialect": "anthropic", "path": "/v1/messages", "request": asked, "status": 200, "usage": {"input_tokens": 7}},  # noqa: E501
        {"n": 2, "at": 6.0, "dialect": "anthropic", "path": "/v1/messages", "request": asked, "status": 429,
         "error": {"kind": "rate_limited", "message": SAID, "retry_after": 7}},
    ], "dropped": 0})  # fmt: skip


def claude_code() -> bytes:
    return rows(
        {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": USER}},  # noqa: E501
        {"type": "attachment", "uuid": "b", "parentUuid": "a", "attachment": {"type": "prompt_snapshot", "systemPrompt": ["Be brief."]}},  # noqa: E501
        *({"type": "assistant", "uuid": uuid, "parentUuid": parent, "timestamp": "2026-01-01T00:00:00Z",
           "message": {"id": "m1", "role": "assistant", "model": "claude-opus-4-5", "content": [block],
                       "stop_reason": "tool_use", "usage": {"input_tokens": 3}}}
          for uuid, parent, block in (("c", "b", {"type": "text", "text": SAID}),
                                      ("d", "c", {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}))),
    )  # fmt: skip


def codex() -> bytes:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": USER}]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]}
    usage = {
        "type": "token_count",
        "info": {"last_token_usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}},
    }
    return rows(
        {"type": "turn_context", "payload": {"model": "gpt-5.5"}},
        {"type": "response_item", "payload": item},
        {"type": "response_item", "payload": said},
        {"type": "event_msg", "payload": usage},
    )


def tree(version: int, **assistant: Any) -> bytes:
    """A session of Pi or OpenClaw: version 1 has no ids."""
    entries: list[dict[str, Any]] = [
        {"type": "message", "message": {"role": "user", "content": "long ago"}},
        {"type": "message", "message": {"role": "user", "content": USER}},
        {"type": "compaction", "summary": "they spoke", "tokensBefore": 9},
        {"type": "message", "message": {"role": "assistant", "api": "anthropic-messages", "model": "claude-sonnet-4-5",
                                        "content": [{"type": "text", "text": SAID}], "stopReason": "stop",
                                        "usage": {"input": 1, "cacheRead": 2, "output": 3}, **assistant}},
    ]  # fmt: skip
    entries[2] |= {"firstKeptEntryIndex": 2} if version == 1 else {"firstKeptEntryId": "e1"}
    if version > 1:
        for n, entry in enumerate(entries):
            entry |= {"id": f"e{n}", "parentId": f"e{n - 1}" if n else None}
    header = {"type": "session", "id": "s", **({"version": version} if version > 1 else {})}
    return rows(header, *entries)


SAMPLES = {
    "har": har(), "mitmproxy": flows(), "journal": journal(), "claude-code": claude_code(), "codex": codex(),
    "pi": tree(3), "openclaw": tree(1),
    "parsed-body": json.dumps({"interactions": [{"request": {"method": "POST", "uri": "https://x/v1/messages", "parsed_body": {"q": USER}},  # noqa: E501
                                                 "response": {"status": {"code": 200}, "parsed_body": {"a": SAID}}}]}).encode(),  # noqa: E501
}  # fmt: skip


def test_every_reader_has_a_sample() -> None:
    assert sorted(SAMPLES) == sorted(imports.abouts())


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_a_file_becomes_a_cassette(kind: str) -> None:
    made = imports.read(kind, SAMPLES[kind], source="f")
    first = made.exchanges[0]
    assert USER.encode() in first.request_body
    assert kind == "journal" or SAID.encode() in first.body
    assert made.claw["by"] == f"claw cassette import {kind}"
    assert made.origin in ("imported", "recorded")


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_a_bad_file_is_refused_by_name(kind: str) -> None:
    with pytest.raises(CassetteError, match=r"^f"):
        imports.read(kind, b'{"nothing": "here"}\n', source="f")


def test_times_of_a_har_and_of_flows_are_kept() -> None:
    for kind, at in (("har", [0.3, 0.5]), ("mitmproxy", [0.5, 1.5])):
        frames = imports.read(kind, SAMPLES[kind], source="f").exchanges[0].frames
        assert frames is not None
        assert [frame.at for frame in frames] == at


def test_an_answer_in_several_records_is_one_and_has_its_prompt() -> None:
    [one] = imports.read("claude-code", SAMPLES["claude-code"], source="f").exchanges
    asked, said = msgspec.json.decode(one.request_body), msgspec.json.decode(one.body)
    assert asked["system"] == [{"type": "text", "text": "Be brief."}]
    assert [block["type"] for block in said["content"]] == ["text", "tool_use"]
    assert said["usage"] == {"input_tokens": 3}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_compaction_stands_for_what_it_replaced(version: int) -> None:
    [one] = imports.read("openclaw", tree(version), source="f").exchanges
    assert b"they spoke" in one.request_body
    assert USER.encode() in one.request_body
    assert b"long ago" not in one.request_body


def test_notes_of_openclaw_itself_are_no_answers() -> None:
    with pytest.raises(CassetteError, match="no exchange"):
        imports.read("openclaw", tree(3, provider="openclaw", model="delivery-mirror"), source="f")


def test_a_refusal_of_a_journal_keeps_its_wait() -> None:
    second = imports.read("journal", SAMPLES["journal"], source="f").exchanges[1]
    assert (second.status, second.header("retry-after")) == (429, "7")


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(CassetteError, match=r"did you mean .codex"):
        imports.read("codx", b"", source=str(Path("f")))
