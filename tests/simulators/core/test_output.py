"""Where an answer ends."""

from typing import Any

import pytest

from simulators.core.output import cut_text, finish
from simulators.core.tokens import Counter
from simulators.core.turn import ModelCall, ModelInfo, ModelTurn, ToolCall

MODEL = ModelInfo(id="sim-test", provider="sim", context_window=200_000, max_output=1)
WORDS = Counter("words", len)


def ended(turn: ModelTurn, *, room: int | None = None, **fields: Any) -> ModelTurn:
    return finish(turn, ModelCall(dialect="p", operation="generate", model="m", **fields), WORDS, MODEL, room)


def test_the_stop_is_filled_in() -> None:
    assert ended(ModelTurn(text="a")).stop == "end_turn"
    assert ended(ModelTurn(tool_calls=(ToolCall(name="x"),))).stop == "tool_use"
    assert ended(ModelTurn(text="a", stop="refusal")).stop == "refusal"


def test_the_first_stop_sequence_ends_the_text_and_nothing_follows() -> None:
    turn = ended(ModelTurn(text="a END b STOP", tool_calls=(ToolCall(name="x"),)), stop_sequences=("STOP", "END", ""))
    assert (turn.text, turn.stop, turn.stop_sequence, turn.tool_calls) == ("a ", "stop_sequence", "END", ())


def test_an_answer_that_fits_is_left_alone() -> None:
    assert ended(ModelTurn(text="one two"), max_tokens=2, room=2).stop == "end_turn"


@pytest.mark.parametrize(
    ("budget", "thinking", "text", "calls"),
    [
        (0, "", None, []),
        (1, "a ", None, []),
        (2, "a b", "", []),
        (3, "a b", "c ", []),
        (4, "a b", "c d", []),
        (5, "a b", "c d", ["x"]),
    ],
)
def test_thinking_text_and_calls_are_cut_in_this_order(
    budget: int, thinking: str, text: str | None, calls: list[str]
) -> None:
    whole = ModelTurn(thinking="a b", text="c d", tool_calls=(ToolCall(name="x"), ToolCall(name="y")))
    turn = ended(whole, max_tokens=budget)
    assert (turn.thinking, turn.text, [c.name for c in turn.tool_calls]) == (thinking, text, calls)
    assert turn.stop == "max_tokens"


def test_a_call_is_cut_in_the_middle_of_its_json() -> None:
    counter = Counter("chars4", len)
    call = ModelCall(dialect="p", operation="generate", model="m", max_tokens=5)
    turn = finish(
        ModelTurn(tool_calls=(ToolCall(name="x", input={"path": "notes.md" * 5}),)), call, counter, MODEL, None
    )
    assert str(turn.tool_calls[0].input).startswith('{"path":"notes') and not str(turn.tool_calls[0].input).endswith(
        "}"
    )
    assert turn.stop == "max_tokens"


def test_the_smaller_of_budget_and_room_decides_and_gives_its_name() -> None:
    assert ended(ModelTurn(text="a b c"), max_tokens=2, room=1).stop == "context_window_exceeded"
    assert ended(ModelTurn(text="a b c"), max_tokens=1, room=2).stop == "max_tokens"
    assert ended(ModelTurn(text="a b c"), room=0).text == ""


def test_text_is_cut_behind_whole_words() -> None:
    assert cut_text("  one two\nthree", 2, WORDS, MODEL) == "  one two\n"
    assert cut_text("one two", 5, WORDS, MODEL) == "one two"
    assert cut_text("one two", 0, WORDS, MODEL) == ""
    assert cut_text("unbreakable", 1, Counter("chars4", len), MODEL) == ""
