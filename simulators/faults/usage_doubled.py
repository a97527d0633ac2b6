"""The answer says twice what it cost."""

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens
from simulators.faults._events import NoParams

KIND = "usage_doubled"
PHASE: Phase = "turn"

Params = NoParams


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """Every figure doubled; what is booked stays true."""
    return ShapedTurn(
        turn,
        Tokens(
            input=2 * tokens.input,
            cache_read=2 * tokens.cache_read,
            cache_write_5m=2 * tokens.cache_write_5m,
            cache_write_1h=2 * tokens.cache_write_1h,
            output=2 * tokens.output,
            thinking=2 * tokens.thinking,
        ),
    )
