"""What is changed in a conversation that a provider refuses, for this run and for those after it."""

import pytest

from claw.core import mending
from claw.core.commands import CallCli
from claw.core.errors import FailureKind
from claw.core.events import CliReport
from claw.core.machine import step
from claw.core.messages import ImagePart, Message, TextPart, ToolCallPart, ToolResultPart, assistant, user
from claw.core.policy import Rules
from claw.core.state import State, Step, Target
from claw.core.transcript import CUT_TO, CustomEntry, MessageEntry, replay
from claw.testing.playbook import addressed, answered, asked, emitted, failed, finished, kept, play, started, state

OVERFLOW = FailureKind.CONTEXT_OVERFLOW


def with_result(text: str, *targets: Target, **setup: object) -> State:
    """A session whose newest part is a tool result."""
    begun = state(*(targets or (Target(provider="anthropic", model="m"),)), **setup)
    messages = [
        user("look"),
        assistant(ToolCallPart("c1", "read", {})),
        Message("tool", (ToolResultPart("c1", "read", (TextPart(text), ImagePart("image/png", "AA=="))),)),
        assistant(TextPart("seen")),
    ]
    history = tuple(
        MessageEntry(id=f"e{n}", parent_id=f"e{n - 1}" if n else None, message=m) for n, m in enumerate(messages)
    )
    return State(setup=begun.setup, history=history, leaf=history[-1].id)


def shown(state: State) -> Message:
    return next(m for m in replay(state.history) if m.role == "tool")


def test_a_repair_is_an_entry_and_concerns_what_came_before_it_only() -> None:
    out = Step(with_result("R"))
    mending.repair(out)
    (result,) = shown(out.state).parts
    assert isinstance(result, ToolResultPart)
    assert [type(p) for p in result.content] == [TextPart, TextPart]
    picture = Message("user", (ImagePart("image/png", "AA=="),))
    out.persist(MessageEntry(id="new", parent_id=out.state.leaf, message=picture))
    assert replay(out.state.history)[-1] == picture


def test_results_are_cut_to_head_and_tail_once_a_run() -> None:
    out = Step(with_result("a" * 50_000 + "z"))
    assert mending.oversized(out.state)
    mending.cut_results(out)
    assert not mending.oversized(out.state)
    (result,) = shown(out.state).parts
    assert isinstance(result, ToolResultPart)
    assert len(result.text) < CUT_TO + 100 and result.text.endswith("z") and "left out here" in result.text
    assert not mending.oversized(with_result("short"))


def test_where_summaries_do_not_help_results_are_cut_and_then_a_larger_window_is_asked() -> None:
    """The order of remedies of an overflow: compaction, cutting, a larger window, and a clear failure."""
    targets = (
        Target(provider="anthropic", model="m", window=200_000),
        Target(provider="anthropic", model="small", window=100_000),
        Target(provider="anthropic", model="large", window=1_000_000),
    )
    begun = with_result("x" * 300_000, *targets, rules=Rules(compactions=1))
    play(
        begun,
        [
            (started(), [kept("user"), asked(model="m")]),
            (failed(OVERFLOW), [asked("summary")]),
            (failed(FailureKind.REFUSED), [kept("results_cut"), asked(model="m")]),
            (failed(OVERFLOW), [asked(model="large")]),
            (answered("done"), [kept("assistant"), finished(reply="done")]),
        ],
    )


def test_a_summary_that_cannot_be_had_leads_on_to_the_larger_window() -> None:
    targets = (Target(provider="a", model="m"), Target(provider="a", model="large", window=1_000_000))
    play(
        with_result("short " * 300, *targets),
        [
            (started(), [kept("user"), asked(model="m")]),
            (failed(OVERFLOW), [asked("summary")]),
            (failed(FailureKind.REFUSED), [asked(model="large")]),
        ],
    )


def test_without_a_larger_window_the_failure_is_clear() -> None:
    targets = (Target(provider="a", model="m"), Target(provider="a", model="small", window=100_000))
    play(
        with_result("short", *targets, rules=Rules(compactions=0)),
        [
            (started(), [kept("user"), asked(model="m")]),
            (failed(OVERFLOW), [kept("run_failed"), finished(failure=OVERFLOW)]),
        ],
    )


def test_a_level_of_thinking_that_is_refused_is_replaced_by_one_that_is_offered() -> None:
    refused = FailureKind.BAD_REQUEST
    play(
        state(thinking="xhigh"),
        [
            (started(), [kept("user"), asked(thinking="xhigh")]),
            (failed(refused, levels=("xhigh", "low", "high")),
             [emitted("attempt", kind=refused, action="repair"), asked(thinking="low")]),
            (failed(refused, levels=("xhigh", "low", "high")), [asked(thinking="high")]),
            (failed(refused, levels=("xhigh", "low", "high")), [kept("run_failed"), finished(failure=refused)]),
        ],
    )  # fmt: skip


@pytest.mark.parametrize(("seconds", "goes_on"), [(100.0, True), (599.5, False)])
def test_the_time_that_passed_in_time_outs_is_of_the_same_budget(seconds: float, goes_on: bool) -> None:
    began, _ = step(state(), started())
    event = addressed(began, failed(FailureKind.TIMEOUT))
    after, _ = step(began, type(event)(id=event.id, failure=event.failure, seconds=seconds))  # type: ignore[union-attr]
    assert (after.phase == "sleeping") is goes_on


def test_an_answer_without_a_word_from_a_full_window_is_an_overflow() -> None:
    play(
        with_result("short " * 300),
        [
            (started(), [kept("user"), asked()]),
            (answered("", stop="max_tokens", input=199_000, output=0), [asked("summary")]),
        ],
    )


def test_a_cli_whose_session_overflows_begins_a_new_one() -> None:
    """The run is repeated in a new session of the CLI, which is told the conversation, and that one is remembered."""
    begun = state(Target(provider="claude-cli", model="m", cli=True))
    now, commands = step(begun, started("one"))
    now, _ = step(now, addressed(now, answered("first", cli=CliReport(session="S1"))))
    again = State(setup=begun.setup, history=now.history, leaf=now.leaf)
    now, commands = step(again, started("two"))
    (resumed,) = (c for c in commands if isinstance(c, CallCli))
    assert (resumed.session, resumed.resume) == ("S1", True)
    now, commands = step(now, addressed(now, failed(OVERFLOW, cli=CliReport(session="S1"))))
    (fresh,) = (c for c in commands if isinstance(c, CallCli))
    assert fresh.session != "S1" and not fresh.resume and "one" in fresh.prompt
    bound = [e.data["session"] for e in now.history if isinstance(e, CustomEntry) and e.custom_type == "cli_session"]
    assert bound[-1] == fresh.session
