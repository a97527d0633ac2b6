"""A session as entries, and the conversation that a model is shown of it.

An entry is one line of the session file: `{type, id, parentId, timestamp, …}`. Entries form a tree; the path from the
root to the last one is the conversation. `replay` makes messages of a path, always the same ones from the same entries,
so that a prompt prefix stays the same bytes from turn to turn and from process to process.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from claw.core.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from claw.core.stream import Stop
from claw.core.usage import Usage

CUT_TO = 4_000  # characters of a tool result that are shown once results had to be cut
NO_RESULT = "No result was recorded: the run ended while this tool was at work. It may or may not have taken effect."
SUMMARY_LEAD = "What came before in this conversation has been condensed. This summary stands in for it:"


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True):
    id: str
    parent_id: str | None
    timestamp: str = ""  # ISO 8601 UTC, set when it is written


class MessageEntry(_Entry, frozen=True, kw_only=True, tag="message"):
    """One message. Of an assistant also the model that wrote it (`PROVIDER/MODEL`), its tokens and why it stopped.

    `joins` names the `queued` entry whose text this is.
    """

    message: Message
    model: str | None = None
    usage: Usage | None = None
    stop: Stop | None = None
    joins: str | None = None


class CompactionEntry(_Entry, frozen=True, kw_only=True, tag="compaction"):
    """From here on `summary` stands for everything before entry `first_kept_entry_id`; None: for everything."""

    summary: str
    first_kept_entry_id: str | None
    tokens_before: int
    tokens_after: int
    trigger: str = "threshold"


class CustomEntry(_Entry, frozen=True, kw_only=True, tag="custom"):
    """Something a model is not shown: `queued`, `cli_session`, `cli_compaction`, …

    Two change how it is shown what came before them: `repaired` (without thinking and images, which a provider had
    refused), `results_cut` (tool results with `chars` characters of their head and tail).
    """

    custom_type: str
    data: dict[str, Any] = {}


class UnknownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a type that this version does not know; it keeps its place in the tree. `raw` is the line."""

    id: str
    parent_id: str | None
    raw: dict[str, Any]
    timestamp: str = ""


KnownEntry = MessageEntry | CompactionEntry | CustomEntry
Entry = KnownEntry | UnknownEntry


def path(entries: Sequence[Entry], leaf: str | None = None) -> tuple[Entry, ...]:
    """The entries from the root to `leaf` (the last one if None or unknown). A broken chain starts where it breaks."""
    by_id = {entry.id: entry for entry in entries}
    at = by_id.get(leaf) if leaf else None
    at = at or (entries[-1] if entries else None)
    back: list[Entry] = []
    seen: set[str] = set()
    while at is not None and at.id not in seen:
        back.append(at)
        seen.add(at.id)
        at = by_id.get(at.parent_id) if at.parent_id else None
    return tuple(reversed(back))


def live(entries: Sequence[Entry]) -> tuple[CompactionEntry | None, tuple[MessageEntry, ...]]:
    """The compaction in force on a path, and the message entries that are still shown as they are.

    Queued messages that no message entry took over count as user messages where they were queued.
    """
    entries = _mended(entries)
    at = max((i for i, e in enumerate(entries) if isinstance(e, CompactionEntry)), default=None)
    joined = {e.joins for e in entries if isinstance(e, MessageEntry) and e.joins}
    if at is None:
        return None, tuple(_messages(entries, joined))
    compaction = entries[at]
    assert isinstance(compaction, CompactionEntry)
    first = next((i for i, e in enumerate(entries[:at]) if e.id == compaction.first_kept_entry_id), at)
    return compaction, tuple(_messages((*entries[first:at], *entries[at + 1 :]), joined))


def _mended(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries with what a `repaired` or `results_cut` behind them leaves of their messages."""
    marks = [i for i, e in enumerate(entries) if isinstance(e, CustomEntry) and e.custom_type in _MENDS]
    if not marks:
        return entries
    made = list(entries)
    for mark in marks:
        entry = entries[mark]
        for at in range(mark):
            before = made[at]
            if isinstance(before, MessageEntry) and isinstance(entry, CustomEntry):
                message = _MENDS[entry.custom_type](before.message, entry.data)
                made[at] = before if message is before.message else msgspec.structs.replace(before, message=message)
    return made


def _messages(entries: Iterable[Entry], joined: set[str]) -> Iterable[MessageEntry]:
    for entry in entries:
        if isinstance(entry, MessageEntry):
            yield entry
        elif isinstance(entry, CustomEntry) and entry.custom_type == "queued" and entry.id not in joined:
            text = str(entry.data.get("text", ""))
            yield MessageEntry(id=entry.id, parent_id=entry.parent_id, message=user(text))


def replay(entries: Sequence[Entry], *, plain: bool = False) -> tuple[Message, ...]:
    """The messages of a path, ready to send: the summary first, tool calls and results paired.

    `plain` leaves out what a provider may refuse to take back: thinking and images (a note stands for an image).
    """
    compaction, kept = live(entries)
    messages = pair(tuple(entry.message for entry in kept))
    if plain:
        messages = tuple(message for message in map(_plain, messages) if message.parts)
    return (summary_message(compaction.summary), *messages) if compaction else messages


def summary_message(summary: str) -> Message:
    return user(f"{SUMMARY_LEAD}\n\n<summary>\n{summary}\n</summary>")


def pair(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Put the results of every assistant message directly behind it, in the order of its calls.

    A missing result becomes an error that says so; a result without its call and a second result are dropped; an
    assistant message with nothing in it is left out. The same call id may be used again by a later message.
    """
    results: dict[str, list[tuple[int, ToolResultPart]]] = {}
    callers: dict[str, list[int]] = {}
    for at, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                results.setdefault(part.call_id, []).append((at, part))
            elif isinstance(part, ToolCallPart):
                callers.setdefault(part.id, []).append(at)
    paired: list[Message] = []
    for at, message in enumerate(messages):
        if message.role == "tool" or not message.parts:
            continue
        paired.append(message)
        if message.tool_calls:
            found = (_result(call, at, results, callers) for call in message.tool_calls)
            paired.append(Message("tool", tuple(found)))
    return tuple(paired)


def _result(
    call: ToolCallPart,
    at: int,
    results: Mapping[str, list[tuple[int, ToolResultPart]]],
    callers: Mapping[str, list[int]],
) -> ToolResultPart:
    end = next((other for other in callers[call.id] if other > at), None)
    for place, part in results.get(call.id, ()):
        if place > at and (end is None or place < end):
            return part
    return ToolResultPart(call.id, call.name, (TextPart(NO_RESULT),), is_error=True)


def sound_calls(message: Message, history: Sequence[Entry]) -> Message:
    """The message of a model as it can be sent back: a call without a name is left out, and an id that is missing or
    taken, in this message or before, is replaced. Providers refuse a history with such calls for ever after."""
    if not message.tool_calls:
        return message
    taken = {call.id for e in history if isinstance(e, MessageEntry) for call in e.message.tool_calls}
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            if not part.name.strip():
                continue
            part = msgspec.structs.replace(part, id=_free(part.id or "call", taken), name=part.name.strip())
            taken.add(part.id)
        parts.append(part)
    return msgspec.structs.replace(message, parts=tuple(parts))


def _free(id: str, taken: set[str]) -> str:
    if id not in taken and id != "call":
        return id
    return next(name for n in range(2, len(taken) + 3) if (name := f"{id}_{n}") not in taken)


def _plain(message: Message) -> Message:
    if all(isinstance(part, TextPart | ToolCallPart) for part in message.parts):
        return message
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ThinkingPart):
            continue
        if isinstance(part, ImagePart):
            parts.append(_no_image(part))
        elif isinstance(part, ToolResultPart):
            content = tuple(_no_image(p) if isinstance(p, ImagePart) else p for p in part.content)
            parts.append(msgspec.structs.replace(part, content=content))
        else:
            parts.append(part)
    return Message(message.role, tuple(parts))


def _no_image(image: ImagePart) -> TextPart:
    return TextPart(f"[an image ({image.media_type}) was left out]")


def cap_result(part: ToolResultPart, *, window: int) -> ToolResultPart:
    """A tool result no longer than a model with this context window (tokens) can bear: head and tail of the text.

    The caps are those of OpenClaw 2026.9.6: 16,000 characters, 32,000 from a window of 100,000, 64,000 from 200,000,
    and never more than 30 % of the window at four characters a token.
    """
    steps = 64_000 if window >= 200_000 else 32_000 if window >= 100_000 else 16_000
    return shortened(part, max(2_000, min(int(window * 0.3) * 4, steps)))


def shortened(part: ToolResultPart, cap: int) -> ToolResultPart:
    """A tool result with at most about `cap` characters of text: its head and its tail."""
    if sum(len(p.text) for p in part.content if isinstance(p, TextPart)) <= cap:
        return part
    text = part.text
    tail = min(4_000, cap * 3 // 10)
    head = cap - tail
    note = f"\n[… {len(text) - cap} characters left out here …]\n"
    images = tuple(p for p in part.content if isinstance(p, ImagePart))
    return msgspec.structs.replace(part, content=(TextPart(text[:head] + note + text[-tail:]), *images))


def _cut(message: Message, chars: int) -> Message:
    if message.role != "tool":
        return message
    parts = tuple(shortened(p, chars) if isinstance(p, ToolResultPart) else p for p in message.parts)
    return msgspec.structs.replace(message, parts=parts)


_MENDS: Mapping[str, Callable[[Message, dict[str, Any]], Message]] = {
    "repaired": lambda message, data: _plain(message),
    "results_cut": lambda message, data: _cut(message, max(200, _int(data.get("chars"), CUT_TO))),
}


def _int(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
