"""Answers on the wire: the SSE events of a message, or the message as one body.

Order and fields follow the streaming page of the provider's documentation and recorded streams: `message_start` with
the final input and cache figures and a small `output_tokens`, a `ping` after the first block has begun, deltas of one
word, tool input in pieces of 16 characters of which the first is empty, one signature before a thinking block ends,
`message_delta` with cumulative figures, `message_stop`.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk
from simulators.dialects.anthropic.notes import Notes
from simulators.dialects.anthropic.signature import seal_summary, sign
from simulators.dialects.anthropic.usage import contained, usage

_encode = msgspec.json.Encoder().encode
_WORD = re.compile(r"\s*\S+\s?|\s+")
_PIECE = 16  # characters of tool input in one delta
_STOPS = {"context_window_exceeded": "model_context_window_exceeded"}
_AT_THE_END = ("output_tokens_details", "server_tool_use", "iterations")  # of a stream, in `message_delta` alone
_AT_THE_START = ("cache_creation", "service_tier", "inference_geo", "speed")  # in `message_start` alone
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_PING = Chunk(b'event: ping\ndata: {"type": "ping"}\n\n', "ping")
_STOP = Chunk(b'event: message_stop\ndata: {"type":"message_stop"}\n\n', "message_stop")


def content(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> list[dict[str, Any]]:
    """The blocks of an answer: a compaction, thinking, text, the vendor's own, tool calls. Broken tool input stays a
    string."""
    if call.max_tokens == 0:
        return []  # a request that only warms the cache
    notes = call.private if isinstance(call.private, Notes) else None
    if notes is not None and notes.summarize:
        return [summary_block(turn)]
    blocks: list[dict[str, Any]] = []
    if notes is not None and notes.compaction is not None:
        blocks.append(dict(notes.compaction))
        if notes.paused:
            return blocks
    if turn.thinking is not None:
        shown = turn.thinking if notes is None or notes.thinking_shown else ""
        signature = sign(shown, call.blocks, stamp.message_id)
        blocks.append({"type": "thinking", "thinking": shown, "signature": signature})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [dict(block) for block in turn.blocks]
    for number, tool_call in enumerate(turn.tool_calls):
        call_id = tool_call.id
        if call_id is None:
            call_id = f"toolu_01{stamp.tool_ids[number] if number < len(stamp.tool_ids) else stamp.message_id}"
        blocks.append(
            {
                "type": "tool_use",
                "id": call_id,
                "name": tool_call.name,
                "input": tool_call.input,
                "caller": {"type": "direct"},
            }
        )
    return blocks


def summary_block(turn: ModelTurn) -> dict[str, Any]:
    """What answers a request for a compaction: the model's text as a signed block; null where it gave none."""
    text = turn.text or None
    block: dict[str, Any] = {"type": "compaction", "content": text, "encrypted_content": None}
    return block | {"signature": seal_summary(text or "", []), "tool_changes": []}


def _ending(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> dict[str, Any]:
    notes = call.private if isinstance(call.private, Notes) else None
    stop = turn.stop or ("tool_use" if turn.tool_calls else "end_turn")
    if call.max_tokens == 0:
        stop = "max_tokens"
    elif notes is not None and (notes.paused or notes.summarize):
        stop = "compaction"
    details = {"type": "refusal", "category": None, "explanation": None, **(turn.stop_details or {})}
    ending: dict[str, Any] = {
        "stop_reason": _STOPS.get(stop, stop),
        "stop_sequence": turn.stop_sequence if stop == "stop_sequence" else None,
        "stop_details": details if stop == "refusal" else None,
    }
    if contained(call.body):
        ending["container"] = container(call.body, stamp)
    return ending


def container(body: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    """The container that a request works in: the one it names, or a new one; it is kept for some five minutes."""
    asked = body.get("container")
    named, skills = (asked.get("id"), asked.get("skills")) if isinstance(asked, dict) else (asked, None)
    until = datetime.fromtimestamp(stamp.now + 300, UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    found = {"id": named or f"container_01{stamp.message_id}", "expires_at": f"{until}Z"}
    return found | {"skills": skills} if skills is not None else found


def _message(call: ModelCall, stamp: Stamp, blocks: list[dict[str, Any]], ending: Mapping[str, Any]) -> dict[str, Any]:
    notes = call.private
    message = {
        "model": notes.model.id if isinstance(notes, Notes) else call.model,
        "id": f"msg_01{stamp.message_id}",
        "type": "message",
        "role": "assistant",
        "content": blocks,
        **ending,
    }
    if isinstance(notes, Notes) and notes.dropped is not None:
        message["input_transformations"] = [
            {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"} for path in notes.dropped
        ]
    if call.body.get("diagnostics") is not None:
        message["diagnostics"] = notes.diagnosis if isinstance(notes, Notes) else None
    return message


def _edits(call: ModelCall) -> dict[str, Any]:
    """`context_management` of an answer whose request asked for edits."""
    notes = call.private
    if not isinstance(notes, Notes) or notes.applied is None:
        return {}
    return {"context_management": {"applied_edits": list(notes.applied)}}


def encode_json(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
    """The whole message. Tool input given as a string is put in parsed if it is JSON, else as that string."""
    blocks = content(call, turn, stamp)
    for block in blocks:
        if block["type"] in _CALLS and isinstance(block["input"], str):
            try:
                block["input"] = msgspec.json.decode(block["input"] or "{}")
            except msgspec.DecodeError:
                pass
    message = _message(call, stamp, blocks, _ending(call, turn, stamp))
    message["usage"] = usage(call, tokens, turn)
    return _encode(message | _edits(call))


def encode_stream(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
    """The events of an answer, one chunk each."""
    events = _events(call, turn, tokens, stamp)
    return _padded(events, stamp.padding) if stamp.padding else events


def _padded(events: Iterator[Chunk], seed: str) -> Iterator[Chunk]:
    """Up to 15 spaces before the end of each data line, so that its length tells nothing of the word it brings: as the
    API has sent since 2025, pings apart (recorded streams)."""
    state = int.from_bytes(seed.encode(), "big")
    for event in events:
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) & (2**64 - 1)
        spaces = b" " * (state >> 60)
        yield event if event.event == "ping" else Chunk(event.data[:-3] + spaces + b"}\n\n", event.event)


def _events(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
    blocks = content(call, turn, stamp)
    totals = usage(call, tokens, turn)
    figures = {name: value for name, value in totals.items() if name not in _AT_THE_END}
    output = totals["output_tokens"]
    # Recorded streams begin with 1 to 8 here, whatever comes.
    figures["output_tokens"] = min(output, 1 + ord(stamp.message_id[-1:] or "0") % 8)
    nothing = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
    start = _message(call, stamp, [], nothing)
    start["usage"] = figures
    yield _event("message_start", {"message": start})
    if not blocks:
        yield _PING
    for index, block in enumerate(blocks):
        events = _stream_block(block, index)
        yield next(events)
        if index == 0:
            yield _PING
        yield from events
        yield Chunk(
            b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n' % index,
            "content_block_stop",
        )
    for name in _AT_THE_START:
        totals.pop(name, None)
    yield _event("message_delta", {"delta": _ending(call, turn, stamp), "usage": totals, **_edits(call)})
    yield _STOP


def _event(name: str, fields: dict[str, Any]) -> Chunk:
    return Chunk(b"event: %b\ndata: %b\n\n" % (name.encode(), _encode({"type": name, **fields})), name)


def _stream_block(block: dict[str, Any], index: int) -> Iterator[Chunk]:
    """The start and the deltas of one block. Kinds that the API does not stream come whole in their start."""
    kind = block["type"]
    if kind == "text":
        yield _start(index, {**block, "text": "", **({"citations": []} if block.get("citations") else {})})
        yield from _deltas(index, "text_delta", "text", _WORD.findall(block["text"]))
        for citation in block.get("citations") or ():
            delta = {"type": "citations_delta", "citation": citation}
            yield _event("content_block_delta", {"index": index, "delta": delta})
    elif kind == "thinking":
        yield _start(index, {**block, "thinking": "", "signature": ""})
        yield from _deltas(index, "thinking_delta", "thinking", _WORD.findall(block["thinking"]))
        yield from _deltas(index, "signature_delta", "signature", [block["signature"]])
    elif kind in _CALLS:
        given = block["input"]
        text = given if isinstance(given, str) else _encode(given).decode()
        yield _start(index, {**block, "input": {}})
        pieces = ["", *(text[at : at + _PIECE] for at in range(0, len(text), _PIECE))]
        yield from _deltas(index, "input_json_delta", "partial_json", pieces)
    elif kind == "compaction":
        yield _start(index, {**block, "content": None})
        delta = {name: block.get(name) for name in ("content", "encrypted_content")}
        delta = {"type": "compaction_delta", **delta}
        yield _event("content_block_delta", {"index": index, "delta": delta})
    else:
        yield _start(index, block)


def _start(index: int, block: dict[str, Any]) -> Chunk:
    return _event("content_block_start", {"index": index, "content_block": block})


def _deltas(index: int, kind: str, field: str, pieces: list[str]) -> Iterator[Chunk]:
    """The hot path: everything but the piece itself is put together once."""
    head = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":' % (
        index,
        kind.encode(),
        field.encode(),
    )
    encode, make = _encode, Chunk
    for piece in pieces:
        yield make(head + encode(piece) + b"}}\n\n", "content_block_delta")
