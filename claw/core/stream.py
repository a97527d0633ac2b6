"""Incremental output of a model call, and the fold that makes a whole turn of it.

Streaming is the engine; the non-streaming call is the same events, folded. `Fold` is the only accumulator.
"""

from typing import Any, Literal

import msgspec

from claw.core.messages import Message, Part, TextPart, ThinkingPart, ToolCallPart
from claw.core.usage import Usage

Stop = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "pause_turn",
    "context_window_exceeded",
    "aborted",
    "error",
]


class MessageStart(msgspec.Struct, frozen=True):
    id: str
    model: str
    usage: Usage | None = None  # what is known at the start; `MessageEnd` has the final figures


class PartStart(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    kind: Literal["text", "thinking", "tool_call"]
    id: str = ""  # of a tool call
    name: str = ""  # of a tool call


class PartDelta(msgspec.Struct, frozen=True):
    """`text` is visible text, thinking, or a piece of a tool call's JSON, by the kind of part `index`."""

    index: int
    text: str


class PartEnd(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    signature: str | None = None  # of thinking
    redacted: bool = False


class MessageEnd(msgspec.Struct, frozen=True):
    stop: Stop
    usage: Usage


StreamEvent = MessageStart | PartStart | PartDelta | PartEnd | MessageEnd


class ModelTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One finished model call."""

    id: str
    model: str
    message: Message
    stop: Stop
    usage: Usage


class _Open(msgspec.Struct):
    start: PartStart
    pieces: list[str]
    end: PartEnd | None = None


class Fold:
    """Feed it every event of one call; `turn()` when `done`, `partial()` at any time."""

    def __init__(self) -> None:
        self.id = ""
        self.model = ""
        self.done = False
        self._parts: dict[int, _Open] = {}
        self._stop: Stop = "error"
        self._usage = Usage()

    def feed(self, event: StreamEvent) -> None:
        match event:
            case MessageStart(id=id, model=model, usage=usage):
                self.id, self.model = id, model
                self._usage = usage or self._usage
            case PartStart(index=index):
                self._parts[index] = _Open(event, [])
            case PartDelta(index=index, text=text):
                self._parts[index].pieces.append(text)
            case PartEnd(index=index):
                self._parts[index].end = event
            case MessageEnd(stop=stop, usage=usage):
                self._stop, self._usage, self.done = stop, usage, True

    @property
    def delivered(self) -> bool:
        """True once visible text or a tool call has begun: a retry would repeat it."""
        return any(o.start.kind == "tool_call" or (o.start.kind == "text" and o.pieces) for o in self._parts.values())

    def partial(self) -> Message:
        """The message as far as it got; unfinished tool calls are left out."""
        parts = (_close(self._parts[index]) for index in sorted(self._parts))
        return Message("assistant", tuple(part for part in parts if part is not None))

    def turn(self) -> ModelTurn:
        return ModelTurn(id=self.id, model=self.model, message=self.partial(), stop=self._stop, usage=self._usage)


def _close(part: _Open) -> Part | None:
    text = "".join(part.pieces)
    match part.start.kind:
        case "text":
            return TextPart(text) if text else None
        case "thinking":
            signature, redacted = (part.end.signature, part.end.redacted) if part.end else (None, False)
            return ThinkingPart(text, signature, redacted)
        case "tool_call":
            if part.end is None:
                return None
            return tool_call(part.start.id, part.start.name, text)


def tool_call(id: str, name: str, arguments: str) -> ToolCallPart:
    """A tool call from the JSON text of its arguments; text that is no JSON object ends up in `broken`."""
    if not arguments.strip():
        return ToolCallPart(id, name, {})
    try:
        value: Any = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return ToolCallPart(id, name, {}, arguments)
    return ToolCallPart(id, name, value) if isinstance(value, dict) else ToolCallPart(id, name, {}, arguments)
