"""The script: turns consumed in order, and what comes when they are used up."""

from collections.abc import Callable, Mapping
from typing import Any

from simulators.core.account_document import AccountDocument
from simulators.core.fault import Responder
from simulators.core.turn import ModelCall, ModelTurn
from simulators.responders import echo, persona
from simulators.responders._chain import Chain


class Script:
    """Implements `Responder`. With `repeat` the last turn answers for ever."""

    name = "script"

    def __init__(self, turns: tuple[ModelTurn, ...], *, repeat: bool = False) -> None:
        self._turns, self._repeat = turns, repeat
        self._next = 0

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        """The next turn; after the last one None, or that one again."""
        if self._next < len(self._turns):
            self._next += 1
            return self._turns[self._next - 1]
        return self._turns[-1] if self._repeat and self._turns else None

    def unused(self) -> list[str]:
        return [turn.answered_by for turn in self._turns[self._next :]]

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        """`{script}`: how many turns there were."""
        count = len(self._turns)
        said = (
            "no turns" if not count else "its one turn is used up" if count == 1 else f"all {count} turns are used up"
        )
        return {"script": said}


def make(document: AccountDocument) -> Responder:
    """The script of an account, and what `otherwise:` says after it."""
    script = Script(document.turns, repeat=document.otherwise == "repeat")
    if document.otherwise == "echo":
        return Chain(script, echo.make(document))
    if document.otherwise == "persona":
        return Chain(script, persona.make(document))
    return script
