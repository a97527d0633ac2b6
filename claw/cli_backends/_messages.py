"""A CLI's whole texts as claw's stream events, for CLIs that print a message at once or in plain pieces."""

from claw.core.calls import CliEvent
from claw.core.stream import MessageEnd, MessageStart, PartDelta, PartEnd, PartStart
from claw.core.usage import Usage


def whole_message(id: str, model: str, text: str, *, thinking: bool = False) -> list[CliEvent]:
    """One message that came at once. The CLI says nothing of its usage."""
    return [
        MessageStart(id, model),
        PartStart(index=0, kind="thinking" if thinking else "text"),
        PartDelta(0, text),
        PartEnd(index=0),
        MessageEnd("end_turn", Usage()),
    ]


class Pieces:
    """A message that comes in pieces: `add` each, `close` when something else follows."""

    def __init__(self, model: str) -> None:
        self._model, self._count = model, 0
        self._open = False
        self.text = ""  # of the last message
        self.shown = False

    def add(self, text: str) -> list[CliEvent]:
        out: list[CliEvent] = []
        if not self._open:
            self._open, self.text = True, ""
            self._count += 1
            out += [MessageStart(f"message_{self._count}", self._model), PartStart(index=0, kind="text")]
        self.text += text
        self.shown = self.shown or bool(text)
        return [*out, PartDelta(0, text)]

    def close(self) -> list[CliEvent]:
        if not self._open:
            return []
        self._open = False
        return [PartEnd(index=0), MessageEnd("end_turn", Usage())]
