"""The prompt cache: breakpoints, look-back, lifetimes, and the arithmetic of usage.

The rules are those of Anthropic's documentation (prompt caching, November 2026). Prefixes live in a tree of block
digests, one for each model; an entry hangs at the block where a breakpoint stood, under the settings that its level
depends on. The same tree tells the *ideal read*: how much a perfect cache would have given.

A request goes through three steps: `look` (changes nothing), `accept` (it will be answered with 200: from now on later
requests are compared with it) and `begin` (the first frame leaves: what it wrote can be read, what it read lives on).
"""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from simulators.core.account_file import CacheRules
from simulators.core.turn import Block, CallKind, ModelCall, ModelInfo, Ttl

SECONDS: dict[Ttl | None, float] = {"5m": 300.0, "1h": 3600.0, None: 300.0}
# Blocks that no breakpoint can stand on; they are cached inside a later prefix all the same.
UNMARKABLE = frozenset({"thinking", "redacted_thinking"})
_RUNS = frozenset({"tool_use", "tool_result"})
_REMEMBERED = 32  # earlier requests that a miss is explained by
_PRUNE_AT = 100_000  # blocks in the tree


class Entry:
    """A written prefix: readable until `expires`; reading it moves that by its own `ttl`."""

    __slots__ = ("expires", "ttl")

    def __init__(self, expires: float, ttl: float) -> None:
        self.expires, self.ttl = expires, ttl


class Node:
    """One block after a certain prefix."""

    __slots__ = ("children", "entries", "ideal_until", "seen")

    def __init__(self) -> None:
        self.children: dict[bytes, Node] = {}
        self.entries: dict[Any, Entry] | None = None
        self.ideal_until = 0.0
        self.seen: Remembered | None = None


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier request, as far as it explains a later miss. `cached` tokens ended with block `cached_end`."""

    n: int
    at: float
    model: str
    kind: CallKind
    blocks: Sequence[Block]
    settings: Mapping[str, str]
    ends: Sequence[int]  # tokens up to and including each block
    cached: int
    cached_end: int  # -1: nothing
    ttl: float  # of the last breakpoint
    begun: list[bool]  # whether its answer has begun; shared with its `Lookup`


class Lookup(msgspec.Struct, kw_only=True):
    """What the cache says to one request. `read` + `write_5m` + `write_1h` + `input` are the whole prompt."""

    call: ModelCall
    model: ModelInfo
    now: float
    ends: Sequence[int]
    marks: Sequence[tuple[int, Ttl]]
    hit: int = -1  # index of the block at which the entry was found
    entry: Entry | None = None
    writes: Sequence[tuple[int, Ttl]] = ()
    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    input: int = 0
    ideal: int = 0
    known: int = 0  # leading blocks that some earlier request had too
    seen: Remembered | None = None  # the latest request that had all of those
    path: Sequence[Node] = ()
    begun: list[bool] = []


class PromptCache:
    """The cache of one account."""

    def __init__(self, rules: CacheRules, *, prune_at: int = _PRUNE_AT) -> None:
        self.rules = rules
        self.recent: deque[Remembered] = deque(maxlen=_REMEMBERED)
        self._roots: dict[str, Node] = {}
        self.size = 0  # blocks in the tree
        self._prune_at = self._prune_from = prune_at

    def look(self, call: ModelCall, counts: Sequence[int], model: ModelInfo, now: float) -> Lookup:
        """What this request would read and write at `now`, the start of the request. Changes nothing."""
        ends = list(accumulate(counts))
        found = Lookup(call=call, model=model, now=now, ends=ends, marks=marks_of(call))
        path = self._walk(call, model, found)
        total = ends[-1] if ends else 0
        if not self.rules.enabled or not found.marks:
            found.input = total
            return found
        self._search(found, path, _settings_keys(call.settings))
        minimum = model.min_cacheable_tokens
        found.writes = [(at, ttl) for at, ttl in found.marks if at > found.hit and ends[at] >= minimum]
        read = ends[found.hit] if found.hit >= 0 else 0
        last = ends[found.writes[-1][0]] if found.writes else read
        long = max((ends[at] for at, ttl in found.writes if ttl == "1h"), default=read)
        found.read, found.write_1h, found.write_5m, found.input = read, long - read, last - long, total - last
        found.ideal = max(found.ideal, read)  # slack can let an entry outlive the ideal
        return found

    def accept(self, found: Lookup, n: int) -> None:
        """The request is answered with 200: the requests after it are compared with it."""
        call, blocks = found.call, found.call.blocks
        end = found.writes[-1][0] if found.writes else found.hit
        found.begun = [False]
        seen = Remembered(
            n=n, at=found.now, model=found.model.id, kind=call.kind, blocks=blocks, settings=call.settings,
            ends=found.ends, cached=found.ends[end] if end >= 0 else 0, cached_end=end,
            ttl=SECONDS[found.marks[-1][1] if found.marks else None], begun=found.begun,
        )  # fmt: skip
        self.recent.append(seen)
        node = self._roots.get(found.model.id)
        if node is None:
            node = self._roots[found.model.id] = Node()
        path, until = [], self._lifetimes(found)
        for i, block in enumerate(blocks):
            child = node.children.get(block.digest)
            if child is None:
                child = node.children[block.digest] = Node()
                self.size += 1
            node = child
            if until[i] > node.ideal_until:
                node.ideal_until = until[i]
            node.seen = seen
            path.append(node)
        found.path = path
        if self.size > self._prune_at:
            self._prune(found.now)

    def begin(self, found: Lookup) -> None:
        """The first frame of the answer leaves: entries become readable, the one that was read is refreshed.

        Lifetimes count from the start of the request, so that a long answer leaves less of them.
        """
        if found.begun:
            found.begun[0] = True
        if found.entry is not None:
            found.entry.expires = max(found.entry.expires, found.now + found.entry.ttl + self.rules.expiry_slack)
        if not found.writes:
            return
        keys, blocks = _settings_keys(found.call.settings), found.call.blocks
        for at, ttl in found.writes:
            node, lifetime = found.path[at], SECONDS[ttl]
            if node.entries is None:
                node.entries = {}
            node.entries[keys[blocks[at].level]] = Entry(found.now + lifetime + self.rules.expiry_slack, lifetime)

    def live_entries(self, now: float) -> int:
        """How many entries could be read at `now`."""
        count, stack = 0, list(self._roots.values())
        while stack:
            node = stack.pop()
            stack += node.children.values()
            count += sum(now < entry.expires for entry in (node.entries or {}).values())
        return count

    def _walk(self, call: ModelCall, model: ModelInfo, found: Lookup) -> list[Node]:
        """The nodes of the blocks that are known, and what a perfect cache would read of them."""
        path: list[Node] = []
        node = self._roots.get(model.id)
        if node is None:
            return path
        ideal_end, now = -1, found.now
        for i, block in enumerate(call.blocks):
            node = node.children.get(block.digest)
            if node is None:
                break
            path.append(node)
            if now < node.ideal_until:
                ideal_end = i
        if path:
            found.known, found.seen = len(path), path[-1].seen
        if ideal_end >= 0 and found.ends[ideal_end] >= model.min_cacheable_tokens:
            found.ideal = found.ends[ideal_end]
        return path

    def _search(self, found: Lookup, path: Sequence[Node], keys: Mapping[str, Any]) -> None:
        """From the last breakpoint backwards, up to `lookback` positions each, the first live entry."""
        blocks, now = found.call.blocks, found.now
        for mark, _ in reversed(found.marks):
            for at in positions(blocks, mark, self.rules):
                if at >= len(path):
                    continue
                entries = path[at].entries
                entry = entries.get(keys[blocks[at].level]) if entries else None
                if entry is not None and now < entry.expires:
                    found.hit, found.entry = at, entry
                    return

    def _lifetimes(self, found: Lookup) -> list[float]:
        """Until when a perfect cache would hold each block: the longest TTL asked for at it or after it."""
        until = [found.now + SECONDS[None]] * len(found.ends)
        last_long = max((at for at, ttl in found.marks if ttl == "1h"), default=-1)
        if found.entry is not None and found.entry.ttl == SECONDS["1h"]:
            last_long = max(last_long, found.hit)  # a short breakpoint that reads a long entry keeps it long
        until[: last_long + 1] = [found.now + SECONDS["1h"]] * (last_long + 1)
        return until

    def _prune(self, now: float) -> None:
        """Forget prefixes that nothing can be read from any more."""
        self.size = 0
        stack = list(self._roots.values())
        while stack:
            node = stack.pop()
            dead = [
                digest for digest, child in node.children.items() if child.ideal_until <= now and _lapsed(child, now)
            ]
            for digest in dead:
                del node.children[digest]
            self.size += len(node.children)
            stack += node.children.values()
        self._prune_at = max(self._prune_from, 2 * self.size)


def _lapsed(node: Node, now: float) -> bool:
    """No entry at this node or below lives; entries end no later than the ideal, slack apart."""
    stack = [node]
    while stack:
        node = stack.pop()
        if any(now < entry.expires for entry in (node.entries or {}).values()):
            return False
        stack += node.children.values()
    return True


def marks_of(call: ModelCall) -> list[tuple[int, Ttl]]:
    """Where the breakpoints stand, in order. The automatic one goes to the last block that can carry one."""
    blocks = call.blocks
    marks = [(i, block.ttl) for i, block in enumerate(blocks) if block.ttl is not None]
    if call.automatic_breakpoint is not None:
        for i in range(len(blocks) - 1, -1, -1):
            block = blocks[i]
            if block.kind not in UNMARKABLE and (block.kind != "text" or block.text):
                if block.ttl is None:
                    marks = sorted([*marks, (i, call.automatic_breakpoint)])
                break
    return marks


def positions(blocks: Sequence[Block], mark: int, rules: CacheRules) -> list[int]:
    """The blocks that a breakpoint looks at: itself and back, a run of tool calls or results taking one position."""
    seen, used, at, run = [], 0, mark, ""
    while at >= 0:
        kind = blocks[at].kind
        same = rules.runs_count_as_one and kind in _RUNS and kind == run
        if not same:
            if used == rules.lookback:
                break
            used += 1
        seen.append(at)
        run, at = kind, at - 1
    return seen


def _settings_keys(settings: Mapping[str, str]) -> dict[str, Any]:
    """What an entry of each level depends on besides its blocks: the settings of its level and of those before it."""
    if not settings:
        return _PLAIN
    tools, system, messages = settings.get("tools"), settings.get("system"), settings.get("messages")
    return {"tools": (tools,), "system": (tools, system), "messages": (tools, system, messages)}


_PLAIN: dict[str, Any] = {"tools": (None,), "system": (None, None), "messages": (None, None, None)}
