"""Answers on the wire: the SSE events of a message, or the message as one body.

Order and fields follow the streaming page of the provider's documentation and recorded streams: `message_start` with
the final input and cache figures and a small `output_tokens`, a `ping` after the first block has begun, deltas of one
word, tool input in pieces of 16 characters of which the first is empty, one signature before a thinking block ends,
`message_delta` with cumulative figures, `message_stop`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk
from simulators.dialects.anthropic.notes import Notes
from simulators.dialects.anthropic.signature import sign

_encode = msgspec.json.Encoder().encode
_WORD = re.compile(r"\s*\S+\s?|\s+")
_PIECE = 16  # characters of tool input in one delta
_STOPS = {"context_window_exceeded": "model_context_window_exceeded"}
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_PING = Chunk(b'event: ping\ndata: {"type": "ping"}\n\n', "ping")
_STOP = Chunk(b'event: message_stop\ndata: {"type":"message_stop"}\n\n', "message_stop")


def usage(call: ModelCall, tokens: Tokens) -> dict[str, Any]:
    """The usage object of a whole message. The three input figures are disjoint; their sum is the prompt."""
    found: dict[str, Any] = {
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.cache_write_5m,
            "ephemeral_1h_input_tokens": tokens.cache_write_1h,
        },
        "output_tokens": 0 if call.max_tokens == 0 else tokens.output,
        "service_tier": "standard",
        "inference_geo": "global",
    }
    if tokens.thinking:
        found["output_tokens_details"] = {"thinking_tokens": tokens.thinking}
    if call.body.get("speed"):
        found["speed"] = call.body["speed"]
    return found


def content(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> list[dict[str, Any]]:
    """The blocks of an answer: thinking, text, the vendor's own, tool calls. Broken tool input stays a string."""
    if call.max_tokens == 0:
        return []  # a request that only warms the cache
    blocks: list[dict[str, Any]] = []
    if turn.thinking is not None:
        notes = call.private
        shown = turn.thinking if not isinstance(notes, Notes) or notes.thinking_shown else ""
        signature = sign(shown, call.blocks, stamp.message_id)
        blocks.append({"type": "thinking", "thinking": shown, "signature": signature})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [dict(block) for block in turn.blocks]
    for number, tool_call in enumerate(turn.tool_calls):
        call_id = tool_call.id
        if call_id is None:
            call_id = f"toolu_01{stamp.tool_ids[number] if number < len(stamp.tool_ids) else stamp.message_id}"
        blocks.append({"type": "tool_use", "id": call_id, "name": tool_call.name, "input": tool_call.input})
    return blocks


def _ending(call: ModelCall, turn: ModelTurn) -> dict[str, Any]:
    stop = turn.stop or ("tool_use" if turn.tool_calls else "end_turn")
    if call.max_tokens == 0:
        stop = "max_tokens"
    details = {"type": "refusal", "category": None, "explanation": None} if stop == "refusal" else None
    return {
        "stop_reason": _STOPS.get(stop, stop),
        "stop_sequence": turn.stop_sequence if stop == "stop_sequence" else None,
        "stop_details": details,
    }


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
        message["diagnostics"] = None
    return message


def encode_json(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
    """The whole message. Tool input given as a string is put in parsed if it is JSON, else as that string."""
    blocks = content(call, turn, stamp)
    for block in blocks:
        if block["type"] in _CALLS and isinstance(block["input"], str):
            try:
                block["input"] = msgspec.json.decode(block["input"] or "{}")
            except msgspec.DecodeError:
                pass
    message = _message(call, stamp, blocks, _ending(call, turn))
    message["usage"] = usage(call, tokens)
    return _encode(message)


def encode_stream(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
    """The events of an answer, one chunk each."""
    blocks = content(call, turn, stamp)
    figures = usage(call, tokens)
    details = figures.pop("output_tokens_details", None)
    output = figures["output_tokens"]
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
    totals = {
        name: figures[name] for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    }
    totals["output_tokens"] = output
    if details:
        totals["output_tokens_details"] = details
    yield _event("message_delta", {"delta": _ending(call, turn), "usage": totals})
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
        delta = {"type": "compaction_delta", "content": block.get("content")}
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
