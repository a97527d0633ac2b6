"""How many tokens a prompt and an answer have: `words`, `chars4`, or `default`.

`default` counts with an injected vocabulary (o200k) and, for vendors whose tokenizer is not public, fits the figure
with a calibration a model family. Every block is counted once and remembered by its digest, so that the cost of a turn
grows with what is new in it; the counts of the blocks sum to the total exactly.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec

from simulators.core.turn import Block, ModelInfo, ModelTurn, ToolCall

Kind = Literal["default", "chars4", "words"]
WORDS_PER_IMAGE = 1000
_REMEMBERED = 400_000  # blocks, some 40 MB


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How a family's figure follows from the vocabulary's.

    `factor` on the count of text; `per_message` for each message, `per_system` for the system prompt; `tool_prompt`
    once if the request offers tools (the instructions that the provider adds), where `tool_prompts` does not have the
    model (`opus-4-8`); `per_tool` for each; `per_call` for each
    tool call and tool result; `base` once.
    """

    factor: float = 1.0
    base: int = 0
    per_message: int = 0
    per_system: int = 0
    tool_prompt: int = 0
    tool_prompts: Mapping[str, int] = {}
    per_tool: int = 0
    per_call: int = 0


# The Claude rows are fitted on the usage of recorded requests of 2025 and 2026 (docs/tokens.md has the errors); 4.7 and
# later make more tokens of the same text. The hidden tool prompt varies by model; what tool_choice, thinking and output
# formats add stands on the blocks (`Block.hidden`). The OpenAI row is the chat format's published overhead; of Gemini's
# tokenizer the text count is taken as it is.
CALIBRATIONS: dict[str, Calibration] = {
    "claude-4": Calibration(
        factor=1.02, base=3, per_message=4, tool_prompt=500, per_tool=10, per_call=28,
        tool_prompts={"haiku-4-5": 285, "sonnet-4": 346, "opus-4": 346, "opus-4-1": 346, "sonnet-3-7": 346,
                      "sonnet-3-5": 346, "haiku-3-5": 264, "opus-3": 530},
    ),
    "claude-4.7": Calibration(
        factor=1.4, base=1, per_message=2, tool_prompt=420, per_tool=10, per_call=34,
        tool_prompts={"opus-4-8": 260, "sonnet-5": 475, "fable-5": 415},
    ),
    "openai-4": Calibration(base=3, per_message=4, per_system=4, tool_prompt=10, per_tool=-1, per_call=4),
    "openai-5": Calibration(base=3, per_message=3, per_system=3, tool_prompt=16, per_tool=-1, per_call=4),
    "gemini-2.0": Calibration(),
    "gemini-2.5": Calibration(per_message=1, per_system=1, per_tool=19, per_call=8),
    "gemini-3": Calibration(per_message=1, per_system=1, per_tool=16, per_call=8),
}  # fmt: skip
_GEMINI = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_LINE = re.compile(r"claude-(?:([a-z]+)-(\d+(?:-\d(?!\d))?)|(\d(?:-\d)?)-([a-z]+))")
_VERSION = re.compile(r"claude-[a-z]+-(\d+)(?:-(\d)(?!\d))?")


@lru_cache(maxsize=1024)
def family(provider: str, model: str) -> str:
    """The name in `CALIBRATIONS` for a model. What is nobody's (`sim-…`) counts like Claude 4."""
    if provider == "openai":
        return "openai-4" if model.startswith(("gpt-4", "o1-mini", "computer")) else "openai-5"
    if provider == "gemini":
        found = _GEMINI.match(model)
        age = (int(found[1]), int(found[2] or 0)) if found else (3, 0)
        return "gemini-3" if age >= (3, 0) else "gemini-2.5" if age >= (2, 5) else "gemini-2.0"
    version = _VERSION.match(model)
    if version and (int(version[1]), int(version[2] or 0)) >= (4, 7):
        return "claude-4.7"
    return "claude-4"


@lru_cache(maxsize=1024)
def line_of(model: str) -> str:
    """`opus-4-8` of `claude-opus-4-8-20260101`, `sonnet-3-7` of `claude-3-7-sonnet-latest`; "" for no Claude."""
    found = _LINE.match(model)
    if found is None:
        return ""
    line, version = (found[1], found[2]) if found[1] else (found[4], found[3])
    return f"{line}-{version}"


class Counter:
    """Counts for one tokenizer. Shared by accounts: a count depends on nothing but text and family."""

    def __init__(self, kind: Kind, vocabulary: Callable[[str], int]) -> None:
        self.kind, self._vocabulary = kind, vocabulary
        self._blocks: dict[str, dict[bytes, int]] = {}
        self._texts: dict[str, dict[str, int]] = {}

    def family(self, model: ModelInfo) -> str:
        return family(model.provider, model.id) if self.kind == "default" else self.kind

    def prompt(self, blocks: Sequence[Block], model: ModelInfo) -> list[int]:
        """Tokens of each block, in order; overheads are in the block that brings them."""
        name = self.family(model)
        known = self._blocks.setdefault(name, {})
        if len(known) > _REMEMBERED:
            known.clear()
        counts = []
        for block in blocks:
            count = known.get(block.digest)
            if count is None:
                count = known[block.digest] = self._block(block, name)
            counts.append(count)
        if self.kind == "default" and blocks:
            self._overheads(blocks, counts, CALIBRATIONS[name], model.id)
        return counts

    def _overheads(self, blocks: Sequence[Block], counts: list[int], calibration: Calibration, model: str) -> None:
        """Add what messages and tools cost beside their text, each to the block that brings it."""
        counts[0] += calibration.base
        if blocks[0].level == "tools":
            prompts = calibration.tool_prompts
            counts[0] += prompts.get(line_of(model), calibration.tool_prompt) if prompts else calibration.tool_prompt
        per_message, per_system = calibration.per_message, calibration.per_system
        for i, block in enumerate(blocks):
            if block.hidden:
                counts[i] += block.hidden
            if block.opens_message:
                counts[i] += per_message if block.level == "messages" else per_system

    def _block(self, block: Block, name: str) -> int:
        if self.kind == "words":
            words = 1 if block.kind == "tool_use" else len(block.text.split())
            return words + block.images * WORDS_PER_IMAGE
        if self.kind == "chars4":
            return -(-(len(block.text) + len(block.structure)) // 4) + block.image_tokens
        calibration = CALIBRATIONS[name]
        count = self._vocabulary(block.text) if block.text else 0
        if block.structure:
            count += self._vocabulary(block.structure)
        count = round(count * calibration.factor) + block.image_tokens
        if block.kind == "tool":
            return count + calibration.per_tool
        return count + calibration.per_call if block.kind in ("tool_use", "tool_result") else count

    def text(self, text: str, model: ModelInfo) -> int:
        """Tokens of a text that was generated."""
        name = self.family(model)
        known = self._texts.setdefault(name, {})
        count = known.get(text)
        if count is None:
            if len(known) > 10_000:
                known.clear()
            count = known[text] = self._text(text, name)
        return count

    def _text(self, text: str, name: str) -> int:
        if self.kind == "words":
            return len(text.split())
        if self.kind == "chars4":
            return -(-len(text) // 4)
        return round(self._vocabulary(text) * CALIBRATIONS[name].factor) if text else 0

    def tool_call(self, call: ToolCall, model: ModelInfo) -> int:
        """Tokens of a tool call that was generated: under `words` its input is one word."""
        if self.kind == "words":
            return 1
        count = self.text(input_text(call), model)
        if self.kind == "default":
            count += self.text(call.name, model) + CALIBRATIONS[self.family(model)].per_call
        return count

    def answer(self, turn: ModelTurn, model: ModelInfo) -> tuple[int, int]:
        """(all tokens generated, the part that is thinking)."""
        thinking = self.text(turn.thinking, model) if turn.thinking else 0
        count = thinking
        if turn.text:
            count += self.text(turn.text, model)
        for call in turn.tool_calls:
            count += self.tool_call(call, model)
        for block in turn.blocks:
            more = self._generated(block, model)
            count += more
            thinking += more if block.get("type") == "thinking" else 0
        return count, thinking

    def _generated(self, block: Mapping[str, Any], model: ModelInfo) -> int:
        """Tokens of a vendor's own block; what a tool of the vendor's brought was not generated."""
        kind = str(block.get("type", ""))
        if kind.endswith("_result"):
            return 0
        for name in ("text", "thinking", "content"):
            if isinstance(block.get(name), str):
                return self.text(block[name], model)
        if self.kind == "words":
            return 1
        said = block.get("input", block)
        return self.text(msgspec.json.encode(said).decode(), model)


def input_text(call: ToolCall) -> str:
    """A tool call's input as it is sent."""
    return call.input if isinstance(call.input, str) else msgspec.json.encode(call.input).decode()
