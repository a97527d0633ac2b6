"""OpenAI's two cache regimes, rule by rule, and each against a naive model of its own."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.core.account_file import CacheRules
from simulators.core.cache_regimes import Caches
from simulators.core.prompt_cache import Lookup
from simulators.core.turn import Block, CacheAsk, ModelCall, ModelInfo

MODEL = ModelInfo(id="gpt-x", provider="openai", context_window=1_000_000, max_output=1)
OTHER = msgspec.structs.replace(MODEL, id="gpt-y")
AUTO = CacheAsk(regime="automatic", step=128, longest=3600.0)
MARKED = CacheAsk(regime="breakpoints")
Piece = tuple[str, int, bool]  # name, tokens, an explicit breakpoint ends here


def piece(name: str, tokens: int, *, mark: bool = False) -> Piece:
    return name, tokens, mark


class Play:
    """One account's caches; requests come as pieces."""

    def __init__(self, **rules: Any) -> None:
        self.caches, self.n = Caches(CacheRules(**rules)), 0

    def look(self, ask: CacheAsk, *pieces: Piece, at: float = 0.0, model: ModelInfo = MODEL) -> Lookup:
        blocks = tuple(
            Block(level="messages", path=f"input[{i}]", kind="text", digest=name.encode(), text=name,
            opens_message=True, ttl=ask.ttl if mark else None)
            for i, (name, _, mark) in enumerate(pieces)
        )  # fmt: skip
        call = ModelCall(dialect="openai-responses", operation="generate", model=model.id, blocks=blocks, cache=ask)
        return self.caches.look(call, [tokens for _, tokens, _ in pieces], model, at)

    def send(self, ask: CacheAsk, *pieces: Piece, at: float = 0.0, model: ModelInfo = MODEL) -> Lookup:
        found = self.look(ask, *pieces, at=at, model=model)
        self.n += 1
        self.caches.accept(found, self.n)
        self.caches.begin(found)
        return found

    def why(self, ask: CacheAsk, *pieces: Piece, at: float = 0.0, model: ModelInfo = MODEL) -> tuple[str, str | None]:
        miss = self.caches.explain(self.look(ask, *pieces, at=at, model=model))
        return (miss["why"].partition(":")[0], miss["vendor_reason"]) if miss else ("", None)


def figures(found: Lookup) -> tuple[int, int, int]:
    """Read, written, ordinary."""
    return found.read, found.write_5m + found.write_1h, found.input


class TestAutomatic:
    def test_reads_come_in_steps_of_128_and_writing_is_free(self) -> None:
        play = Play()
        assert figures(play.send(AUTO, piece("a", 1000), piece("b", 500))) == (0, 0, 1500)
        assert figures(play.send(AUTO, piece("a", 1000), piece("b", 500), piece("c", 300))) == (1408, 0, 392)

    @pytest.mark.parametrize(("tokens", "read"), [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152)])
    def test_nothing_below_1024(self, tokens: int, read: int) -> None:
        play = Play()
        play.send(AUTO, piece("a", tokens))
        assert play.look(AUTO, piece("a", tokens), piece("b", 9)).read == read

    def test_in_memory_lives_five_minutes_after_its_last_use_and_an_hour_at_most(self) -> None:
        play = Play()
        for at in range(0, 3600, 250):
            play.send(AUTO, piece("a", 2000), at=at)
        assert play.look(AUTO, piece("a", 2000), at=3599).read == 1920
        assert play.look(AUTO, piece("a", 2000), at=3600).read == 0
        play.send(AUTO, piece("b", 2000), at=5000)
        assert play.look(AUTO, piece("b", 2000), at=5299).read == 1920
        assert play.look(AUTO, piece("b", 2000), at=5300).read == 0

    def test_a_days_retention(self) -> None:
        day = msgspec.structs.replace(AUTO, lifetime=86_400.0, longest=float("inf"))
        play = Play()
        play.send(day, piece("a", 2000))
        assert play.look(day, piece("a", 2000), at=86_399).read == 1920

    def test_another_key_is_another_machine(self) -> None:
        play = Play()
        one, two = (msgspec.structs.replace(AUTO, key=key) for key in ("one", "two"))
        play.send(one, piece("a", 2000))
        assert play.look(two, piece("a", 2000)).read == 0
        assert play.why(two, piece("a", 2000)) == ("prompt cache key changed", "prompt_cache_key_changed")

    def test_too_many_requests_overflow_to_a_cold_machine(self) -> None:
        play = Play(overflow_rpm=2)
        reads = [play.send(AUTO, piece("a", 2000), at=at).read for at in range(5)]
        assert reads == [0, 1920, 0, 1920, 0]
        assert Play().send(AUTO, piece("a", 2000)).read == 0


class TestBreakpoints:
    def test_the_implicit_one_stands_at_the_end_and_costs_a_write(self) -> None:
        play = Play()
        assert figures(play.send(MARKED, piece("a", 1100))) == (0, 1100, 0)
        assert figures(play.send(MARKED, piece("a", 1100), piece("b", 333))) == (1100, 333, 0)

    def test_exact_at_the_breakpoint(self) -> None:
        """The recorded request: 4,012 of 4,020 tokens stand before an explicit breakpoint."""
        play, ask = Play(), msgspec.structs.replace(MARKED, implicit=False)
        prompt = piece("catalogue", 4012, mark=True), piece("Reply", 8)
        assert figures(play.send(ask, *prompt)) == (0, 4012, 8)
        assert figures(play.send(ask, *prompt)) == (4012, 0, 8)

    def test_explicit_mode_without_a_breakpoint_caches_nothing(self) -> None:
        play, ask = Play(), msgspec.structs.replace(MARKED, implicit=False)
        play.send(MARKED, piece("a", 5000))
        assert figures(play.look(ask, piece("a", 5000))) == (0, 0, 5000)

    @pytest.mark.parametrize(("implicit", "written"), [(True, 3), (False, 4)])
    def test_the_latest_three_beside_the_implicit_one_or_four(self, implicit: bool, written: int) -> None:
        ask = msgspec.structs.replace(MARKED, implicit=implicit)
        pieces = [piece(str(i), 2000, mark=True) for i in range(6)]
        found = Play().look(ask, *pieces, piece("end", 10))
        assert [at for at, _ in found.writes] == [*range(6 - written, 6), *([6] if implicit else [])]

    def test_there_is_no_look_back_in_blocks(self) -> None:
        play = Play()
        play.send(MARKED, piece("a", 2000))
        many = [piece(f"x{i}", 10) for i in range(200)]
        assert play.look(MARKED, piece("a", 2000), *many).read == 2000

    def test_of_the_breakpoints_the_latest_80_are_looked_at(self) -> None:
        play = Play()
        history = [piece("0", 2000)]
        play.send(msgspec.structs.replace(MARKED, ttl="12h"), *history)
        for i in range(1, 81):
            history.append(piece(str(i), 5))
            play.send(MARKED, *history)
        later = 1801.0  # the short ones are gone, the long one is not
        assert play.look(MARKED, *history[:80], at=later).read == 2000
        assert play.look(MARKED, *history, at=later).read == 0

    @pytest.mark.parametrize(("ttl", "seconds"), [("30m", 1800), ("12h", 43_200)])
    def test_lifetimes_begin_anew_with_each_use(self, ttl: Any, seconds: int) -> None:
        play, ask = Play(), msgspec.structs.replace(MARKED, ttl=ttl)
        play.send(ask, piece("a", 2000))
        play.send(ask, piece("a", 2000), at=seconds - 1)
        assert play.look(ask, piece("a", 2000), at=2 * seconds - 2).read == 2000
        assert play.look(ask, piece("a", 2000), at=2 * seconds - 1).read == 0

    def test_long_writes_are_told_from_short_ones(self) -> None:
        found = Play().look(msgspec.structs.replace(MARKED, ttl="12h"), piece("a", 2000))
        assert (found.write_5m, found.write_1h) == (0, 2000)


class TestExplanations:
    CASES: tuple[tuple[dict[str, Any], tuple[str, str]], ...] = (
        ({"depends": (("reasoning_effort", "low"),)}, ("reasoning effort changed", "reasoning_effort_changed")),
        ({"depends": (("verbosity", "low"),)}, ("verbosity changed", "verbosity_changed")),
        ({"depends": (("text_format", "x"),)}, ("text format changed", "text_format_changed")),
        ({"depends": (("service_tier", "flex"),)}, ("service tier changed", "service_tier_changed")),
    )

    @pytest.mark.parametrize("ask", [AUTO, MARKED], ids=["automatic", "breakpoints"])
    @pytest.mark.parametrize(("change", "said"), CASES)
    def test_settings(self, ask: CacheAsk, change: dict[str, Any], said: tuple[str, str]) -> None:
        play = Play()
        play.send(ask, piece("a", 2000), piece("b", 500))
        assert play.why(msgspec.structs.replace(ask, **change), piece("a", 2000), piece("b", 500)) == said

    @pytest.mark.parametrize("ask", [AUTO, MARKED], ids=["automatic", "breakpoints"])
    def test_contents_models_and_time(self, ask: CacheAsk) -> None:
        play = Play()
        play.send(ask, piece("a", 1200), piece("b", 1200), piece("c", 100))
        longer = piece("a", 1200), piece("b", 1200), piece("c", 100), piece("d", 9)
        assert play.why(ask, *longer) == ("", None)
        changed = piece("a", 1200), piece("B", 1200), piece("c", 100), piece("d", 9)
        assert play.why(ask, *changed)[1] == "input_changed"
        assert play.why(ask, *longer, model=OTHER) == ("model changed", "model_changed")
        assert play.why(ask, *longer, at=100_000) == ("expired", None)


class Naive:
    """The cache as one flat table: (model, key, settings, names of a prefix) → born, last use, lifetime."""

    def __init__(self) -> None:
        self.table: dict[tuple[Any, ...], list[float]] = {}

    def alive(self, key: tuple[Any, ...], now: float, longest: float) -> bool:
        if key not in self.table:
            return False
        born, used, lifetime = self.table[key]
        return now < used + lifetime and now < born + longest

    def automatic(self, ask: CacheAsk, pieces: Sequence[Piece], model: str, now: float) -> int:
        read = 0
        for end in range(1, len(pieces) + 1):
            tokens = sum(size for _, size, _ in pieces[:end])
            key = (model, ask.key, ask.depends, tuple(name for name, _, _ in pieces[:end]))
            if tokens < 1024:
                continue
            if self.alive(key, now, ask.longest):
                read = max(read, tokens // 128 * 128)
                self.table[key] = [self.table[key][0], now, ask.lifetime]
            else:
                self.table[key] = [now, now, ask.lifetime]
        return read

    def breakpoints(self, ask: CacheAsk, pieces: Sequence[Piece], model: str, now: float) -> tuple[int, int]:
        marks = [at for at, (_, _, mark) in enumerate(pieces) if mark]
        marks = sorted({*marks[-3:], len(pieces) - 1}) if ask.implicit else marks[-4:]
        if not marks:
            return 0, 0

        def key(at: int) -> tuple[Any, ...]:
            return (model, ask.key, ask.depends, tuple(name for name, _, _ in pieces[: at + 1]))

        known = [at for at in range(len(pieces)) if key(at) in self.table][-80:]
        hit = max((at for at in known if self.alive(key(at), now, float("inf"))), default=-1)
        sizes = [sum(size for _, size, _ in pieces[: at + 1]) for at in range(len(pieces))]
        read = sizes[hit] if hit >= 0 else 0
        if hit >= 0:
            self.table[key(hit)][1] = now
        written = [at for at in marks if at > hit and sizes[at] >= 1024]
        for at in written:
            self.table[key(at)] = [now, now, 43_200.0 if ask.ttl == "12h" else 1800.0]
        return read, (sizes[written[-1]] - read if written else 0)


NAMES = st.sampled_from("abcd")
SIZES = {"a": 700, "b": 400, "c": 129, "d": 1500}
STEPS = st.lists(
    st.tuples(
        st.integers(0, 6),  # how much of the last prompt is kept
        st.lists(st.tuples(NAMES, st.booleans()), max_size=4),  # what follows it
        st.sampled_from([0, 1, 200, 299, 301, 1700, 1801, 3000]),  # seconds that pass
        st.sampled_from([None, "k"]),
        st.sampled_from([MODEL, OTHER]),
        st.sampled_from(["low", ""]),
        st.booleans(),
        st.sampled_from(["30m", "12h"]),
    ),
    min_size=2,
    max_size=12,
)


@pytest.mark.parametrize("regime", ["automatic", "breakpoints"])
@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_each_regime_agrees_with_a_naive_model(regime: Any, steps: list[Any]) -> None:
    play, naive, now = Play(), Naive(), 0.0
    last: list[Piece] = []
    for kept, added, passed, key, model, effort, implicit, ttl in steps:
        now += passed
        last = [*last[:kept], *(piece(name, SIZES[name], mark=mark) for name, mark in added)] or [piece("a", 700)]
        depends = (("reasoning_effort", effort),) if effort else ()
        base = AUTO if regime == "automatic" else MARKED
        ask = msgspec.structs.replace(base, key=key, depends=depends, implicit=implicit, ttl=ttl)
        found = play.send(ask, *last, at=now, model=model)
        total = sum(size for _, size, _ in last)
        assert found.read + found.write_5m + found.write_1h + found.input == total
        assert found.ideal >= found.read
        if regime == "automatic":
            assert figures(found)[:2] == (naive.automatic(ask, last, model.id, now), 0)
        else:
            assert figures(found)[:2] == naive.breakpoints(ask, last, model.id, now)
