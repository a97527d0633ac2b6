"""What a run shows while it goes: the lines of `--stream-json`, numbered and timed."""

from collections.abc import Callable, Mapping
from typing import Any

from claw.core.stream import MessageEnd, MessageStart, PartDelta, PartEnd, PartStart, StreamEvent
from claw.core.usage import Usage
from claw.ports import Clock

Emitted = dict[str, Any]


class Watch:
    """Stamps events with `run`, `seq` (from 1) and `at` (Unix seconds) and hands them on; without a taker, nothing."""

    def __init__(self, clock: Clock, run: str, taker: Callable[[Emitted], None] | None) -> None:
        self._clock = clock
        self._run = run
        self._taker = taker
        self._seq = 0

    def emit(self, type: str, fields: Mapping[str, Any]) -> None:
        if self._taker is not None:
            self._seq += 1
            self._taker({"type": type, "run": self._run, "seq": self._seq, "at": self._clock.now(), **fields})

    def stream(self, event: StreamEvent) -> None:
        """A piece of the model's output."""
        if self._taker is None:
            return
        match event:
            case MessageStart(id=id, model=model):
                self.emit("message_start", {"id": id, "model": model})
            case PartStart(index=index, kind=kind, id=id, name=name):
                call = {"id": id, "name": name} if kind == "tool_call" else {}
                self.emit("part_start", {"index": index, "kind": kind, **call})
            case PartDelta(index=index, text=text):
                self.emit("part_delta", {"index": index, "text": text})
            case PartEnd(index=index):
                self.emit("part_end", {"index": index})
            case MessageEnd(stop=stop, usage=usage):
                self.emit("message_end", {"stop": stop, "usage": counts(usage)})


def counts(usage: Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in Usage.__struct_fields__}
