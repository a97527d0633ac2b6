"""How full the context is: the provider's own figure of the last call, and an estimate for what came after it."""

from collections.abc import Sequence
from math import ceil

import msgspec

from claw.core.calls import SystemBlock, ToolSpec
from claw.core.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from claw.core.stream import Stop
from claw.core.transcript import CompactionEntry, Entry, MessageEntry, live, summary_message
from claw.core.usage import Usage

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1_200
DEFAULT_OUTPUT = 32_000  # tokens of an answer, where nothing else is set and the model can say that much
MARGIN = 1.2  # on what is estimated, none on what was counted


def text_tokens(text: str) -> int:
    """About four characters a token; scripts that need more bytes a character count by their bytes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return ceil(size / CHARS_PER_TOKEN)


def _part_tokens(part: Part) -> int:
    match part:
        case TextPart(text=text) | ThinkingPart(text=text):
            return text_tokens(text)
        case ImagePart():
            return IMAGE_TOKENS
        case ToolCallPart(name=name, input=input, broken=broken):
            return text_tokens(name) + text_tokens(broken or msgspec.json.encode(input).decode())
        case ToolResultPart(content=content):
            return sum(_part_tokens(p) for p in content)


def message_tokens(message: Message) -> int:
    return sum(_part_tokens(part) for part in message.parts)


def fixed_tokens(system: Sequence[SystemBlock], tools: Sequence[ToolSpec]) -> int:
    """What is sent before the first message."""
    blocks = sum(text_tokens(block.text) for block in system)
    specs = sum(text_tokens(t.name + t.description + msgspec.json.encode(t.schema).decode()) for t in tools)
    return blocks + specs


class Fill(msgspec.Struct, frozen=True):
    """`counted` tokens as the provider reported them, `estimated` for the rest of the next prompt."""

    counted: int
    estimated: int

    @property
    def tokens(self) -> int:
        return self.counted + self.estimated

    @property
    def at_most(self) -> int:
        return self.counted + ceil(self.estimated * MARGIN)


def fill(entries: Sequence[Entry], *, fixed: int, scale: float = 1.0) -> Fill:
    """How large the next prompt of a path is. `fixed`: tokens of the system prompt and tools; `scale` corrects the
    estimates when a provider has told its own count.

    Only figures of calls made after the last compaction count, and only a compaction that was written is one: a failed
    one leaves the last figure in force.
    """
    compaction, kept = live(entries)
    last = max((i for i, e in enumerate(entries) if isinstance(e, CompactionEntry)), default=-1)
    fresh = {e.id for e in entries[last + 1 :] if isinstance(e, MessageEntry)}
    counted, after = 0, 0
    for at in range(len(kept) - 1, -1, -1):
        usage = kept[at].usage
        if usage is not None and usage.context_tokens and kept[at].id in fresh:
            counted, after = usage.context_tokens + usage.output, at + 1
            break
    rest = sum(message_tokens(entry.message) for entry in kept[after:])
    if not counted:
        rest += fixed + (message_tokens(summary_message(compaction.summary)) if compaction else 0)
    return Fill(counted, ceil(rest * scale))


def reserve(window: int, wanted: int) -> int:
    """Tokens kept free for the answer: `wanted`, but a prompt always has min(8,000, half the window)."""
    return max(0, min(wanted, window - min(8_000, window // 2)))


def budget(window: int, wanted_reserve: int) -> int:
    """The largest prompt that is sent without compacting first."""
    return window - reserve(window, wanted_reserve)


def overflowed(stop: Stop, usage: Usage, window: int) -> bool:
    """Whether an answer shows that its prompt did not fit although no error said so (Pi's rule): more tokens were read
    than the window has, or it is full and nothing at all was written."""
    if stop == "max_tokens":
        return usage.output == 0 and usage.context_tokens >= 0.99 * window > 0
    return stop == "end_turn" and usage.context_tokens > window > 0
