"""Another model answers than was asked, and says so."""

from typing import Any

import msgspec

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens
from simulators.faults._events import edit_json

KIND = "wrong_model"
PHASE: Phase = "turn"


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`model` that the answer names."""

    model: str = "sim-another"


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """The model's name replaced in the encoded events."""

    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: params.model if name in ("model", "modelVersion") else rename(inner) if name in _INSIDE else inner
                for name, inner in value.items()
            }
        return value

    return ShapedTurn(turn, tokens, lambda data: edit_json(data, rename) if b'"model' in data else data)


_INSIDE = ("message", "response")
