"""The answer does not say what it cost."""

from typing import Any

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens
from simulators.faults._events import NoParams, edit_json

KIND = "usage_missing"
PHASE: Phase = "turn"

Params = NoParams


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """Every usage object taken out of the encoded events."""
    return ShapedTurn(turn, tokens, _without_usage)


_NAMES = ("usage", "usageMetadata")


def _without_usage(data: bytes) -> bytes:
    return edit_json(data, _strip) if any(f'"{name}"'.encode() in data for name in _NAMES) else data


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _strip(inner) for name, inner in value.items() if name not in _NAMES}
    return value
