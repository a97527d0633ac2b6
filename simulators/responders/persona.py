"""The persona: plausible prose of the size that was asked for, and valid calls of the tools on offer.

Everything follows from (seed, request number, purpose), so the same call gets the same answer. The words are Faker's;
Faker itself is imported with the first answer, for it takes a while.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from simulators.core.account_document import AccountDocument
from simulators.core.turn import ModelCall, ModelTurn, ToolCall, ToolDecl
from simulators.responders._dice import Dice
from simulators.responders._values import json_for, value_for

_ASKED = re.compile(r"(\d[\d,]{0,7})\s*(words?|sentences?|paragraphs?|lines?)\b", re.IGNORECASE)
_WORDS_IN = {"word": 1, "sentence": 12, "line": 9, "paragraph": 60}
_MOST = 60_000  # words
_CALLS_A_TOOL = 0.35  # of the calls that could, when nothing in the prompt names a tool
_USUAL = {"main": (25, 120), "summary": (150, 350), "title": (3, 6), "probe": (2, 8)}  # words, by kind of call


class Persona:
    """Implements `Responder`."""

    name = "persona"

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        """Prose (JSON where the call wants it), or a sentence and a tool call. Results of tools are answered with
        prose: no loop is endless."""
        dice = Dice(chance("persona"))
        tool = self._choose(call, dice)
        if tool is not None:
            called = ToolCall(name=tool.name, input=value_for(tool.schema, dice, vocabulary()))
            return ModelTurn(text=_sentence(dice, 8), tool_calls=(called,), answered_by=self.name)
        if call.answer_schema is not None:
            value = json_for(call.answer_schema, dice, vocabulary())
            return ModelTurn(text=msgspec.json.encode(value).decode(), answered_by=self.name)
        return ModelTurn(text=prose(size_of(call, dice), dice), answered_by=self.name)

    def unused(self) -> list[str]:
        return []

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        return None

    def _choose(self, call: ModelCall, dice: Dice) -> ToolDecl | None:
        if not call.tools or call.tool_choice == "none":
            return None
        kind, _, name = call.tool_choice.partition(":")
        if kind == "tool":
            return next((tool for tool in call.tools if tool.name == name), None)
        if kind == "any":
            return dice.pick(call.tools)
        if call.tool_results or call.kind != "main":
            return None
        named = [tool for tool in call.tools if re.search(rf"\b{re.escape(tool.name)}\b", call.last_user)]
        if named:
            return named[0]
        return dice.pick(call.tools) if dice.roll() < _CALLS_A_TOOL else None


def make(document: AccountDocument) -> Persona:
    """A persona; it needs nothing of the document."""
    return Persona()


def size_of(call: ModelCall, dice: Dice) -> int:
    """How many words to answer with: what the user asked for ("in 200 words"), else what is usual for the call."""
    if call.kind == "main" and (asked := _ASKED.search(call.last_user)):
        unit = asked[2].lower().rstrip("s")
        return max(1, min(_MOST, int(asked[1].replace(",", "")) * _WORDS_IN[unit]))
    low, high = _USUAL[call.kind]
    return dice.between(low, high)


def prose(words: int, dice: Dice) -> str:
    """So many words, in sentences and paragraphs."""
    paragraphs: list[str] = []
    while words > 0:
        sentences: list[str] = []
        for _ in range(dice.between(3, 6)):
            length = min(words, dice.between(6, 16))
            sentences.append(_sentence(dice, length))
            words -= length
            if words <= 0:
                break
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)


def _sentence(dice: Dice, words: int) -> str:
    known = vocabulary()
    text = " ".join([dice.pick(known) for _ in range(words)])
    return f"{text[:1].upper()}{text[1:]}."


@lru_cache(maxsize=1)
def vocabulary() -> tuple[str, ...]:
    """The words that Faker knows in English, always in the same order."""
    from faker.providers.lorem.en_US import Provider

    return tuple(sorted({word for word in Provider.word_list if word.isalpha()}))
