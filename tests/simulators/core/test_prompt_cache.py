"""The prompt cache to the token: the documentation's worked examples, its rules one by one, and a naive model."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.core.account_file import CacheRules
from simulators.core.prompt_cache import marks_of, positions
from simulators.core.turn import ModelCall, Ttl
from tests.simulators.core.prompts import OTHER, Piece, Play, figures, piece

TOOLS = piece("tools", 800, level="tools")
SYSTEM_1H = piece("system", 700, level="system", ttl="1h")


def history(*names: str, ttl: Ttl | None = None) -> list[Piece]:
    """Blocks of 1,000 tokens, the breakpoint on the last."""
    return [piece(name, 1000, ttl=ttl if name == names[-1] else None) for name in names]


def first_request(**changes: Any) -> list[Piece]:
    """tools 800 | system 700 (1h) | history 4 × 1,000 (5m) | user 50."""
    return [TOOLS, SYSTEM_1H, *history("a", "b", "c", "d", ttl="5m"), piece("user", 50)]


def second_request(tools: Piece = TOOLS) -> list[Piece]:
    """The first one went on: its user turn and a reply are history now, and the 5m breakpoint is behind them."""
    return [
        tools, SYSTEM_1H, *history("a", "b", "c", "d"), piece("user", 50), piece("reply", 550, ttl="5m"),
        piece("next", 60),
    ]  # fmt: skip


class TestWorkedExamples:
    def test_cold(self) -> None:
        assert figures(Play().send(*first_request())) == (0, 1500, 4000, 50)

    def test_thirty_seconds_later_everything_up_to_the_breakpoint_is_read(self) -> None:
        play = Play()
        play.send(*first_request())
        assert figures(play.send(*second_request(), at=30)) == (5500, 0, 600, 60)

    def test_ten_minutes_later_only_the_hour_lives(self) -> None:
        play = Play()
        play.send(*first_request())
        assert figures(play.send(*second_request(), at=600)) == (1500, 0, 4600, 60)

    def test_a_changed_tool_choice_loses_the_messages(self) -> None:
        play = Play()
        play.send(*first_request())
        assert figures(play.send(*second_request(), at=30, messages="tool_choice=any")) == (1500, 0, 4600, 60)

    def test_a_changed_tool_loses_everything(self) -> None:
        play = Play()
        play.send(*first_request())
        changed = piece("tools, described anew", 800, level="tools")
        assert figures(play.send(*second_request(changed), at=30)) == (0, 1500, 4600, 60)

    def test_a_long_breakpoint_below_the_minimum_is_billed_as_the_next_one(self) -> None:
        tools = piece("tools", 800, level="tools", ttl="1h")
        system = piece("system", 700, level="system")
        found = Play().send(tools, system, *history("a", "b", "c", "d", ttl="5m"), piece("user", 50))
        assert figures(found) == (0, 0, 5500, 50)

    def test_a_prompt_below_the_minimum_is_plain_input(self) -> None:
        play = Play()
        assert figures(play.send(piece("all", 850, ttl="5m"))) == (0, 0, 0, 850)
        assert figures(play.send(piece("all", 850, ttl="5m"), at=1)) == (0, 0, 0, 850)

    def test_the_novel(self) -> None:
        play = Play()
        novel, question = piece("novel", 188_086, level="system", ttl="5m"), piece("who?", 21)
        assert figures(play.send(novel, question)) == (0, 0, 188_086, 21)
        assert figures(play.send(novel, question, at=1)) == (188_086, 0, 0, 21)

    def test_a_new_thinking_budget_writes_anew(self) -> None:
        play = Play()
        text = piece("text", 1370, ttl="5m")
        assert figures(play.send(text, piece("q", 17), messages="thinking=4000")) == (0, 0, 1370, 17)
        assert figures(play.send(text, piece("r", 303), at=1, messages="thinking=4000")) == (1370, 0, 0, 303)
        assert figures(play.send(text, piece("s", 747), at=2, messages="thinking=8000")) == (0, 0, 1370, 747)

    def test_look_back(self) -> None:
        """Written at 10; 15 finds it; 35 looks at 35…16 and misses 15; a second breakpoint there finds it."""
        play = Play()

        def prompt(length: int, *marks: int) -> list[Piece]:
            return [piece(str(i), 200, ttl="5m" if i in marks else None) for i in range(1, length + 1)]

        assert play.send(*prompt(10, 10)).write_5m == 2000
        assert figures(play.send(*prompt(15, 15), at=1)) == (2000, 0, 1000, 0)
        assert figures(play.look(*prompt(35, 35), at=2)) == (0, 0, 7000, 0)
        assert figures(play.look(*prompt(35, 15, 35), at=2)) == (3000, 0, 4000, 0)

    def test_tools_alone(self) -> None:
        play = Play()
        tools = piece("tools", 5120, level="tools", ttl="5m")
        assert figures(play.send(tools, piece("x", 8))) == (0, 0, 5120, 8)
        assert figures(play.send(tools, piece("y", 9), at=1)) == (5120, 0, 0, 9)


class TestLifetime:
    TEXT = piece("text", 2000, ttl="5m")

    @pytest.mark.parametrize(("at", "read"), [(299.9, 2000), (300, 0), (301, 0)])
    def test_an_entry_ends_exactly_at_its_ttl(self, at: float, read: int) -> None:
        play = Play()
        play.send(self.TEXT)
        assert play.look(self.TEXT, at=at).read == read

    def test_slack_lets_it_live_longer(self) -> None:
        play = Play(expiry_slack=10)
        play.send(self.TEXT)
        assert play.look(self.TEXT, at=309).read == 2000
        assert play.look(self.TEXT, at=310).read == 0

    def test_a_read_starts_the_clock_again(self) -> None:
        play = Play()
        play.send(self.TEXT)
        play.send(self.TEXT, at=200)
        assert play.look(self.TEXT, at=499).read == 2000

    def test_a_read_refreshes_that_entry_alone(self) -> None:
        play = Play()
        short, long = piece("a", 2000, ttl="5m"), piece("b", 2000, ttl="5m")
        play.send(short, long)
        play.send(piece("a", 2000), long, at=200)
        assert play.look(piece("a", 2000), long, at=400).read == 4000
        assert play.look(short, piece("other", 10), at=400).read == 0

    def test_a_five_minute_mark_that_reads_an_hours_entry_keeps_the_hour(self) -> None:
        play = Play()
        play.send(piece("text", 2000, ttl="1h"))
        assert figures(play.send(self.TEXT, at=600)) == (2000, 0, 0, 0)
        assert play.look(self.TEXT, at=600 + 3599).read == 2000

    def test_the_clock_starts_with_the_request_not_with_the_answer(self) -> None:
        play = Play()
        found = play.accept(play.look(self.TEXT, at=0))
        play.cache.begin(found)  # four minutes later, for all the cache knows
        assert play.look(self.TEXT, at=301).read == 0


class TestVisibility:
    def test_parallel_cold_requests_all_write(self) -> None:
        play = Play()
        text = piece("text", 2000, ttl="5m")
        one, two = play.accept(play.look(text)), play.accept(play.look(text))
        assert figures(one) == figures(two) == (0, 0, 2000, 0)
        play.cache.begin(one)
        assert play.look(text).read == 2000

    def test_an_answer_that_never_begins_writes_nothing(self) -> None:
        play = Play()
        play.accept(play.look(piece("text", 2000, ttl="5m")))
        assert play.look(piece("text", 2000, ttl="5m"), at=1).read == 0

    def test_models_share_nothing(self) -> None:
        play = Play()
        play.send(piece("text", 2000, ttl="5m"))
        assert play.look(piece("text", 2000, ttl="5m"), model=OTHER).read == 0

    def test_switched_off(self) -> None:
        play = Play(enabled=False)
        play.send(piece("text", 2000, ttl="5m"))
        assert figures(play.look(piece("text", 2000, ttl="5m"), at=1)) == (0, 0, 0, 2000)

    def test_live_entries_are_counted(self) -> None:
        play = Play()
        play.send(piece("a", 2000, ttl="1h"), piece("b", 2000, ttl="5m"))
        assert [play.cache.live_entries(at) for at in (0, 299, 300, 3600)] == [2, 2, 1, 0]


class TestSettings:
    PROMPT = (
        piece("tools", 2000, level="tools", ttl="5m"), piece("system", 2000, level="system", ttl="5m"),
        piece("user", 2000, ttl="5m"),
    )  # fmt: skip

    @pytest.mark.parametrize(("level", "read"), [("tools", 0), ("system", 2000), ("messages", 4000)])
    def test_a_setting_loses_its_level_and_those_after_it(self, level: str, read: int) -> None:
        play = Play()
        play.send(*self.PROMPT)
        assert play.look(*self.PROMPT, at=1, **{level: "changed"}).read == read
        assert play.look(*self.PROMPT, at=1).read == 6000


class TestMarks:
    def test_automatic_goes_to_the_last_block(self) -> None:
        play = Play()
        assert figures(play.send(piece("a", 2000), piece("b", 100), automatic="5m")) == (0, 0, 2100, 0)

    def test_automatic_walks_back_over_what_cannot_carry_it(self) -> None:
        found = Play().send(piece("a", 2000), piece("b", 100, kind="thinking"), piece("", 0), automatic="1h")
        assert figures(found) == (0, 2000, 0, 100)

    def test_automatic_on_a_marked_block_changes_nothing(self) -> None:
        blocks = (piece("a", 2000, ttl="5m")[0],)
        call = ModelCall(dialect="p", operation="generate", model="m", blocks=blocks, automatic_breakpoint="5m")
        assert marks_of(call) == [(0, "5m")]

    def test_automatic_with_nothing_to_carry_it(self) -> None:
        assert figures(Play().send(piece("a", 2000, kind="thinking"), automatic="5m")) == (0, 0, 0, 2000)

    def test_more_breakpoints_cost_nothing(self) -> None:
        few = Play().send(piece("a", 2000), piece("b", 2000, ttl="5m"))
        many = Play().send(piece("a", 2000, ttl="5m"), piece("b", 2000, ttl="5m"))
        assert figures(few) == figures(many)

    def test_a_run_of_tool_calls_takes_one_position(self) -> None:
        kinds = ["text", *["tool_use"] * 15, *["tool_result"] * 15, "text"]
        blocks = [piece(str(i), 10, kind=kind)[0] for i, kind in enumerate(kinds)]
        assert positions(blocks, 31, CacheRules(lookback=4))[-1] == 0
        assert positions(blocks, 31, CacheRules(lookback=3))[-1] == 1
        assert len(positions(blocks, 31, CacheRules(runs_count_as_one=False))) == 20


class TestIdealRead:
    def test_the_longest_shared_run_of_blocks_whatever_the_breakpoints(self) -> None:
        play = Play()
        assert play.send(piece("a", 2000), piece("b", 500)).ideal == 0
        assert play.send(piece("a", 2000), piece("b", 500), piece("c", 1), at=1).ideal == 2500
        assert play.send(piece("a", 2000), piece("x", 500), at=1).ideal == 2000

    def test_below_the_minimum_it_is_nothing(self) -> None:
        play = Play()
        play.send(piece("a", 1000))
        assert play.look(piece("a", 1000), at=1).ideal == 0

    def test_it_ends_with_the_ttl_that_was_asked_for(self) -> None:
        play = Play()
        play.send(piece("a", 2000, ttl="1h"), piece("b", 500, ttl="5m"), piece("c", 500))
        prompt = (piece("a", 2000), piece("b", 500), piece("c", 500))
        assert [play.look(*prompt, at=at).ideal for at in (299, 300, 3599, 3600)] == [3000, 2000, 2000, 0]

    def test_it_does_not_look_at_settings(self) -> None:
        play = Play()
        play.send(piece("a", 2000, ttl="5m"))
        found = play.look(piece("a", 2000, ttl="5m"), at=1, messages="changed")
        assert (found.read, found.ideal) == (0, 2000)


def test_prefixes_that_nobody_can_read_are_forgotten() -> None:
    play = Play(prune_at=50)
    for i in range(200):
        play.send(piece(f"only {i}", 2000, ttl="5m"), at=i * 60.0)
    assert play.cache.size < 60
    assert play.look(piece("only 199", 2000), at=200 * 60.0).ideal == 2000


class Naive:
    """The rules again, written down the long way: a list of written prefixes, compared whole."""

    def __init__(self) -> None:
        self.written: dict[tuple[Any, ...], tuple[float, float]] = {}  # prefix -> (expires, ttl)

    @staticmethod
    def key(prompt: list[Piece], end: int, setting: str) -> tuple[Any, ...]:
        level = prompt[end][0].level
        return (tuple(block.digest for block, _ in prompt[: end + 1]), setting if level == "messages" else "")

    def send(self, prompt: list[Piece], at: float, setting: str) -> tuple[int, int, int, int]:
        sizes = [tokens for _, tokens in prompt]
        marks = [i for i, (block, _) in enumerate(prompt) if block.ttl]
        hit = -1
        for mark in reversed(marks):
            used, last = 0, ""
            for pos in range(mark, -1, -1):
                kind = prompt[pos][0].kind
                if not (kind == last and kind.startswith("tool_")):
                    used += 1
                last = kind
                if used > 20:
                    break
                expires, ttl = self.written.get(self.key(prompt, pos, setting), (0.0, 0.0))
                if expires > at:
                    hit = pos
                    self.written[self.key(prompt, pos, setting)] = (at + ttl, ttl)
                    break
            if hit >= 0:
                break
        a = sum(sizes[: hit + 1])
        b = c = a
        for mark in marks:
            total = sum(sizes[: mark + 1])
            if mark > hit and total >= 1024:
                ttl = 3600.0 if prompt[mark][0].ttl == "1h" else 300.0
                self.written[self.key(prompt, mark, setting)] = (at + ttl, ttl)
                b, c = (total if ttl == 3600.0 else b), total
        return a, b - a, c - b, sum(sizes) - c


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[list[Piece], float, str]]:
    """Requests of one conversation that grows, is edited, rests, changes a setting and moves its breakpoints."""
    size = st.sampled_from([10, 300, 1100])
    body = [("s", "system", "text", draw(size))]
    requests: list[tuple[list[Piece], float, str]] = []
    at = 0.0
    for step in range(draw(st.integers(2, 7))):
        for _ in range(draw(st.integers(0, 14))):
            kind = draw(st.sampled_from(["text", "tool_use", "tool_result"]))
            body.append((f"{step}.{len(body)}", "messages", kind, draw(size)))
        if draw(st.booleans()) and draw(st.booleans()):
            place = draw(st.integers(0, len(body) - 1))
            body[place] = (f"edit {step}", *body[place][1:])
        marks = sorted(draw(st.sets(st.integers(0, len(body) - 1), max_size=3)) | {len(body) - 1})
        longs = draw(st.integers(0, len(marks)))
        ttls: dict[int, Ttl] = {mark: "1h" if i < longs else "5m" for i, mark in enumerate(marks)}
        prompt = [
            piece(name, tokens, level=level, kind=kind, ttl=ttls.get(i))
            for i, (name, level, kind, tokens) in enumerate(body)
        ]
        requests.append((prompt, at, draw(st.sampled_from(["", "", "any"]))))
        at += draw(st.sampled_from([1.0, 200.0, 301.0, 3700.0]))
    return requests


@settings(max_examples=150, deadline=None)
@given(conversations())
def test_the_cache_agrees_with_the_naive_model(requests: list[tuple[list[Piece], float, str]]) -> None:
    play, naive = Play(), Naive()
    for prompt, at, setting in requests:
        found = play.send(*prompt, at=at, **({"messages": setting} if setting else {}))
        assert figures(found) == naive.send(prompt, at, setting)
        assert sum(figures(found)) == sum(tokens for _, tokens in prompt)
        assert found.read <= found.ideal
