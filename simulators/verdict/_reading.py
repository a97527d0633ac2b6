"""A journal read for judging: the calls, their conversations, how they failed, and which call each one continues."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from simulators.verdict._items import Item, digest, instructions, items

Verdict = tuple[Literal["ok", "bad", "not_checked"], Sequence[int], str]
How = Literal["extends", "resends", "after_summary", "rewrites"]

GENERATION = ("/messages", "/responses", "/chat/completions", ":generateContent", ":streamGenerateContent")
CUT = frozenset({"truncate", "cut", "missing_end", "truncated_gzip"})  # faults that take the end of a stream away
SPOILT = frozenset({"error_event", "malformed_json", "malformed_sse", "empty", "html", "hang", "reset", "stall"})
OVERFLOW = frozenset({"context_overflow", "output_budget"})
RETRYABLE = frozenset({408, 409, 429}) | frozenset(range(500, 600))
_LOOSE = 20  # how many earlier calls are tried when no prefix fits
_UNLIKE = 0.5  # prompts with less in common may be of two agents


class Seen:
    """One generation call of the journal."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.n: int = raw["n"]
        self.at: float = raw.get("at") or 0.0
        self.key = str(raw.get("account") or raw.get("key") or "")
        self.model = str(raw.get("model") or "")
        self.kind: str | None = raw.get("kind")
        self.status: int | None = raw.get("status")
        self.faults = frozenset(raw.get("faults") or ())
        request = raw.get("request")
        self.body: Mapping[str, Any] = request if isinstance(request, Mapping) else {}
        error = raw.get("error")
        self.error: Mapping[str, Any] = error if isinstance(error, Mapping) else {}

    @cached_property
    def items(self) -> list[Item]:
        return items(self.body)

    @cached_property
    def instructions(self) -> str:
        return instructions(self.body)

    @cached_property
    def chain(self) -> list[bytes]:
        """`chain[i]` identifies the first i + 1 items."""
        made, state = [], b""
        for item in self.items:
            state = blake2b(state + item.digest, digest_size=16).digest()
            made.append(state)
        return made

    @property
    def whole(self) -> bytes:
        """Identifies the conversation that was sent (without instructions and settings)."""
        return self.chain[-1] if self.chain else b""

    @cached_property
    def same(self) -> bytes:
        """Identifies the request: its body, and the headers that change what the provider makes of it."""
        headers = self.raw.get("headers")
        betas = headers.get("anthropic-beta") if isinstance(headers, Mapping) else None
        return digest([{key: value for key, value in self.body.items() if key != "metadata"}, betas])

    @property
    def overflowed(self) -> bool:
        """Refused because it was too large."""
        by_kind = self.error.get("kind") in OVERFLOW
        return self.status != 200 and (by_kind or self.raw.get("answered_by") == "overflow" or self.status == 413)

    @property
    def cut(self) -> bool:
        """A stream that began with 200 and never got its end; a client that left does not count."""
        if self.status != 200 or self.raw.get("ended") == "client_gone":
            return False
        return self.raw.get("ended") == "cut" or bool(self.faults & CUT)

    @property
    def answered(self) -> bool:
        """A whole answer left for the client."""
        return self.status == 200 and not self.cut and not self.faults & SPOILT

    @property
    def may_be_retried(self) -> bool:
        return self.cut or self.status in RETRYABLE or self.status is None or bool(self.faults & SPOILT)

    @property
    def max_tokens(self) -> int | None:
        value = next(
            (self.body[k] for k in ("max_tokens", "max_output_tokens", "max_completion_tokens") if k in self.body), None
        )
        return value if isinstance(value, int) else None


class Link(msgspec.Struct, frozen=True):
    """The call that another one continues, and how: `resends` has the same conversation, `after_summary` came after a
    compaction, `rewrites` shares most of it, but not from the start."""

    before: Seen
    how: How


class Journal:
    """The generation calls of a journal in order; `main` are those of the client's own conversations."""

    def __init__(self, exchanges: Sequence[Mapping[str, Any]], report: Mapping[str, Any] | None) -> None:
        self.report = report
        self.everything = list(exchanges)
        self.calls = [Seen(raw) for raw in exchanges if is_call(raw)]
        self.main = [call for call in self.calls if call.kind in ("main", None)]

    def later(self, call: Seen) -> Iterator[Seen]:
        """Main calls of the same account that came after this one."""
        return (other for other in self.main if other.n > call.n and other.key == call.key)

    def attempts(self) -> list[list[Seen]]:
        """Calls that sent the same conversation, by account and kind, in order: groups of two and more."""
        groups: dict[tuple[str, str | None, bytes], list[Seen]] = {}
        for call in self.calls:
            groups.setdefault((call.key, call.kind, call.whole), []).append(call)
        return [group for group in groups.values() if len(group) > 1 and group[0].items]

    @cached_property
    def links(self) -> dict[int, Link]:
        """For each main call by `n` the call that it continues; a call that begins a conversation has none."""
        made: dict[int, Link] = {}
        ends: dict[tuple[str, bytes], Seen] = {}
        past: dict[str, list[Seen]] = {}
        summaries: dict[str, Seen] = {}
        for call in self.calls:
            if call.kind == "summary":
                summaries[call.key] = call
            if call.kind not in ("main", None) or not call.items:
                continue
            earlier = past.setdefault(call.key, [])
            link = (
                _by_prefix(call, ends)
                or _after_summary(call, earlier, summaries.get(call.key))
                or _loosely(call, earlier)
            )
            if link is not None:
                made[call.n] = link
            ends[(call.key, call.whole)] = call
            earlier.append(call)
        return made

    def compacted(self, before: Seen, after: Seen) -> bool:
        """Whether something between the two calls is a good reason for another prompt: a summary, a refused size."""
        between = [call for call in self.calls if before.n <= call.n < after.n and call.key == after.key]
        return any(call.kind == "summary" or call.overflowed for call in between)

    def another_agent(self, before: Seen, after: Seen) -> bool:
        """Whether two calls that begin alike have prompts of two agents: unlike each other, and one of them is also
        used on the other side (the earlier one comes back, or the later one was there before)."""
        old, new = before.instructions, after.instructions
        if not old.strip() or not new.strip() or SequenceMatcher(None, old[:4000], new[:4000]).ratio() >= _UNLIKE:
            return False
        same = [call for call in self.main if call.key == after.key]
        back = any(call.n > after.n and call.instructions == old for call in same)
        return back or any(call.n < before.n and call.instructions == new for call in same)


def is_call(raw: Mapping[str, Any]) -> bool:
    """A request for an answer: not token counting, not a list of models."""
    return str(raw.get("path") or "").split("?")[0].endswith(GENERATION) and isinstance(raw.get("n"), int)


def _by_prefix(call: Seen, ends: Mapping[tuple[str, bytes], Seen]) -> Link | None:
    for length in range(len(call.chain), 0, -1):
        before = ends.get((call.key, call.chain[length - 1]))
        if before is not None:
            return Link(before, "resends" if length == len(call.chain) else "extends")
    return None


def _after_summary(call: Seen, earlier: Sequence[Seen], summary: Seen | None) -> Link | None:
    """The first call after a summary continues the conversation that was summarised."""
    if summary is None or not earlier or earlier[-1].n > summary.n:
        return None
    held = {item.digest for item in summary.items}
    return next((Link(old, "after_summary") for old in reversed(earlier) if old.items[0].digest in held), None)


def _loosely(call: Seen, earlier: Sequence[Seen]) -> Link | None:
    """A conversation whose beginning was changed: most items are still there, or its first message is alike."""
    now = {item.digest for item in call.items}
    for old in reversed(earlier[-_LOOSE:]):
        kept = sum(item.digest in now for item in old.items)
        if kept and 2 * kept >= len(old.items):
            return Link(old, "rewrites")
        if len(call.items) > len(old.items) and _alike(old.items[0].text, call.items[0].text):
            return Link(old, "rewrites")
    return None


def _alike(a: str, b: str) -> bool:
    """Half of the shorter text stands at the start or the end of the other."""
    short = min(len(a), len(b))
    same = _common(a, b) + _common(a[::-1], b[::-1])
    return short > 20 and 2 * min(same, short) >= short


def _common(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def numbers(calls: Sequence[Seen]) -> str:
    """`request 3`, `requests 3, 4 and 7`."""
    listed = [str(call.n) for call in calls]
    if len(listed) == 1:
        return f"request {listed[0]}"
    return f"requests {', '.join(listed[:-1])} and {listed[-1]}"
