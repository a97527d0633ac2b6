"""Prompt caches that need no marks, or other marks than `cache_control`: the regimes of OpenAI and its like.

`automatic` (models up to GPT-5.5, compatible servers): every prefix is kept and read in steps. `breakpoints` (GPT-5.6
and later): prefixes end at an implicit mark and at explicit ones, writes are paid for. `Caches` chooses by what the
call asks and has the three steps of `prompt_cache`: `look`, `accept`, `begin`.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from simulators.core import cache_miss
from simulators.core.account_file import CacheRules
from simulators.core.prompt_cache import Lookup, PromptCache, Remembered
from simulators.core.turn import CacheAsk, ModelCall, ModelInfo, Ttl

SECONDS: dict[Ttl, float] = {"5m": 300.0, "1h": 3600.0, "30m": 1800.0, "12h": 43200.0}
MATCHED = 80  # breakpoints of a conversation that are looked at, the latest first
IMPLICIT_AND, EXPLICIT = 3, 4  # explicit marks that are written beside the implicit one, and without it
_ROUTED = 256  # leading tokens by which requests are routed
_MINUTE = 60.0
_UNMARKABLE = frozenset({"thinking"})
_REMEMBERED = 32
_PRUNE_AT = 100_000

Key = tuple[Any, ...]


class _Entry:
    """A prefix that can be read until `expires`; `born` when it was first written."""

    __slots__ = ("born", "expires", "lifetime")

    def __init__(self, born: float, lifetime: float, expires: float) -> None:
        self.born, self.lifetime, self.expires = born, lifetime, expires


class _Node:
    """One block after a certain prefix."""

    __slots__ = ("children", "entries", "ideal_until", "seen")

    def __init__(self) -> None:
        self.children: dict[bytes, _Node] = {}
        self.entries: dict[Key, _Entry] = {}
        self.ideal_until = 0.0
        self.seen: Remembered | None = None


class _Found(Lookup, kw_only=True):
    """A `Lookup` with what this module needs besides: the key of its entries."""

    key: Key = ()


class RegimeCache:
    """The prefixes of one account under one regime."""

    def __init__(self, rules: CacheRules) -> None:
        self.rules = rules
        self.recent: deque[Remembered] = deque(maxlen=_REMEMBERED)
        self._roots: dict[str, _Node] = {}
        self._routed: dict[Key, deque[float]] = {}
        self._size, self._prune_at = 0, _PRUNE_AT

    def look(self, call: ModelCall, counts: Sequence[int], model: ModelInfo, now: float) -> Lookup:
        """What this request would read and write. Changes nothing."""
        ask = call.cache or CacheAsk(regime="none")
        ends = list(accumulate(counts))
        found = _Found(call=call, model=model, now=now, ends=ends, marks=_marks(call, ask))
        path = self._walk(found, ask)
        total = found.input = ends[-1] if ends else 0
        if not self.rules.enabled or ask.regime == "none" or not ends:
            return found
        found.key = (ask.key, ask.depends, self._machine(found, ask))
        if ask.regime == "automatic":
            self._search_all(found, path, ask)
            found.input = total - found.read
        elif found.marks:
            self._search_marks(found, path)
            found.writes = [(at, ttl) for at, ttl in found.marks if at > found.hit and ends[at] >= ask.minimum]
            written = (ends[found.writes[-1][0]] if found.writes else found.read) - found.read
            if ask.ttl == "12h":
                found.write_1h = written
            else:
                found.write_5m = written
            found.input = total - found.read - written
        found.ideal = max(found.ideal, found.read)
        return found

    def accept(self, found: Lookup, n: int) -> None:
        """The request is answered with 200: later ones are compared with it."""
        call, ask = found.call, found.call.cache or CacheAsk(regime="none")
        end = _last_kept(found, ask)
        found.begun = [False]
        seen = Remembered(
            n=n, at=found.now, model=found.model.id, kind=call.kind, blocks=call.blocks,
            settings=dict(ask.depends) | {"prompt_cache_key": ask.key or ""}, ends=found.ends,
            cached=_stepped(found.ends[end], ask) if end >= 0 else 0, cached_end=end, ttl=_lifetime(ask),
            begun=found.begun,
        )  # fmt: skip
        self.recent.append(seen)
        node = self._roots.setdefault(found.model.id, _Node())
        until, path = found.now + _lifetime(ask), []
        for block in call.blocks:
            child = node.children.get(block.digest)
            if child is None:
                child = node.children[block.digest] = _Node()
                self._size += 1
            node = child
            node.ideal_until = max(node.ideal_until, until)
            node.seen = seen
            path.append(node)
        found.path = path  # type: ignore[assignment]
        if self.rules.overflow_rpm is not None:
            self._routed.setdefault(self._route(found, ask), deque()).append(found.now)
        if self._size > self._prune_at:
            self._prune(found.now)

    def begin(self, found: Lookup) -> None:
        """The answer begins: what it wrote can be read, what it read lives on."""
        if found.begun:
            found.begun[0] = True
        ask = found.call.cache
        if ask is None or not isinstance(found, _Found) or not found.key or not self.rules.enabled:
            return
        lifetime = _lifetime(ask)
        if ask.regime == "automatic":
            for at, node in enumerate(found.path):
                if found.ends[at] >= ask.minimum:
                    self._keep(node, found, lifetime, ask.longest)
            return
        nodes: Any = found.path
        if found.hit >= 0 and (entry := nodes[found.hit].entries.get(found.key)) is not None:
            entry.expires = max(entry.expires, found.now + entry.lifetime + self.rules.expiry_slack)
        for at, _ in found.writes:
            self._keep(found.path[at], found, lifetime, float("inf"))

    def live_entries(self, now: float) -> int:
        """How many prefixes could be read at `now`."""
        count, stack = 0, list(self._roots.values())
        while stack:
            node = stack.pop()
            stack += node.children.values()
            count += sum(now < entry.expires for entry in node.entries.values())
        return count

    def _keep(self, node: Any, found: _Found, lifetime: float, longest: float) -> None:
        """Write an entry, or let it live on from now."""
        entry = node.entries.get(found.key)
        born = entry.born if entry is not None and found.now < entry.expires else found.now
        expires = min(found.now + lifetime, born + longest) + self.rules.expiry_slack
        node.entries[found.key] = _Entry(born, lifetime, expires)

    def _walk(self, found: _Found, ask: CacheAsk) -> list[_Node]:
        """The nodes of the blocks that are known; what a perfect cache would read of them."""
        path: list[_Node] = []
        node = self._roots.get(found.model.id)
        ideal = -1
        for at, block in enumerate(found.call.blocks if node is not None else ()):
            node = node.children.get(block.digest) if node is not None else None
            if node is None:
                break
            path.append(node)
            if found.now < node.ideal_until:
                ideal = at
        if path:
            found.known, found.seen = len(path), path[-1].seen
        if ideal >= 0 and found.ends[ideal] >= found.model.min_cacheable_tokens and ask.regime != "none":
            found.ideal = found.ends[ideal]
        return path

    def _search_all(self, found: _Found, path: Sequence[_Node], ask: CacheAsk) -> None:
        """The longest prefix that lives, in whole steps."""
        for at in range(len(path) - 1, -1, -1):
            entry = path[at].entries.get(found.key)
            if entry is not None and found.now < entry.expires:
                read = _stepped(found.ends[at], ask)
                if read >= ask.minimum:
                    found.hit, found.read = at, read
                return

    def _search_marks(self, found: _Found, path: Sequence[_Node]) -> None:
        """The longest prefix that ends at one of the latest breakpoints of the conversation and lives."""
        left = MATCHED
        for at in range(len(path) - 1, -1, -1):
            entry = path[at].entries.get(found.key)
            if entry is None:
                continue
            if found.now < entry.expires:
                found.hit, found.read = at, found.ends[at]
                return
            left -= 1
            if not left:
                return

    def _route(self, found: Lookup, ask: CacheAsk) -> Key:
        last = next((at for at, end in enumerate(found.ends) if end >= _ROUTED), len(found.ends) - 1)
        return (found.model.id, ask.key, b"".join(block.digest for block in found.call.blocks[: last + 1]))

    def _machine(self, found: Lookup, ask: CacheAsk) -> int:
        """The machine that a request is routed to: the next one for every `overflow_rpm` requests of a minute."""
        limit = self.rules.overflow_rpm
        if limit is None:
            return 0
        times = self._routed.get(self._route(found, ask), deque())
        while times and times[0] <= found.now - _MINUTE:
            times.popleft()
        return len(times) // limit

    def _prune(self, now: float) -> None:
        """Forget prefixes that nothing can be read from any more."""
        self._size = 0
        stack = list(self._roots.values())
        while stack:
            node = stack.pop()
            node.children = {
                digest: child
                for digest, child in node.children.items()
                if child.ideal_until > now or any(now < entry.expires for entry in child.entries.values())
            }
            self._size += len(node.children)
            stack += node.children.values()
        self._prune_at = max(_PRUNE_AT, 2 * self._size)


class Caches:
    """The prompt caches of one account; each call is served by the one that it asks for."""

    def __init__(self, rules: CacheRules) -> None:
        self.rules = rules
        self.marked = PromptCache(rules)
        self.regimes = {"automatic": RegimeCache(rules), "breakpoints": RegimeCache(rules), "none": RegimeCache(rules)}

    def look(self, call: ModelCall, counts: Sequence[int], model: ModelInfo, now: float) -> Lookup:
        """What this request would read and write. Changes nothing."""
        found = self._of(call).look(call, counts, model, now)
        if call.held and (held := found.ends[call.held - 1]) > found.read:
            found.read, found.hit, found.entry, found.writes = held, call.held - 1, None, ()
            found.write_5m = found.write_1h = 0
            found.input = found.ends[-1] - held
            found.ideal = max(found.ideal, held)
        return found

    def accept(self, found: Lookup, n: int) -> None:
        """The request is answered with 200."""
        self._of(found.call).accept(found, n)

    def begin(self, found: Lookup) -> None:
        """The first frame of the answer leaves."""
        self._of(found.call).begin(found)

    def explain(self, found: Lookup) -> Mapping[str, Any] | None:
        """Why it read less than it could have; None if it did not."""
        cache = self._of(found.call)
        if isinstance(cache, PromptCache):
            return cache_miss.explain(found, cache.recent, cache.rules)
        miss = cache_miss.explain_regime(found, cache.recent, cache.rules)
        tells = found.call.cache is None or found.call.cache.tells
        return miss if miss is None or tells else miss | {"vendor_reason": None}

    def live_entries(self, now: float) -> int:
        """How many entries could be read at `now`."""
        return self.marked.live_entries(now) + sum(cache.live_entries(now) for cache in self.regimes.values())

    def _of(self, call: ModelCall) -> "PromptCache | RegimeCache":
        return self.marked if call.cache is None else self.regimes[call.cache.regime]


def _marks(call: ModelCall, ask: CacheAsk) -> list[tuple[int, Ttl]]:
    """Where breakpoints stand, in order: the latest explicit ones, and the implicit one at the end."""
    if ask.regime != "breakpoints":
        return []
    marks = [(at, ask.ttl) for at, block in enumerate(call.blocks) if block.ttl is not None]
    if not ask.implicit:
        return marks[-EXPLICIT:]
    marks = marks[-IMPLICIT_AND:]
    for at in range(len(call.blocks) - 1, -1, -1):
        if call.blocks[at].kind not in _UNMARKABLE:
            return sorted({*marks, (at, ask.ttl)})
    return marks


def _lifetime(ask: CacheAsk) -> float:
    return SECONDS[ask.ttl] if ask.regime == "breakpoints" else ask.lifetime


def _stepped(tokens: int, ask: CacheAsk) -> int:
    return tokens - tokens % ask.step if ask.regime == "automatic" else tokens


def _last_kept(found: Lookup, ask: CacheAsk) -> int:
    """The last block that will be in the cache after this request, -1 if none is."""
    if ask.regime == "automatic":
        last = len(found.ends) - 1
        return last if last >= 0 and _stepped(found.ends[last], ask) >= ask.minimum else -1
    return found.writes[-1][0] if found.writes else found.hit
