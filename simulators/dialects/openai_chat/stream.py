"""A completion as chunks: the role, words, fragments of tool calls, the reason it ended, the usage, `[DONE]`.

Order and fields follow recorded streams; where the usage stands and what pads a chunk is the profile's.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk
from simulators.dialects._openai.ids import padding
from simulators.dialects._openai.profile import fill
from simulators.dialects.openai_chat import encode
from simulators.dialects.openai_chat.notes import Notes

_encode = msgspec.json.Encoder().encode
_WORD = re.compile(r"\s*\S+\s?|\s+")
_PIECE = 16  # characters of arguments in one fragment
_DONE = Chunk(b"data: [DONE]\n\n", "done")


def encode_stream(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
    """The chunks of an answer, one event each."""
    notes: Notes = call.private
    form = notes.profile.stream
    options = call.body.get("stream_options") or {}
    told = encode.values(call, tokens, stamp)
    shared = encode.envelope(call, stamp, "chat.completion.chunk", told)
    asked = bool(options.get("include_usage"))
    padded = form.obfuscation and options.get("include_obfuscation") is not False
    more = {"usage": None} if asked and form.null_usage else {}
    number = 0

    def chunk(choices: list[dict[str, Any]], used: int, extra: dict[str, Any]) -> Chunk:
        nonlocal number
        number += 1
        body = {**shared, "choices": choices, **extra}
        if padded:
            body["obfuscation"] = padding(stamp, number, used) if choices else ""
        return Chunk(b"data: " + _encode(body) + b"\n\n", "chunk.delta" if used else "chunk")

    if form.comment:
        yield Chunk(form.comment.encode() + b"\n\n")
    for index in range(notes.choices):
        for delta, text in _deltas(call, turn, stamp):
            shown = encode.logprobs(text) if notes.logprobs and "content" in delta and text else None
            choice = {"index": index, "delta": delta, "logprobs": shown, "finish_reason": None}
            yield chunk([choice], len(text), more)
    reason = encode.finish_reason(call, turn)
    for index in range(notes.choices):
        last = {"index": index, "delta": {}, "logprobs": None, "finish_reason": reason}
        final = form.usage == "last" and index == notes.choices - 1
        extra = {"usage": told["usage"], **fill(notes.profile.last, told)} if final else more
        yield chunk([last], 0, extra)
    if form.usage == "always" or (form.usage == "asked" and asked):
        yield chunk([], 0, {"usage": told["usage"], **fill(notes.profile.last, told)})
    yield _DONE


def _deltas(call: ModelCall, turn: ModelTurn, stamp: Stamp) -> Iterator[tuple[dict[str, Any], str]]:
    """Each delta with the text that it brings."""
    notes: Notes = call.private
    refused = turn.stop == "refusal" and bool(turn.text) and not notes.profile.bare_message
    first: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused or (turn.tool_calls and not turn.text) else "",
    }
    if not notes.profile.bare_message:
        first["refusal"] = "" if refused else None
    calls = encode.tool_calls(call, turn, stamp)
    parts = [part for index, made in enumerate(calls) for part in _fragments(made, index, notes)]
    if parts and first["content"] is None and not (notes.profile.reasoning and turn.thinking):
        first |= parts.pop(0)[0]  # recorded: role and first call in one
    yield first, ""
    if notes.profile.reasoning and turn.thinking:
        for word in _WORD.findall(turn.thinking):
            yield {notes.profile.reasoning: word}, word
    for word in _WORD.findall(turn.text or ""):
        yield {"refusal" if refused else "content": word}, word
    for block in turn.blocks:
        yield {name: value for name, value in block.items() if name != "type"}, ""
    yield from parts


def _fragments(made: dict[str, Any], index: int, notes: Notes) -> Iterator[tuple[dict[str, Any], str]]:
    """One call: id and name first, then its arguments in pieces; or all of it at once."""
    if notes.legacy:
        function = made["function"]
        yield {"function_call": {"name": function["name"], "arguments": ""}}, ""
        for piece in _pieces(function["arguments"]):
            yield {"function_call": {"arguments": piece}}, piece
        return
    if notes.profile.stream.arguments == "whole":
        yield {"tool_calls": [{"index": index, **made}]}, ""
        return
    kind = made["type"]
    key = "arguments" if kind == "function" else "input"
    head = {"index": index, "id": made["id"], "type": kind, kind: {"name": made[kind]["name"], key: ""}}
    yield {"tool_calls": [head]}, ""
    for piece in _pieces(made[kind][key]):
        yield {"tool_calls": [{"index": index, kind: {key: piece}}]}, piece


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
