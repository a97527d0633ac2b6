"""Two tool calls of one turn carry the same id."""

import msgspec

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens, ToolCall
from simulators.faults._events import NoParams

KIND = "duplicate_tool_ids"
PHASE: Phase = "turn"

Params = NoParams


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """All calls under the id of the first; a lone call comes twice."""
    calls = turn.tool_calls * 2 if len(turn.tool_calls) == 1 else turn.tool_calls
    prefix = "toolu_01" if context.dialect.name == "anthropic" else "call_"
    shared = (calls[0].id if calls else None) or f"{prefix}{context.stamp.message_id}"
    same = tuple(ToolCall(name=call.name, input=call.input, id=shared) for call in calls)
    return ShapedTurn(msgspec.structs.replace(turn, tool_calls=same), tokens)
