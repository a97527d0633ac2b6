"""The input of every tool call is complete and no JSON, as models write it now and then."""

import msgspec

from simulators.core.fault import FaultContext, Phase, ShapedTurn
from simulators.core.turn import ModelTurn, Tokens, ToolCall
from simulators.faults._events import NoParams

KIND = "invalid_tool_json"
PHASE: Phase = "turn"

Params = NoParams


def turn(params: Params, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> ShapedTurn:
    """A comma too many before the end."""
    calls = tuple(ToolCall(name=call.name, id=call.id, input=_spoilt(call.input)) for call in turn.tool_calls)
    return ShapedTurn(msgspec.structs.replace(turn, tool_calls=calls), tokens)


def _spoilt(given: dict[str, object] | str) -> str:
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    return f"{text.removesuffix('}')},}}"
