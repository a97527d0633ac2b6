"""Claude Code's main-thread messages, from raw stream events or whole snapshots, as claw's `StreamEvent`s.

With `--include-partial-messages` every message comes twice: as the provider's own events, and as one `assistant`
record per content block. The events are used for text and thinking, the records for tools (their input is whole
there). Without partials, or when the CLI fell back to a call that does not stream, the records are all there is.
"""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from claw.core.calls import CliEvent, CliTool, CliUsage
from claw.core.stream import MessageEnd, MessageStart, PartDelta, PartEnd, PartStart, Stop
from claw.core.usage import Usage

STOPS: frozenset[str] = frozenset(get_args(Stop))
_INPUT_SIDE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def usage_of(figures: Any) -> Usage:
    """Usage from the provider's keys. Writes that name no TTL count as 5 minutes."""
    if not isinstance(figures, Mapping):
        return Usage()
    written = _int(figures.get("cache_creation_input_tokens"))
    split = figures.get("cache_creation")
    hour = _int(split.get("ephemeral_1h_input_tokens")) if isinstance(split, Mapping) else 0
    details = figures.get("output_tokens_details")
    return Usage(
        input=_int(figures.get("input_tokens")),
        cache_read=_int(figures.get("cache_read_input_tokens")),
        cache_write_5m=max(written - hour, 0),
        cache_write_1h=hour,
        output=_int(figures.get("output_tokens")),
        reasoning=_int(details.get("thinking_tokens")) if isinstance(details, Mapping) else 0,
    )


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class _Open(msgspec.Struct):
    """The message that is being read. `figures` are the provider's usage keys so far."""

    id: str
    model: str
    streamed: bool
    figures: dict[str, Any]
    stop: str | None = None
    kinds: dict[int, str] = {}  # parts that are open or were: index → text | thinking | redacted | tool
    signatures: dict[int, str] = {}
    tools: dict[int, list[str]] = {}  # index → id, name, pieces of the input
    text: list[str] = []
    blocks: list[str] = []  # texts of the snapshots so far
    called: bool = False


class Messages:
    """Feed it stream events and assistant records of the main thread; `close` when something else follows.

    `last_usage` and `last_text` are of the last whole message, `unfinished` says that a streamed one never got its
    end, `shown` that visible text went out, `acted` that a tool was begun.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.last_usage: Usage | None = None
        self.last_model = ""
        self.last_text = ""
        self.last_stop: str | None = None
        self.unfinished = False
        self.shown = False
        self.acted = False
        self._open: _Open | None = None
        self._announced: set[str] = set()
        self._streamed: set[str] = set()  # ids of whole messages: a record that comes late repeats one

    def stream_event(self, event: Mapping[str, Any]) -> list[CliEvent]:
        kind = event.get("type")
        if kind == "message_start":
            return self._start(event.get("message"), streamed=True)
        message = self._open
        if message is None or not message.streamed:
            return []
        index = _int(event.get("index"))
        match kind:
            case "content_block_start":
                return self._block_start(message, index, event.get("content_block"))
            case "content_block_delta":
                return self._block_delta(message, index, event.get("delta"))
            case "content_block_stop":
                return self._block_stop(message, index)
            case "message_delta":
                self._figures(message, event)
            case "message_stop":
                return self._end(message)
        return []

    def snapshot(self, message: Mapping[str, Any]) -> list[CliEvent]:
        """An `assistant` record: one content block (or all of them so far) of a message."""
        out: list[CliEvent] = []
        id = str(message.get("id") or "")
        if id in self._streamed:
            return []
        if self._open is None or self._open.id != id:
            out += self._start(message, streamed=False)
        current = self._open
        assert current is not None
        if not current.streamed:
            current.stop = message.get("stop_reason") or current.stop
            current.figures |= message.get("usage") or {}
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if isinstance(block, Mapping):
                out += self._whole_block(current, block)
        return out

    def close(self, total: Usage | None = None) -> list[CliEvent]:
        """The message is over. `total` is the run's sum: for a run of one call it has the output that records lack."""
        if self._open is None:
            return []
        if self._open.streamed:
            return self._abandon()
        return self._end(self._open, total)

    def retried(self) -> list[CliEvent]:
        """The CLI starts its call again: what was streamed of it is void."""
        return self._abandon()

    def _start(self, message: Any, *, streamed: bool) -> list[CliEvent]:
        out = self.close()
        fields = message if isinstance(message, Mapping) else {}
        figures = fields.get("usage")
        self._open = _Open(
            str(fields.get("id") or ""), str(fields.get("model") or ""), streamed, dict(figures or {}), kinds={}
        )
        self.unfinished = False
        return [*out, MessageStart(self._open.id, self._open.model, usage_of(figures))]

    def _block_start(self, message: _Open, index: int, block: Any) -> list[CliEvent]:
        fields = block if isinstance(block, Mapping) else {}
        match fields.get("type"):
            case "text":
                message.kinds[index] = "text"
                out: list[CliEvent] = [PartStart(index=index, kind="text")]
                return out + self._text(message, index, str(fields.get("text") or ""))
            case "thinking":
                message.kinds[index] = "thinking"
                return [PartStart(index=index, kind="thinking")]
            case "redacted_thinking":
                message.kinds[index] = "redacted"
                return [PartStart(index=index, kind="thinking"), PartDelta(index, str(fields.get("data") or ""))]
            case "tool_use":
                message.kinds[index] = "tool"
                message.tools[index] = [str(fields.get("id") or ""), str(fields.get("name") or "")]
        return []

    def _block_delta(self, message: _Open, index: int, delta: Any) -> list[CliEvent]:
        fields = delta if isinstance(delta, Mapping) else {}
        kind = message.kinds.get(index)
        match fields.get("type"):
            case "text_delta" if kind == "text":
                return self._text(message, index, str(fields.get("text") or ""))
            case "thinking_delta" if kind == "thinking":
                return [PartDelta(index, str(fields.get("thinking") or ""))]
            case "signature_delta" if kind == "thinking":
                message.signatures[index] = message.signatures.get(index, "") + str(fields.get("signature") or "")
            case "input_json_delta" if kind == "tool":
                message.tools[index].append(str(fields.get("partial_json") or ""))
        return []

    def _block_stop(self, message: _Open, index: int) -> list[CliEvent]:
        match message.kinds.pop(index, None):
            case "text":
                return [PartEnd(index=index)]
            case "thinking":
                return [PartEnd(index=index, signature=message.signatures.get(index))]
            case "redacted":
                return [PartEnd(index=index, redacted=True)]
            case "tool":
                id, name, *pieces = message.tools.pop(index)
                return self._tool(message, id, name, _arguments("".join(pieces)))
        return []

    def _whole_block(self, message: _Open, block: Mapping[str, Any]) -> list[CliEvent]:
        if block.get("type") == "tool_use":
            return self._tool(message, str(block.get("id") or ""), str(block.get("name") or ""), block.get("input"))
        if message.streamed:
            return []
        index = len(message.blocks)
        text = block.get("text" if block.get("type") == "text" else "thinking")
        if not isinstance(text, str):
            return []
        if block.get("type") == "thinking":
            message.blocks.append("")
            signature = block.get("signature") or None
            return [
                PartStart(index=index, kind="thinking"),
                PartDelta(index, text),
                PartEnd(index=index, signature=signature),
            ]
        if message.blocks and message.blocks[-1] and text.startswith(message.blocks[-1]):
            new = text[len(message.blocks[-1]) :]  # a snapshot that grew
            if not new:
                return []
            text = new
        message.blocks.append(str(block.get("text")))
        return [PartStart(index=index, kind="text"), *self._text(message, index, text), PartEnd(index=index)]

    def _text(self, message: _Open, index: int, text: str) -> list[CliEvent]:
        if not text:
            return []
        self.shown = True
        message.text.append(text)
        return [PartDelta(index, text)]

    def _tool(self, message: _Open, id: str, name: str, input: Any) -> list[CliEvent]:
        message.called = True
        if id in self._announced:
            return []
        self._announced.add(id)
        self.acted = True
        return [CliTool(id=id, name=name, phase="start", input=input if isinstance(input, Mapping) else {})]

    def _figures(self, message: _Open, event: Mapping[str, Any]) -> None:
        delta, figures = event.get("delta"), event.get("usage")
        if isinstance(delta, Mapping) and delta.get("stop_reason"):
            message.stop = str(delta["stop_reason"])
        if not isinstance(figures, Mapping):
            return
        start = message.figures
        # The last event's figures are cumulative; gateways send 0 for the input side there.
        inputs = {key: max(_int(start.get(key)), _int(figures.get(key))) for key in _INPUT_SIDE}
        message.figures = start | {key: value for key, value in figures.items() if value is not None} | inputs

    def _end(self, message: _Open, total: Usage | None = None) -> list[CliEvent]:
        usage = usage_of(message.figures)
        if total is not None and self.calls == 0 and total.context_tokens == usage.context_tokens:
            usage = total
        stop = message.stop if message.stop in STOPS else "tool_use" if message.called else "end_turn"
        self.calls += 1
        self.last_usage, self.last_model, self.last_stop = usage, message.model, stop
        self.last_text = "".join(message.text)
        self._open = None
        if message.streamed:
            self._streamed.add(message.id)
        return [MessageEnd(stop, usage), CliUsage(usage, "last_call")]  # type: ignore[arg-type]

    def _abandon(self) -> list[CliEvent]:
        if self._open is None:
            return []
        message, self._open = self._open, None
        self.unfinished = True
        return [MessageEnd("error", usage_of(message.figures))]


def _arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {}
