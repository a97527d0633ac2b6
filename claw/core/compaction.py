"""Which part of a conversation is summarised, what the summariser is asked, and what stands in its place.

A cut falls before a user or an assistant message, never between a tool call and its result. What is summarised and what
is kept cover everything since the last summary.
"""

from collections.abc import Sequence
from math import ceil

import msgspec

from claw.core.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from claw.core.transcript import CompactionEntry, Entry, MessageEntry, live, pair, summary_message
from claw.core.window import message_tokens, text_tokens

TOOL_TEXT = 2_000  # characters of a tool result that the summariser sees
OVERHEAD = 4_096  # tokens around the text to be summarised

SUMMARY_SYSTEM = (
    "You condense the record of a working session between a user and an assistant, so that the assistant can carry on "
    "from your summary alone. You do not take part in the session and do not answer anything in it."
)
SUMMARY_TASK = (
    "Condense the session record above. Write under these headings, leaving one out only if there is nothing for it:\n"
    "## Goal\n## Rules and wishes\n## Done\n## In progress\n## Decisions\n## Next steps\n## Exact names and values\n"
    "Keep file paths, identifiers, commands, numbers and error messages letter for letter."
)
UPDATE_TASK = (
    "The earlier summary above covers what went before this part of the record. Write one summary of both, under the "
    "same headings: carry over what still holds, add what is new, mark as done what is done."
)


_REQUEST = "\n\n## The request being worked on, word for word\n"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`pieces` are given to the summariser one after the other, each as text; `request` is the user's message that the
    kept part still works on but no longer contains, "" if none."""

    pieces: tuple[str, ...]
    earlier: str  # the summary in force, "" if none
    first_kept: str | None
    request: str
    tokens_before: int
    kept_tokens: int


def plan(entries: Sequence[Entry], *, keep: int, piece_tokens: int, scale: float = 1.0) -> Plan | None:
    """What to summarise so that about `keep` tokens of the newest stay. None: there is nothing that could go.

    `scale` corrects the estimates by what a provider has counted; `piece_tokens` is what one summary call can read.
    """
    compaction, items = live(entries)
    sizes = [ceil(message_tokens(item.message) * scale) for item in items]
    at = cut(items, sizes, keep=keep)
    if at == 0:
        return None
    gone, kept = items[:at], items[at:]
    earlier = compaction.summary if compaction else ""
    request = ""
    if not kept or kept[0].message.role != "user":
        request = next((e.message.text for e in reversed(gone) if e.message.role == "user"), _request_in(earlier))
    blocks = [block for message in pair(tuple(e.message for e in gone)) for block in _blocks(message)]
    return Plan(
        pieces=_pieces(blocks, max(1, int(piece_tokens / max(scale, 0.1)))),
        earlier=earlier,
        first_kept=kept[0].id if kept else None,
        request=request,
        tokens_before=sum(sizes) + (ceil(message_tokens(summary_message(earlier)) * scale) if earlier else 0),
        kept_tokens=sum(sizes[at:]),
    )


def cut(items: Sequence[MessageEntry], sizes: Sequence[int], *, keep: int) -> int:
    """The index of the first item that stays; 0 keeps everything, len(items) nothing.

    It is the earliest place from which at most `keep` tokens remain. If that is a mere rest (under half of `keep`)
    because one large message lies before it, that message stays too as long as it does not double the allowance. A
    prompt that has no answer yet always stays.
    """
    places = [i for i, item in enumerate(items) if item.message.role in ("user", "assistant")]
    if not places:
        return 0
    tail = [0] * (len(items) + 1)
    for i in range(len(items) - 1, -1, -1):
        tail[i] = tail[i + 1] + sizes[i]
    unanswered = items[-1].message.role == "user"
    last = places[-1] if unanswered else len(items)
    at = next((i for i in places if tail[i] <= keep), last)
    before = max((i for i in places if i < at), default=at)
    if keep > 0 and tail[at] < keep / 2 and tail[before] <= 2 * keep and before > 0:
        return before
    return at


def _blocks(message: Message) -> list[str]:
    """A message as the summariser reads it."""
    if message.role == "tool":
        results = (part for part in message.parts if isinstance(part, ToolResultPart))
        return [f"[Result of {r.name}{' (failed)' if r.is_error else ''}]\n{_short(r.text)}" for r in results]
    who = "User" if message.role == "user" else "Assistant"
    blocks: list[str] = []
    for part in message.parts:
        match part:
            case TextPart(text=text):
                blocks.append(f"[{who}]\n{text}")
            case ThinkingPart(text=text, redacted=False) if text:
                blocks.append(f"[{who}, thinking]\n{text}")
            case ToolCallPart(name=name, input=input, broken=broken):
                given = broken or msgspec.json.encode(input).decode()
                blocks.append(f"[{who} calls {name}]\n{_short(given)}")
            case _:
                pass
    return blocks


def _short(text: str) -> str:
    return text if len(text) <= TOOL_TEXT else f"{text[:TOOL_TEXT]}\n[… {len(text) - TOOL_TEXT} more characters …]"


def _pieces(blocks: Sequence[str], tokens: int) -> tuple[str, ...]:
    """Join blocks to texts of at most `tokens`; a block that is larger is shortened in its middle."""
    pieces: list[list[str]] = [[]]
    size = 0
    for block in blocks:
        if text_tokens(block) > tokens:
            half = max(1, int(len(block) * tokens / text_tokens(block) * 0.45))
            block = f"{block[:half]}\n[… the middle is left out …]\n{block[-half:]}"
        need = text_tokens(block) + 1
        if pieces[-1] and size + need > tokens:
            pieces.append([])
            size = 0
        pieces[-1].append(block)
        size += need
    return tuple("\n\n".join(piece) for piece in pieces if piece)


def summary_prompt(piece: str, earlier: str) -> tuple[Message, ...]:
    """The one message of a summary call."""
    before = f"<earlier-summary>\n{earlier}\n</earlier-summary>\n\n" if earlier else ""
    tasks = f"{SUMMARY_TASK}\n\n{UPDATE_TASK}" if earlier else SUMMARY_TASK
    return (user(f"{before}<record>\n{piece}\n</record>\n\n{tasks}"),)


def with_request(summary: str, request: str) -> str:
    """The summary, and below it the user's message that is still being worked on, word for word."""
    return f"{summary}{_REQUEST}{request}" if request else summary


def _request_in(summary: str) -> str:
    return summary.partition(_REQUEST)[2]


def tokens_after(summary: str, kept_tokens: int, scale: float = 1.0) -> int:
    return kept_tokens + ceil(message_tokens(summary_message(summary)) * scale)


def entry(
    plan: Plan, *, id: str, parent_id: str | None, summary: str, tokens_before: int, after: int, trigger: str
) -> CompactionEntry:
    return CompactionEntry(
        id=id,
        parent_id=parent_id,
        summary=summary,
        first_kept_entry_id=plan.first_kept,
        tokens_before=tokens_before,
        tokens_after=after,
        trigger=trigger,
    )
