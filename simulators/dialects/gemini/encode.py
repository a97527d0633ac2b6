"""Answers on the wire: whole responses, one for each piece of a stream, or one for everything.

As recorded in 2025 and 2026: every chunk is a response of its own with the usage so far; text comes in increments, a
function call whole; only the last chunk has a finish reason. 3.x models end a stream with an empty text that bears the
thought signature, 2.5 with the last piece of text. A tool call ends with STOP like everything else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.turn import ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk
from simulators.dialects.gemini.notes import Notes
from simulators.dialects.gemini.signature import sign
from simulators.dialects.gemini.usage import usage

_encode = msgspec.json.Encoder().encode
_WORD = re.compile(r"\s*\S+\s?|\s+")
_STOPS = {
    "max_tokens": "MAX_TOKENS",
    "context_window_exceeded": "MAX_TOKENS",
    "refusal": "SAFETY",
}
_CALLED = "Model generated function call(s)."
# What a scripted block may hold that is no part: fields of the candidate and of the response.
_OF_CANDIDATE = frozenset(
    {
        "groundingMetadata",
        "urlContextMetadata",
        "citationMetadata",
        "safetyRatings",
        "finishReason",
        "finishMessage",
        "logprobsResult",
        "groundingAttributions",
    }
)
_OF_RESPONSE = frozenset({"promptFeedback", "usageMetadata", "modelStatus"})

Part = dict[str, Any]


class Answer(msgspec.Struct):
    """A turn in the vendor's words."""

    parts: list[Part]
    candidate: dict[str, Any]  # finish reason and whatever else stands beside the content
    response: dict[str, Any]  # prompt feedback, usage that was scripted
    blocked: bool = False  # the prompt was: there is no candidate


def answer(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Answer:
    """Parts and endings of a turn."""
    notes: Notes = call.private
    made = Answer([], {}, {})
    if turn.thinking and notes.includes_thoughts:
        made.parts.append({"text": turn.thinking, "thought": True})
    if turn.text:
        made.parts.append({"text": turn.text})
    parts, beside = apart(turn.blocks)
    made.parts += [dict(part) for part in parts]
    for fields in (*turn.beside, *beside):
        made.candidate |= {name: value for name, value in fields.items() if name in _OF_CANDIDATE}
        made.response |= {name: value for name, value in fields.items() if name in _OF_RESPONSE}
    broken = _add_calls(made.parts, turn, stamp, notes)
    _sign(made.parts, turn, tokens, stamp, notes)
    made.candidate.setdefault("finishReason", _STOPS.get(turn.stop or "", "STOP"))
    if broken is not None and made.candidate["finishReason"] == "STOP":
        made.candidate |= {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": broken}
    made.blocked = "promptFeedback" in made.response
    return made


def apart(blocks: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Scripted blocks as parts of the answer, which the model generated, and as fields that stand beside them."""
    around = _OF_CANDIDATE | _OF_RESPONSE
    parts = [{name: value for name, value in block.items() if name not in around} for block in blocks]
    beside = [{name: value for name, value in block.items() if name in around} for block in blocks]
    return [part for part in parts if part], [fields for fields in beside if fields]


def _add_calls(parts: list[Part], turn: ModelTurn, stamp: Stamp, notes: Notes) -> str | None:
    """The function calls. One whose arguments are no JSON object never leaves the API: a message about it, if any."""
    broken = None
    for number, tool_call in enumerate(turn.tool_calls):
        given: Any = tool_call.input
        if isinstance(given, str):
            try:
                given = msgspec.json.decode(given or "{}")
            except msgspec.DecodeError:
                given = None
        if not isinstance(given, dict):
            broken = f"Malformed function call: print(default_api.{tool_call.name}({tool_call.input}"
            continue
        call_id = tool_call.id
        if call_id is None and notes.gates.call_ids:
            drawn = stamp.tool_ids[number] if number < len(stamp.tool_ids) else f"{stamp.message_id}{number}"
            call_id = drawn[-8:].lower()
        function = {"name": tool_call.name, "args": given} | ({} if call_id is None else {"id": call_id})
        parts.append({"functionCall": function})
    return broken


def _sign(parts: list[Part], turn: ModelTurn, tokens: Tokens, stamp: Stamp, notes: Notes) -> None:
    """Thought signatures: on the first function call, else on the last text; none where there was no thought."""
    kind = notes.gates.signatures
    calls = [part for part in parts if "functionCall" in part]
    if kind == "none" or (kind == "given" and not (calls or (turn.thinking and notes.functions))):
        return
    target = calls[0] if calls else next((p for p in reversed(parts) if "text" in p and "thought" not in p), None)
    if target is not None and "thoughtSignature" not in target:
        target["thoughtSignature"] = sign(stamp.message_id, tokens.thinking)
    for number, part in enumerate(parts):
        if ("executableCode" in part or "toolCall" in part) and "thoughtSignature" not in part:
            part["thoughtSignature"] = sign(f"{stamp.message_id}{number}", tokens.thinking)


def encode_json(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
    """The whole response."""
    made = answer(call, turn, tokens, stamp)
    if any("functionCall" in part for part in made.parts):
        made.candidate.setdefault("finishMessage", _CALLED)
    content = {"parts": made.parts, "role": "model"} if made.parts else {}
    return _encode(_response(call, stamp, made, content, made.candidate, usage(call, tokens)))


def _response(
    call: ModelCall, stamp: Stamp, made: Answer, content: Part, ending: Mapping[str, Any], figures: Mapping[str, Any]
) -> dict[str, Any]:
    notes: Notes = call.private
    response: dict[str, Any] = {}
    if not made.blocked:
        candidate: dict[str, Any] = {"content": content, **ending}
        if notes.gates.index:
            candidate["index"] = 0
        if notes.gates.logprobs and "finishReason" in ending:
            candidate["avgLogprobs"] = -0.01 * (1 + ord(stamp.message_id[-1:] or "0") % 32)
        response["candidates"] = [candidate]
    extra = dict(made.response)
    response["usageMetadata"] = _with_tools({**figures}, extra.pop("usageMetadata", None))
    response |= extra
    response["modelVersion"] = notes.model.id
    response["responseId"] = stamp.message_id
    return response


def _with_tools(figures: dict[str, Any], scripted: Mapping[str, Any] | None) -> dict[str, Any]:
    """Usage with figures that were scripted (`toolUsePromptTokenCount`); the total goes with them."""
    if scripted:
        figures |= scripted
        if "totalTokenCount" not in scripted:
            figures["totalTokenCount"] += scripted.get("toolUsePromptTokenCount", 0)
    return figures


def encode_stream(call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
    """The responses of a stream, framed as server-sent events or as pieces of one array."""
    made = answer(call, turn, tokens, stamp)
    steps = _steps(made, call.private)
    last = len(steps) - 1
    words, thoughts = sum(step.said for step in steps), sum(step.thought for step in steps)
    answered, said, thought = tokens.output - tokens.thinking, 0, 0
    for number, step in enumerate(steps):
        said, thought = said + step.said, thought + step.thought
        spent = answered if number == last else answered * said // (words or 1)
        thinking = tokens.thinking * thought // thoughts if thoughts else tokens.thinking
        so_far = msgspec.structs.replace(tokens, output=spent + thinking, thinking=thinking)
        content = {"parts": step.parts, "role": "model"} if step.parts else {}
        ending = made.candidate if number == last else {}
        response = _response(call, stamp, made, content, ending, usage(call, so_far))
        yield _framed(call, _encode(response), first=number == 0, last=number == last)


class _Step(msgspec.Struct):
    """One chunk: its parts, and how many characters of the answer and of the thoughts are in it."""

    parts: list[Part]
    said: int = 0
    thought: int = 0


def _steps(made: Answer, notes: Notes) -> list[_Step]:
    """The chunks: a word each, everything else whole, and how the last one looks."""
    steps: list[_Step] = []
    late = notes.gates.version >= (3, 0)  # the ending comes by itself, with the signature of a text
    closing: Part = {"text": ""}
    for part in made.parts:
        if "text" not in part:
            steps.append(_Step([part], len(_encode(part))))
            continue
        more = {name: value for name, value in part.items() if name != "text"}
        if late and "thoughtSignature" in more:
            closing["thoughtSignature"] = more.pop("thoughtSignature")
        for word in _WORD.findall(part["text"]) or [""]:
            size = {"thought" if "thought" in part else "said": len(word)}
            steps.append(_Step([{"text": word, **more}], **size))
            more.pop("thoughtSignature", None)  # once, on the first piece
    if late and made.parts:
        steps.append(_Step([closing]))
    return steps or [_Step([])]


def _framed(call: ModelCall, data: bytes, *, first: bool, last: bool) -> Chunk:
    if call.framing == "sse":
        return Chunk(b"data: %b\r\n\r\n" % data)
    return Chunk(b"%b%b%b" % (b"[" if first else b",\r\n", data, b"]\n" if last else b"\n"))
