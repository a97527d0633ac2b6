"""Responders one after the other: the first that has an answer gives it."""

from collections.abc import Callable, Mapping
from typing import Any

from simulators.core.fault import Responder
from simulators.core.turn import ModelCall, ModelTurn


class Chain:
    """Implements `Responder` out of others, asked in their order."""

    def __init__(self, *parts: Responder) -> None:
        self.parts = parts
        self.name = parts[-1].name

    @property
    def replayer(self) -> Any:
        """The part that has recordings, or None."""
        found = (getattr(part, "replayer", None) for part in self.parts)
        return next((replayer for replayer in found if replayer is not None), None)

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        for part in self.parts:
            turn = part.answer(call, n=n, chance=chance)
            if turn is not None:
                return turn
        return None

    def unused(self) -> list[str]:
        return [place for part in self.parts for place in part.unused()]

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        found: dict[str, Any] = {}
        for part in self.parts:
            found |= part.nearest(call) or {}
        return found or None
