"""The input of the last tool call breaks off, as an answer does that ran into max_tokens."""

import msgspec

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens, ToolCall
from simulators.faults._events import NoParams

KIND = "partial_tool_json"
PHASE: Phase = "turn"

Params = NoParams


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """Half of the JSON, and the stop reason that goes with it. A turn without calls is left alone."""
    if not turn.tool_calls:
        return ShapedTurn(turn, tokens)
    *others, last = turn.tool_calls
    text = last.input if isinstance(last.input, str) else msgspec.json.encode(last.input).decode()
    half = ToolCall(name=last.name, id=last.id, input=text[: max(1, len(text) // 2)])
    return ShapedTurn(msgspec.structs.replace(turn, tool_calls=(*others, half), stop="max_tokens"), tokens)
