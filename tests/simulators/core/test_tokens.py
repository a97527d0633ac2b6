"""Counting: exact under `words`, by characters under `chars4`, calibrated under `default`; once a block."""

from typing import Any

import pytest

from simulators.core.tokens import CALIBRATIONS, Counter, Kind, family, input_text
from simulators.core.turn import Block, ModelInfo, ModelTurn, ToolCall

CLAUDE = ModelInfo(id="claude-sonnet-4-5", provider="anthropic", context_window=200_000, max_output=1)
GPT = ModelInfo(id="gpt-5", provider="openai", context_window=200_000, max_output=1)


class Vocabulary:
    """Counts words and remembers how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return len(text.split())


def counter(kind: Kind = "default") -> tuple[Counter, Vocabulary]:
    vocabulary = Vocabulary()
    return Counter(kind, vocabulary), vocabulary


def block(text: str = "", **fields: Any) -> Block:
    fields = {"level": "messages", "path": "x", "kind": "text", "digest": f"{text}{fields}".encode(), **fields}
    return Block(text=text, **fields)


PROMPT = (
    block("reads a file", structure='{"name":"read"}', level="tools", kind="tool"),
    block("You are kind.", level="system", opens_message=True),
    block("hello there", opens_message=True),
    block('{"path": "a b"}', structure="read", kind="tool_use", opens_message=True),
    block("three words here", kind="tool_result", opens_message=True, images=1, image_tokens=400),
)


def test_words_are_those_between_spaces_and_structure_is_nothing() -> None:
    count, vocabulary = counter("words")
    assert count.prompt(PROMPT, CLAUDE) == [3, 3, 2, 1, 1003]
    assert vocabulary.asked == []


def test_chars4_is_by_block() -> None:
    count, _ = counter("chars4")
    assert count.prompt(PROMPT, CLAUDE) == [7, 4, 3, 5, 404]


def test_default_counts_text_structure_images_and_overheads() -> None:
    count, _ = counter()
    c = CALIBRATIONS["openai-5"]
    assert count.prompt(PROMPT, GPT) == [
        4 + c.base + c.tool_prompt + c.per_tool,
        3 + c.per_system,
        2 + c.per_message,
        4 + c.per_message + c.per_call,
        3 + 400 + c.per_message + c.per_call,
    ]


def test_a_block_is_counted_once() -> None:
    count, vocabulary = counter()
    count.prompt(PROMPT, GPT)
    asked = len(vocabulary.asked)
    longer = (*PROMPT, block("and more", opens_message=True))
    counts = count.prompt(longer, GPT)
    assert vocabulary.asked[asked:] == ["and more"]
    assert sum(counts) == sum(count.prompt(PROMPT, GPT)) + counts[-1]


def test_families_do_not_mix_their_counts() -> None:
    count, _ = counter()
    text = (block("word " * 1000, opens_message=True),)
    assert count.prompt(text, GPT) != count.prompt(text, CLAUDE)
    assert count.prompt(text, GPT) == count.prompt(text, GPT)


def test_an_empty_prompt() -> None:
    for kind in ("default", "words", "chars4"):
        assert counter(kind)[0].prompt((), CLAUDE) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "expected"), [("words", (6, 2)), ("chars4", (9, 2))])
def test_an_answer_counts_by_the_same_rule_thinking_included(kind: Kind, expected: tuple[int, int]) -> None:
    turn = ModelTurn(
        thinking="hm hm",
        text="one two",
        tool_calls=(ToolCall(name="read", input={"a": "b c"}),),
        blocks=({"type": "x"},),
    )
    got = counter(kind)[0].answer(turn, CLAUDE)
    assert got == (expected if kind == "words" else (2 + 2 + 3 + 3, 2))


def test_an_answers_tool_call_has_its_name_under_default() -> None:
    count, _ = counter()
    call = ToolCall(name="read", input='{"a": 1}')
    assert input_text(call) == '{"a": 1}'
    assert count.tool_call(call, GPT) == 2 + 1 + CALIBRATIONS["openai-5"].per_call


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", "claude-4"),
        ("anthropic", "claude-3-5-haiku-20241022", "claude-4"),
        ("anthropic", "claude-opus-4-1-20250805", "claude-4"),
        ("anthropic", "claude-opus-4-6", "claude-4"),
        ("anthropic", "claude-opus-4-7", "claude-4.7"),
        ("anthropic", "claude-opus-5-5", "claude-4.7"),
        ("anthropic", "claude-fable-5", "claude-4.7"),
        ("anthropic", "claude-sonnet-5", "claude-4.7"),
        ("openai", "gpt-5.5", "openai-5"),
        ("openai", "gpt-4o", "openai-4"),
        ("gemini", "gemini-2.0-flash", "gemini-2.0"),
        ("gemini", "gemini-2.5-pro", "gemini-2.5"),
        ("gemini", "gemini-3.8-flash", "gemini-3"),
        ("gemini", "gemma-4", "gemini-3"),
        ("sim", "sim-test", "claude-4"),
    ],
)
def test_families(provider: str, model: str, name: str) -> None:
    assert family(provider, model) == name


# Requests that a provider has counted: (model, o200k tokens of text and schemas, messages, tools, calls and results,
# what the provider said).
RECORDED = [
    ("claude-haiku-4-5", 1, 1, 0, 0, 8),
    ("claude-opus-4-6", 7, 1, 0, 0, 14),
    ("claude-sonnet-4-5", 13, 1, 0, 0, 20),
    ("claude-sonnet-4-5", 1107, 1, 0, 0, 1114),
    ("claude-sonnet-4-5", 1479, 3, 0, 0, 1532),
    ("claude-sonnet-4-5", 41, 1, 1, 0, 558),
    ("claude-sonnet-4-5", 79, 1, 2, 0, 612),
    ("claude-sonnet-4-5", 56, 3, 1, 2, 636),
    ("claude-sonnet-4-5", 119, 5, 2, 4, 757),
    ("claude-sonnet-4-5", 123, 3, 2, 4, 798),
    ("claude-opus-4-8", 7, 1, 0, 0, 13),
    ("claude-opus-4-8", 1118, 5, 0, 0, 1592),
    ("claude-opus-4-8", 50, 7, 0, 0, 86),
    ("claude-fable-5", 121, 1, 1, 0, 594),
    ("claude-fable-5", 140, 5, 1, 4, 797),
    ("claude-fable-5", 158, 7, 1, 6, 868),
]


@pytest.mark.parametrize(("model", "text", "messages", "tools", "calls", "said"), RECORDED)
def test_recorded_requests_come_out_near_what_the_provider_counted(
    model: str, text: int, messages: int, tools: int, calls: int, said: int
) -> None:
    count, _ = counter()
    blocks = [block("", level="tools", kind="tool", structure=" ", path=str(i)) for i in range(tools)]
    blocks += [block("", kind="tool_use", path=str(i)) for i in range(calls)]
    blocks += [block("", opens_message=True, path=str(i)) for i in range(messages - 1)]
    blocks += [block("w " * text, opens_message=True)]
    info = ModelInfo(id=model, provider="anthropic", context_window=1, max_output=1)
    got = sum(count.prompt(blocks, info))
    assert abs(got - said) <= max(2, 0.06 * said), got
