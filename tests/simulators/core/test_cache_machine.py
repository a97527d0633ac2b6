"""The prompt cache under arbitrary interleavings, against a second model that knows nothing of its trees.

Conversations grow, are edited, fork, change settings; breakpoints move; time jumps; answers begin late, in any order,
or never. Whatever happens, the four figures are the naive model's, and they sum to the whole prompt.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from simulators.core.prompt_cache import Lookup
from simulators.core.turn import ModelInfo, Ttl
from tests.simulators.core.prompts import MODEL, OTHER, Piece, Play, figures, piece

MINIMUM = MODEL.min_cacheable_tokens
LIFE = {"5m": 300.0, "1h": 3600.0}
SIZES = st.sampled_from([10, 300, 900, 1100])
KINDS = st.sampled_from(["text", "text", "tool_use", "tool_result", "thinking"])
LEVELS = ("tools", "system", "messages")
Spec = tuple[str, str, str, int]  # name, level, kind, tokens


class Written:
    """A list of what was written: model, the whole prefix, the settings it depends on, until when, for how long."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def find(self, model: str, prefix: list[Spec], said: dict[str, str], now: float) -> dict[str, Any] | None:
        level = LEVELS.index(prefix[-1][1])
        depends = [said.get(name) for name in LEVELS[: level + 1]]
        for entry in self.entries:
            if (entry["model"], entry["prefix"], entry["depends"]) == (model, prefix, depends) and now < entry["until"]:
                return entry
        return None

    def write(self, model: str, prefix: list[Spec], said: dict[str, str], now: float, ttl: str) -> None:
        level = LEVELS.index(prefix[-1][1])
        depends = [said.get(name) for name in LEVELS[: level + 1]]
        known = {"model": model, "prefix": prefix, "depends": depends}
        self.entries = [e for e in self.entries if {k: e[k] for k in known} != known]
        self.entries.append({**known, "until": now + LIFE[ttl], "life": LIFE[ttl]})


class Asked:
    """One request to the naive model: what it read and will write, decided when it was asked."""

    def __init__(
        self, written: Written, model: str, prompt: list[Spec], marks: dict[int, str], said: dict[str, str], now: float
    ) -> None:
        self.model, self.prompt, self.said, self.now = model, prompt, said, now
        self.hit: dict[str, Any] | None = None
        at = -1
        for mark in sorted(marks, reverse=True):
            for place in self.window(mark):
                entry = written.find(model, prompt[: place + 1], said, now)
                if entry is not None:
                    at, self.hit = place, entry
                    break
            if self.hit is not None:
                break
        sizes = [tokens for *_, tokens in prompt]
        self.writes = {m: ttl for m, ttl in marks.items() if m > at and sum(sizes[: m + 1]) >= MINIMUM}
        read = sum(sizes[: at + 1])
        long = max((sum(sizes[: m + 1]) for m, ttl in self.writes.items() if ttl == "1h"), default=read)
        last = sum(sizes[: max(self.writes) + 1]) if self.writes else read
        self.figures = (read, long - read, last - long, sum(sizes) - last)

    def window(self, mark: int) -> list[int]:
        """Twenty positions back from a breakpoint; a run of tool calls, or of results, is one."""
        runs: list[list[int]] = []
        for place in range(mark, -1, -1):
            kind = self.prompt[place][2]
            if runs and kind in ("tool_use", "tool_result") and self.prompt[runs[-1][-1]][2] == kind:
                runs[-1].append(place)
            else:
                runs.append([place])
        return [place for run in runs[:20] for place in run]

    def begin(self, written: Written) -> None:
        if self.hit is not None and self.hit in written.entries:
            self.hit["until"] = max(self.hit["until"], self.now + self.hit["life"])
        for mark, ttl in self.writes.items():
            written.write(self.model, self.prompt[: mark + 1], self.said, self.now, ttl)


class CacheMachine(RuleBasedStateMachine):
    """Rules are what clients and time do; every request is put to both."""

    under_way = Bundle("under_way")

    @initialize()
    def start(self) -> None:
        self.play, self.written = Play(), Written()
        self.now, self.count = 0.0, 0
        self.prompt: list[Spec] = [("t", "tools", "tool", 700), ("s", "system", "text", 500)]
        self.marks: dict[int, str] = {1: "5m"}
        self.said: dict[str, str] = {}
        self.model: ModelInfo = MODEL

    def name(self) -> str:
        self.count += 1
        return str(self.count)

    @rule(sizes=st.lists(st.tuples(KINDS, SIZES), min_size=1, max_size=12), ttl=st.sampled_from(["5m", "1h", None]))
    def grow(self, sizes: list[tuple[str, int]], ttl: Ttl | None) -> None:
        """The conversation goes on, and the breakpoint at its end moves along."""
        self.prompt = self.prompt + [(self.name(), "messages", kind, size) for kind, size in sizes]
        last = max((i for i, spec in enumerate(self.prompt) if spec[2] != "thinking"), default=0)
        if ttl is not None:
            kept = sorted(self.marks)[:1]
            self.marks = {at: self.marks[at] for at in kept} | {last: ttl}

    @rule(place=st.integers(0, 60), size=SIZES)
    def edit(self, place: int, size: int) -> None:
        """Some block says something else."""
        at = place % len(self.prompt)
        name, level, kind, _ = self.prompt[at]
        self.prompt = [*self.prompt[:at], (f"{name}, edit {self.name()}", level, kind, size), *self.prompt[at + 1 :]]

    @rule(place=st.integers(1, 60))
    def go_back(self, place: int) -> None:
        """The end of the conversation is dropped."""
        self.prompt = self.prompt[: place % len(self.prompt) + 1]
        self.marks = {at: ttl for at, ttl in self.marks.items() if at < len(self.prompt)}

    @rule(places=st.lists(st.integers(0, 60), max_size=4), longs=st.integers(0, 4))
    def mark(self, places: list[int], longs: int) -> None:
        """Breakpoints stand elsewhere: up to four, one-hour ones first."""
        free = [i for i, spec in enumerate(self.prompt) if spec[2] != "thinking"] or [0]
        found = sorted({free[place % len(free)] for place in places})
        self.marks = {at: "1h" if i < longs else "5m" for i, at in enumerate(found)}

    @rule(level=st.sampled_from(["tools", "system", "messages"]), value=st.sampled_from(["", "x", "y"]))
    def set(self, level: str, value: str) -> None:
        self.said = {name: said for name, said in self.said.items() if name != level} | (
            {level: value} if value else {}
        )

    @rule()
    def other_model(self) -> None:
        self.model = OTHER if self.model is MODEL else MODEL

    @rule(seconds=st.sampled_from([0.5, 30.0, 299.5, 300.0, 301.0, 3600.0, 4000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(target=under_way)
    def ask(self) -> tuple[Lookup, Asked]:
        """A request whose answer will begin later, or never."""
        return self._asked()

    @rule()
    def ask_and_begin(self) -> None:
        self.begin(self._asked())

    @rule(
        kind=st.sampled_from(["text", "tool_use", "tool_result"]),
        blocks=st.sampled_from([1, 2, 19, 20]),
        size=SIZES,
    )
    def turn(self, kind: str, blocks: int, size: int) -> None:
        """What most clients do: ask with the breakpoint at the end, and again with more."""
        for more in (0, blocks):
            self.prompt = self.prompt + [(self.name(), "messages", kind, size) for _ in range(more)]
            kept = sorted(at for at in self.marks if at < len(self.prompt) - 1)[:1]
            self.marks = {at: self.marks[at] for at in kept} | {len(self.prompt) - 1: "5m"}
            self.ask_and_begin()

    @rule(seconds=st.sampled_from([200.0, 299.0, 300.0, 3000.0, 3599.0, 3600.0]))
    def poll(self, seconds: float) -> None:
        """The same again and again, so that what is read lives on."""
        for _ in range(3):
            self.ask_and_begin()
            self.now += seconds

    @rule(tokens=st.sampled_from([MINIMUM - 1, MINIMUM]), long=st.booleans())
    def task(self, tokens: int, long: bool) -> None:
        """Another conversation, which just reaches the minimum or just does not."""
        self.prompt = [(self.name(), "system", "text", tokens)]
        self.marks = {0: "1h" if long else "5m"}
        self.ask_and_begin()
        self.ask_and_begin()

    def _asked(self) -> tuple[Lookup, Asked]:
        """A request is read, looked up and accepted by both."""
        pieces: list[Piece] = [
            piece(name, tokens, level=level, kind=kind, ttl=self.marks.get(i))  # type: ignore[arg-type]
            for i, (name, level, kind, tokens) in enumerate(self.prompt)
        ]
        found = self.play.accept(self.play.look(*pieces, at=self.now, model=self.model, **self.said))
        naive = Asked(self.written, self.model.id, self.prompt, self.marks, self.said, self.now)
        assert figures(found) == naive.figures
        assert sum(figures(found)) == sum(tokens for *_, tokens in self.prompt)
        assert min(figures(found)) >= 0
        assert found.read <= found.ideal
        return found, naive

    @rule(one=consumes(under_way))
    def begin_late(self, one: tuple[Lookup, Asked]) -> None:
        """An answer begins, maybe long after others that were asked later."""
        self.begin(one)

    def begin(self, one: tuple[Lookup, Asked]) -> None:
        found, naive = one
        self.play.cache.begin(found)
        naive.begin(self.written)

    @rule(one=consumes(under_way))
    def abort(self, one: tuple[Lookup, Asked]) -> None:
        """A client leaves before the first byte: nothing was written."""

    @invariant()
    def live_entries_agree(self) -> None:
        if hasattr(self, "written"):
            live = sum(self.now < entry["until"] for entry in self.written.entries)
            assert self.play.cache.live_entries(self.now) == live


CacheMachine.TestCase.settings = settings(
    max_examples=120, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCache = CacheMachine.TestCase


@pytest.mark.slow
class TestCacheAtLength(CacheMachine.TestCase):  # type: ignore[name-defined, misc]
    settings = settings(
        max_examples=1000, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
