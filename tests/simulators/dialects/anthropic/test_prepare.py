"""A prepared answer has the bytes of one that is encoded afresh, whatever the stamp."""

from typing import Any

import msgspec
import pytest

from simulators.core.turn import ModelTurn, Stamp
from simulators.core.wire import Chunk
from simulators.dialects.anthropic import DIALECT
from tests.simulators.dialects.anthropic.asking import STAMP, accepted, tool, user
from tests.simulators.dialects.anthropic.test_encode import TOKENS, TURNS

STAMPS = [
    msgspec.structs.replace(STAMP, message_id=f"{n}pSWtUBRqhT2h2RyoM5Y{n}{n}", now=STAMP.now + n) for n in range(1, 9)
]
FIELDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tools": {"tools": [tool("read")]},
    "diagnostics": {"diagnostics": {"previous_message_id": None}},
    "warming": {"max_tokens": 0},
    "another version": {"model": "claude-opus-4-8"},
}


def fresh(call: Any, turn: ModelTurn, stamp: Stamp) -> list[Chunk]:
    if call.stream:
        return list(DIALECT.encode_stream(call, turn, TOKENS, stamp))
    return [Chunk(DIALECT.encode_json(call, turn, TOKENS, stamp))]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("name", TURNS)
def test_it_differs_in_nothing(name: str, fields: str, stream: bool) -> None:
    turn = TURNS[name]
    if stream and fields == "warming":
        return  # refused by the API
    call = accepted(user("hi"), **{"stream": stream, **FIELDS[fields]})
    render = DIALECT.prepare(call, turn, TOKENS)
    if render is None:
        assert turn.thinking or turn.tool_calls, "only these bear more of the stamp than an id"
        return
    for stamp in [*STAMPS, *STAMPS]:
        assert list(render(stamp)) == fresh(call, turn, stamp)


def test_a_text_that_looks_like_the_open_place_is_no_danger() -> None:
    call, turn = accepted(user("hi")), ModelTurn(text=f"0OIl0OIl0OIl0OIl0OIl0{STAMP.message_id[-1]}", stop="end_turn")
    render = DIALECT.prepare(call, turn, TOKENS)
    assert render is not None
    assert list(render(STAMP)) == fresh(call, turn, STAMP)
