"""A conversation is read once, and what is remembered changes no answer."""

from typing import Any

from simulators.core.models import catalogue
from simulators.core.turn import ModelCall
from simulators.dialects.anthropic import Anthropic
from simulators.dialects.anthropic.reading import Memo, open_body
from tests.simulators.dialects.anthropic.asking import (
    EPHEMERAL,
    assistant,
    body,
    refusal_of,
    request,
    result,
    text,
    use,
    user,
)  # fmt: skip


def read(dialect: Anthropic, *messages: dict[str, Any]) -> ModelCall:
    return dialect.parse(request(body(*messages)), "generate", catalogue())


def test_a_growing_conversation_reads_the_same_as_a_new_one() -> None:
    turns = [
        user([text("go")]),
        assistant([text("ok"), use("a")]),
        user([result("a")]),
        assistant("done"),
        user("more"),
    ]
    marked = user([text("go", cache_control=EPHEMERAL)])
    dialect = Anthropic()
    for history in (turns[:1], turns[:3], turns, [marked, *turns[1:]], [turns[0], user("other")]):
        assert read(dialect, *history).blocks == read(Anthropic(), *history).blocks


def test_the_same_message_elsewhere_is_another() -> None:
    dialect = Anthropic()
    read(dialect, user("hello"))
    paths = [block.path for block in read(dialect, user("first"), user("hello"), user("hello")).blocks]
    assert paths == ["messages[0].content[0]", "messages[1].content[0]", "messages[2].content[0]"]


def test_a_message_is_read_once() -> None:
    dialect = Anthropic()
    first = read(dialect, user("hello"))
    assert read(dialect, user("hello"), assistant("hi"), user("and")).blocks[0] is first.blocks[0]


def test_memory_is_bounded_and_keeps_what_is_in_use() -> None:
    known = [read(Anthropic(), user("x"))]
    memo = Memo(generation=100)
    for number in range(50):
        memo.put((number, 0, b"x" * 10), known[0])  # type: ignore[arg-type]
        memo.get((0, 0, b"x" * 10))
    kept = [number for number in range(50) if memo.get((number, 0, b"x" * 10)) is not None]
    assert len(kept) <= 20
    assert {0, 49} <= set(kept)


def test_a_body_is_opened_without_reading_its_messages() -> None:
    opened, raw = open_body(b'{"model": "m", "messages": [{"role": "user"}, 7]}')
    assert opened == {"model": "m", "messages": None}
    assert raw == [b'{"role": "user"}', b"7"]
    assert open_body(b'{"messages": {"a": 1}}') == ({"messages": {"a": 1}}, None)
    assert open_body(b"[1]") == ([1], None)


def test_what_is_no_json_is_refused_wherever_it_breaks_and_however_deep() -> None:
    """Also where the part that can be read has the wrong type."""
    for data in (b"[1, 2", b'"text" x', b"1 2", b'{"messages": [1, {'):
        assert refusal_of(request(data)).startswith("The request body is not valid JSON: ")
    for opened in (b"[" * 100_000, b'{"a":' * 100_000, b'{"messages":' + b"[" * 100_000):
        said = "The request body is not valid JSON: recursion limit exceeded: line 1 column "
        assert refusal_of(request(opened)).startswith(said)
