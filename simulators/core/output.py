"""Where an answer ends: stop sequences, `max_tokens`, the end of the window."""

import re

import msgspec

from simulators.core.tokens import Counter, input_text
from simulators.core.turn import ModelCall, ModelInfo, ModelTurn, ToolCall

_WORDS = re.compile(r"\s*\S+\s?")


def finish(turn: ModelTurn, call: ModelCall, counter: Counter, model: ModelInfo, room: int | None) -> ModelTurn:
    """The turn as the model would have ended it, its `stop` filled in.

    `room` is how many tokens the window has left after the prompt. A scripted `output_tokens` overrides the figure that
    is reported and nothing here.
    """
    changes: dict[str, object] = {}
    if call.stop_sequences and turn.text and (found := _first_stop(turn.text, call.stop_sequences)):
        at, sequence = found
        changes = {"text": turn.text[:at], "tool_calls": (), "stop": "stop_sequence", "stop_sequence": sequence}
    elif turn.stop is None:
        changes = {"stop": "tool_use" if turn.tool_calls else "end_turn"}
    if changes:
        turn = msgspec.structs.replace(turn, **changes)
    budget, stop = call.max_tokens, "max_tokens"
    if room is not None and (budget is None or room < budget):
        budget, stop = room, "context_window_exceeded"
    if budget is None or counter.answer(turn, model)[0] <= budget:
        return turn
    return _cut(turn, budget, stop, counter, model)


def _first_stop(text: str, sequences: tuple[str, ...]) -> tuple[int, str] | None:
    found = [(at, sequence) for sequence in sequences if sequence and (at := text.find(sequence)) >= 0]
    return min(found) if found else None


def _cut(turn: ModelTurn, budget: int, stop: str, counter: Counter, model: ModelInfo) -> ModelTurn:
    """Keep what fits: thinking first, then text, then tool calls; the one in which the budget ends is cut."""
    thinking = turn.thinking
    if thinking:
        thinking = cut_text(thinking, budget, counter, model)
        budget -= counter.text(thinking, model)
    text = turn.text if thinking == turn.thinking else None
    if text:
        text = cut_text(text, budget, counter, model)
        budget -= counter.text(text, model)
    calls: list[ToolCall] = []
    whole = thinking == turn.thinking and text == turn.text
    for tool_call in turn.tool_calls if whole else ():
        cost = counter.tool_call(tool_call, model)
        if cost > budget:
            if budget > 0:
                calls.append(_cut_call(tool_call, budget, cost))
            break
        calls.append(tool_call)
        budget -= cost
    return msgspec.structs.replace(
        turn, thinking=thinking, text=text, tool_calls=tuple(calls), blocks=(), stop=stop, stop_sequence=None
    )


def cut_text(text: str, budget: int, counter: Counter, model: ModelInfo) -> str:
    """The longest run of whole words from the start that has at most `budget` tokens."""
    if budget <= 0:
        return ""
    if counter.text(text, model) <= budget:
        return text
    ends = [m.end() for m in _WORDS.finditer(text)] or [len(text)]
    low, high = 0, len(ends)  # ends[low - 1] fits, ends[high] may not
    while low < high:
        middle = (low + high + 1) // 2
        if counter.text(text[: ends[middle - 1]], model) <= budget:
            low = middle
        else:
            high = middle - 1
    return text[: ends[low - 1]] if low else ""


def _cut_call(call: ToolCall, budget: int, cost: int) -> ToolCall:
    """A call whose input breaks off: JSON that does not close, as the vendors send it."""
    text = input_text(call)
    return ToolCall(name=call.name, input=text[: max(1, len(text) * budget // cost)], id=call.id)
