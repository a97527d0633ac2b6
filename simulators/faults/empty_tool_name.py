"""Tool calls without a name."""

import msgspec

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens, ToolCall
from simulators.faults._events import NoParams

KIND = "empty_tool_name"
PHASE: Phase = "turn"

Params = NoParams


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """Every call with an empty name."""
    calls = tuple(ToolCall(name="", input=call.input, id=call.id) for call in turn.tool_calls)
    return ShapedTurn(msgspec.structs.replace(turn, tool_calls=calls), tokens)
