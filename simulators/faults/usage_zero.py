"""The answer says that it cost nothing."""

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens
from simulators.faults._events import NoParams

KIND = "usage_zero"
PHASE: Phase = "turn"

Params = NoParams


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """Every figure 0; what is booked stays true."""
    return ShapedTurn(turn, Tokens())
