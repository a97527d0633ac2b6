"""The turn machine as playbooks: events in, commands out."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from claw.core.commands import CallCli, CallModel, Cancel, Command, Finish, Persist, RunTool
from claw.core.errors import FailureKind
from claw.core.events import Aborted, CliReport, ModelFinished, Steered, ToolFinished, Woke
from claw.core.machine import step
from claw.core.messages import Message, TextPart, ToolCallPart, ToolResultPart, assistant
from claw.core.state import State, Target
from claw.core.transcript import MessageEntry, replay
from claw.core.usage import Price, Usage
from claw.testing.playbook import (
    addressed,
    answered,
    asked,
    emitted,
    failed,
    finished,
    kept,
    play,
    slept,
    started,
    state,
    tool_done,
    woke,
)

READ = ToolCallPart("t1", "read", {"path": "a"})
EXEC = ToolCallPart("t2", "exec", {"command": "make"})
LIST = ToolCallPart("t3", "ls", {})
CLI = Target(provider="claude-cli", model="opus", cli=True)


def test_a_prompt_is_on_disk_before_the_model_is_asked() -> None:
    play(
        state(),
        [
            (started("hi"), [kept("user"), CallModel]),
            (answered("hello"), [kept("assistant"), finished(reply="hello", stop="end_turn", failure=None)]),
        ],
    )


def test_a_tool_call_and_its_result_are_on_disk_before_the_model_is_asked_again() -> None:
    play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered("looking", READ), [kept("assistant"), RunTool]),
            (tool_done("t1", "content"), [kept("tool"), CallModel]),
            (answered("done"), [kept("assistant"), Finish]),
        ],
    )


def test_a_rate_limit_waits_as_told_and_an_auth_failure_rotates() -> None:
    play(
        state(profiles=2),
        [
            (started("fix it"), [Persist, asked(profile="profile-1")]),
            (failed(FailureKind.RATE_LIMITED, after=7), [slept(7)]),
            (woke(), [asked(profile="profile-1")]),
            (failed(FailureKind.AUTH), [asked(profile="profile-2")]),
            (answered("ok"), [Persist, finished(reply="ok")]),
        ],
    )


def test_every_ended_call_is_listed_and_told() -> None:
    """The attempts tell the story of the run: what failed, what was done about it, how long it waited."""
    _, commands = play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (
                failed(FailureKind.RATE_LIMITED, after=7, status=429),
                [emitted("attempt", n=1, kind="rate_limited", status=429, action="retry", waited_s=7.0), slept(7)],
            ),
            (woke(), [CallModel]),
            (answered("ok"), [emitted("attempt", n=2, kind=None, action=None), Persist, Finish]),
        ],
    )
    outcome = commands[-1].outcome  # type: ignore[union-attr]
    assert [(a.n, a.kind, a.action, a.waited_s) for a in outcome.attempts] == [
        (1, FailureKind.RATE_LIMITED, "retry", 7.0),
        (2, None, None, 0.0),
    ]


def test_tools_without_side_effects_run_together_and_others_alone() -> None:
    play(
        state(one_at_a_time=frozenset({"exec"})),
        [
            (started(), [Persist, CallModel]),
            (answered("", READ, LIST, EXEC), [kept("assistant"), RunTool, RunTool]),
            (tool_done("t3"), [kept("tool")]),
            (tool_done("t1"), [kept("tool"), RunTool]),
            (tool_done("t2"), [kept("tool"), CallModel]),
        ],
    )


def test_results_are_shown_in_the_order_of_the_calls() -> None:
    after, _ = play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered("", READ, LIST), [Persist, RunTool, RunTool]),
            (tool_done("t3", "second"), [Persist]),
            (tool_done("t1", "first"), [Persist, CallModel]),
        ],
    )
    results = replay(after.history)[-1]
    assert [part.text for part in results.parts if isinstance(part, ToolResultPart)] == ["first", "second"]


def test_cut_or_broken_arguments_are_never_run() -> None:
    """The model is told, and asked again; the tool is not touched."""
    broken = ToolCallPart("t1", "exec", {}, '{"command": "rm')
    play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered("", broken), [kept("assistant"), kept("tool"), CallModel]),
            (answered("", EXEC, stop="max_tokens"), [kept("assistant"), kept("tool"), CallModel]),
            (answered("", EXEC), [kept("assistant"), RunTool]),
        ],
    )


def test_a_message_that_arrives_during_a_run_is_safe_at_once_and_joins_behind_the_tools() -> None:
    after, _ = play(
        state(),
        [
            (started("one"), [Persist, CallModel]),
            (Steered(text="two"), [kept("queued")]),
            (answered("", READ), [kept("assistant"), RunTool]),
            (tool_done("t1"), [kept("tool"), kept("user"), CallModel]),
        ],
    )
    assert [m.role for m in replay(after.history)] == ["user", "assistant", "tool", "user"]


def test_a_message_that_arrives_with_the_last_answer_is_answered_too() -> None:
    play(
        state(),
        [
            (started("one"), [Persist, CallModel]),
            (Steered(text="two"), [kept("queued")]),
            (answered("first"), [kept("assistant"), kept("user"), CallModel]),
            (answered("second"), [kept("assistant"), finished(reply="second")]),
        ],
    )


def test_an_empty_answer_is_asked_for_once_more_and_then_is_a_failure() -> None:
    play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered(""), [CallModel]),
            (answered(""), [kept("run_failed"), finished(failure=FailureKind.EMPTY_RESPONSE, stop="error")]),
        ],
    )


def test_a_call_without_a_name_is_no_answer_and_one_id_used_twice_is_two_calls() -> None:
    """Either would make the provider refuse the session for ever."""
    nameless = ToolCallPart("t1", "", {})
    after, _ = play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered("I'll look", nameless), [CallModel]),
            (answered("", READ, READ), [kept("assistant"), RunTool, RunTool]),
            (tool_done("t1"), [kept("tool")]),
            (tool_done("t1_2"), [kept("tool"), CallModel]),
        ],
    )
    assert len(replay(after.history)) == 3


def test_a_refusal_ends_the_run_and_stays_out_of_the_history() -> None:
    after, _ = play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered("I can't", stop="refusal"), [kept("run_failed"), finished(failure=FailureKind.REFUSED)]),
        ],
    )
    assert [m.role for m in replay(after.history)] == ["user"]


def test_a_paused_turn_goes_on() -> None:
    play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered("searching", stop="pause_turn"), [kept("assistant"), CallModel]),
            (answered("found"), [Persist, finished(reply="found")]),
        ],
    )


def test_an_answer_cut_at_its_length_says_so() -> None:
    play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (answered("and then", stop="max_tokens"), [Persist, finished(stop="max_tokens", reply="and then")]),
        ],
    )


def test_stopping_cancels_what_runs_and_keeps_what_was_said() -> None:
    partial = assistant(TextPart("half a sen"))
    play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (Aborted(partial=partial), [Cancel, kept("assistant"), finished(stop="aborted", reply="half a sen")]),
        ],
    )


def test_stopping_during_tools_closes_every_call() -> None:
    after, _ = play(
        state(one_at_a_time=frozenset({"exec"})),
        [
            (started(), [Persist, CallModel]),
            (answered("", EXEC, READ), [Persist, RunTool]),
            (Aborted(), [Cancel, kept("tool"), kept("tool"), finished(stop="aborted")]),
        ],
    )
    assert all(part.is_error for part in replay(after.history)[-1].parts if isinstance(part, ToolResultPart))


def test_stopping_a_sleep_wakes_nobody() -> None:
    after, _ = play(
        state(),
        [
            (started(), [Persist, CallModel]),
            (failed(FailureKind.OVERLOADED), [slept(0.5, 1.5)]),
            (Aborted(reason="timeout"), [Cancel, kept("run_failed"), finished(failure=FailureKind.TIMEOUT)]),
            (Woke(id="anything"), []),
        ],
    )
    assert after.phase == "done"


def test_an_event_of_a_cancelled_or_unknown_command_changes_nothing() -> None:
    before, _ = play(state(), [(started(), [Persist, CallModel])])
    late = ModelFinished(id="of another", turn=answered("late").turn)
    tool = ToolFinished(id="of another", result=ToolResultPart("t9", "x"))
    for event in (late, tool, Woke(id="of another"), started()):
        assert step(before, event) == (before, ())
    busy, _ = play(state(), [(started(), [Persist, CallModel]), (answered("", READ), [Persist, RunTool])])
    assert step(busy, tool) == (busy, ())


def test_costs_and_tokens_are_summed_and_the_context_is_the_last_calls() -> None:
    """1 + 500 + 85,000 tokens are a context of 85,501, whatever the calls before it had."""
    priced = Target(provider="anthropic", model="m", price=Price(input=10, output=20))
    _, commands = play(
        state(priced),
        [
            (started(), [Persist, CallModel]),
            (answered("", READ, input=50_000, output=50_000), [Persist, RunTool]),
            (tool_done("t1"), [Persist, CallModel]),
            (answered("ok", input=1, cache_write_5m=500, cache_read=85_000, output=4), [Persist, Finish]),
        ],
    )
    outcome = commands[-1].outcome  # type: ignore[union-attr]
    assert outcome.usage is not None and outcome.usage.context_tokens == 85_501
    assert outcome.usage_total.context_tokens == 135_501
    assert round(outcome.cost_usd, 4) == 1.5001


def test_a_run_that_never_stops_calling_is_stopped() -> None:
    play(
        state(max_calls=2),
        [
            (started(), [Persist, CallModel]),
            (answered("", READ), [Persist, RunTool]),
            (tool_done("t1"), [Persist, CallModel]),
            (answered("", READ), [Persist, RunTool]),
            (tool_done("t1_2"), [kept("tool"), kept("run_failed"), finished(failure=FailureKind.TIMEOUT)]),
        ],
    )


# the CLI path


def test_a_cli_gets_a_session_that_is_on_disk_before_it_starts_and_is_resumed() -> None:
    first, commands = play(
        state(CLI, workspace="/w"),
        [
            (started("one"), [kept("user"), kept("cli_session"), CallCli]),
            (answered("1", cli=CliReport(session=None)), [kept("cli_session"), kept("assistant"), Finish]),
        ],
    )
    asked_for = next(c for c in commands if isinstance(c, CallCli))
    assert not asked_for.resume and asked_for.prompt == "one"

    report = CliReport(session="its-own")
    first, _ = play(
        state(CLI, workspace="/w"),
        [
            (started("one"), [Persist, Persist, CallCli]),
            (answered("1", cli=report), [kept("cli_session"), kept("assistant"), Finish]),
        ],
    )
    again = _next_run(first)
    _, commands = play(again, [(started("two"), [kept("user"), CallCli])])
    resumed = commands[-1]
    assert isinstance(resumed, CallCli)
    assert (resumed.session, resumed.resume, resumed.prompt) == ("its-own", True, "two")


def test_a_lost_cli_session_is_replaced_once_and_told_what_was_said() -> None:
    first, _ = play(
        state(CLI),
        [
            (started("my name is Ada"), [Persist, Persist, CallCli]),
            (answered("hello Ada", cli=CliReport(session="s1")), [Persist, Persist, Finish]),
        ],
    )
    _, commands = play(
        _next_run(first),
        [
            (started("who am I?"), [Persist, CallCli]),
            (failed(FailureKind.SESSION_EXPIRED), [kept("cli_session"), CallCli]),
            (
                failed(FailureKind.SESSION_EXPIRED),
                [kept("run_failed"), finished(failure=FailureKind.SESSION_EXPIRED)],
            ),
        ],
    )
    fresh = [c for c in commands if isinstance(c, CallCli)][1]
    assert not fresh.resume and fresh.session != "s1"
    assert "my name is Ada" in fresh.prompt and fresh.prompt.endswith("who am I?")


def test_a_failed_first_run_of_a_cli_is_repeated_under_a_new_id() -> None:
    """A CLI refuses an id that it has begun to use."""
    _, commands = play(
        state(CLI),
        [
            (started(), [Persist, Persist, CallCli]),
            (failed(FailureKind.OVERLOADED), [slept(0, 2)]),
            (woke(), [kept("cli_session"), CallCli]),
        ],
    )
    first, second = (c for c in commands if isinstance(c, CallCli))
    assert first.session != second.session and not second.resume


def test_what_a_cli_has_done_is_not_repeated() -> None:
    play(
        state(CLI),
        [
            (started(), [Persist, Persist, CallCli]),
            (
                failed(FailureKind.OVERLOADED, delivered=True),
                [kept("run_failed"), finished(failure=FailureKind.OVERLOADED)],
            ),
        ],
    )


def test_a_compaction_inside_a_cli_makes_the_context_unknown_until_its_next_call() -> None:
    compacted = CliReport(session="s1", usage=None, total=Usage(input=9), compactions=1)
    first, commands = play(
        state(CLI),
        [
            (started(), [Persist, Persist, CallCli]),
            (answered("ok", cli=compacted), [kept("cli_session"), kept("cli_compaction"), Persist, Finish]),
        ],
    )
    outcome = commands[-1].outcome  # type: ignore[union-attr]
    assert (outcome.known, outcome.compactions) == (False, 1)

    report = CliReport(session="s1", usage=Usage(input=1, cache_read=85_000), total=Usage(cache_read=2_080_469))
    _, commands = play(
        _next_run(first),
        [(started(), [Persist, CallCli]), (answered("ok", cli=report), [Persist, Finish])],
    )
    outcome = commands[-1].outcome  # type: ignore[union-attr]
    assert outcome.known and outcome.usage is not None and outcome.usage.context_tokens == 85_001
    assert outcome.usage_total.context_tokens == 2_080_469


def test_a_size_known_earlier_in_the_run_is_forgotten_with_a_compaction() -> None:
    known = CliReport(session="s1", usage=Usage(input=150_000))
    _, commands = play(
        state(CLI),
        [
            (started(), [Persist, Persist, CallCli]),
            (Steered(text="more"), [kept("queued")]),
            (answered("a", cli=known), [kept("cli_session"), kept("assistant"), kept("user"), CallCli]),
            (answered("b", cli=CliReport(session="s1", compactions=1)), [kept("cli_compaction"), Persist, Finish]),
        ],
    )
    assert not commands[-1].outcome.known  # type: ignore[union-attr]


def test_an_answer_of_another_model_in_between_makes_the_clis_session_stale() -> None:
    """It never heard that answer; a new session is told the whole of it."""
    first, _ = play(
        state(CLI),
        [
            (started("a"), [Persist, Persist, CallCli]),
            (answered("b", cli=CliReport(session="s1")), [Persist, Persist, Finish]),
        ],
    )
    other, _ = play(
        _next_run(first, Target(provider="anthropic", model="m")),
        [(started("c"), [Persist, CallModel]), (answered("d"), [Persist, Finish])],
    )
    _, commands = play(_next_run(other, CLI), [(started("e"), [Persist, kept("cli_session"), CallCli])])
    fresh = commands[-1]
    assert isinstance(fresh, CallCli) and not fresh.resume
    assert all(text in fresh.prompt for text in "abcde")


def test_a_cli_compacts_its_own_session_on_request() -> None:
    from claw.core.events import TurnStarted
    from claw.testing.playbook import RUN

    compact = TurnStarted(run=RUN, prompt=None)
    play(state(CLI), [(compact, [kept("run_failed"), finished(failure=FailureKind.BAD_REQUEST)])])
    first, _ = play(
        state(CLI),
        [
            (started("a"), [Persist, Persist, CallCli]),
            (answered("b", cli=CliReport(session="s1")), [Persist, Persist, Finish]),
        ],
    )
    folded = CliReport(session="s1", compactions=1)
    play(
        _next_run(first),
        [(compact, [CallCli]), (answered("", cli=folded), [kept("cli_compaction"), finished(compactions=1)])],
    )


def test_a_clis_own_figure_of_its_cost_goes_before_ours() -> None:
    """It counts its side calls too. Without one the tokens are priced."""
    priced = Target(provider="claude-cli", model="opus", cli=True, price=Price(input=3))
    for told, cost in ((0.25, 0.25), (0.0, 0.0), (None, 3.0)):
        report = CliReport(session="s1", total=Usage(input=1_000_000), cost_usd=told)
        script = [(started("a"), [Persist, Persist, CallCli]), (answered("b", cli=report), [Persist, Persist, Finish])]
        _, commands = play(state(priced), script)
        assert commands[-1].outcome.cost_usd == cost  # type: ignore[union-attr]


def test_hybrid_coordination_has_a_full_cli_compact_before_the_prompt() -> None:
    full = CliReport(session="s1", usage=Usage(input=190_000))
    first, _ = play(
        state(CLI),
        [(started("a"), [Persist, Persist, CallCli]), (answered("b", cli=full), [Persist, Persist, Finish])],
    )
    _, commands = play(
        _next_run(first, coordination="hybrid"),
        [
            (started("c"), [Persist, CallCli]),
            (answered("", cli=CliReport(session="s1", compactions=1)), [kept("cli_compaction"), CallCli]),
            (answered("d", cli=CliReport(session="s1", usage=Usage(input=9))), [Persist, finished(compactions=1)]),
        ],
    )
    assert [c.prompt for c in commands if isinstance(c, CallCli)] == ["/compact", "c"]


def test_own_coordination_begins_a_new_session_with_a_record() -> None:
    full = CliReport(session="s1", usage=Usage(input=190_000))
    first, _ = play(
        state(CLI),
        [(started("a"), [Persist, Persist, CallCli]), (answered("b", cli=full), [Persist, Persist, Finish])],
    )
    _, commands = play(_next_run(first, coordination="own"), [(started("c"), [Persist, kept("cli_session"), CallCli])])
    fresh = commands[-1]
    assert isinstance(fresh, CallCli) and not fresh.resume and "[Assistant]\nb" in fresh.prompt


def _next_run(before: State, *targets: Target, **setup: Any) -> State:
    """The next prompt in the same session."""
    fresh = state(*(targets or before.setup.targets), workspace=before.setup.workspace, **setup)
    return State(setup=fresh.setup, history=before.history, leaf=before.leaf)


# what holds for every run

KINDS = st.sampled_from(list(FailureKind))
FAILURES = st.builds(
    failed, KINDS, after=st.none() | st.floats(0, 10_000), delivered=st.booleans(), status=st.none() | st.just(429)
)
CALLS = st.lists(st.sampled_from([READ, EXEC, LIST]), max_size=3, unique_by=lambda call: call.id)
ANSWERS = st.builds(lambda text, calls: answered(text, *calls), st.sampled_from(["", "x"]), CALLS)


@given(events=st.lists(FAILURES | ANSWERS, min_size=1, max_size=40), big=st.booleans(), data=st.data())
@settings(max_examples=120, deadline=None)
def test_every_run_ends_runs_no_tool_twice_and_asks_nothing_that_is_not_on_disk(
    events: list[Any], big: bool, data: st.DataObject
) -> None:
    """Whatever a provider does: after the list is used up it answers, and then the run is over within a few steps."""
    fallback = Target(provider="openai", model="o")
    target = Target(provider="anthropic", model="m", profiles=("a", "b"), window=20_000)
    current = state(target, fallback, one_at_a_time=frozenset({"exec"}))
    commands: list[Command] = []
    seen: set[str] = set()
    on_disk: list[Message] = []
    ran: list[tuple[int, str]] = []
    turn = 0
    queue: list[Any] = [started("x " * (40_000 if big else 1))]
    for _ in range(400):
        if not queue:
            break
        at = data.draw(st.integers(0, len(queue) - 1)) if len(queue) > 1 else 0
        current, commands = step(current, addressed(current, queue.pop(at)))  # type: ignore[assignment]
        for command in commands:
            match command:
                case Persist(entries=entries):
                    assert not seen & {entry.id for entry in entries}, "an id was given twice"
                    seen |= {entry.id for entry in entries}
                    on_disk += [entry.message for entry in entries if isinstance(entry, MessageEntry)]
                case CallModel(request=request):
                    turn += 1
                    if request.purpose == "main":
                        sent = [m for m in request.messages if m.role != "tool" and "<summary>" not in m.text]
                        assert all(message in on_disk for message in sent)
                    queue.append(events.pop(0) if events else answered("end"))
                case RunTool(call=call):
                    assert (turn, call.id) not in ran
                    ran.append((turn, call.id))
                    queue.append(tool_done(call.id))
                case Finish(outcome=outcome):
                    assert (outcome.failure is None) == (outcome.stop != "error")
                    queue.clear()
                case _ if type(command).__name__ == "Sleep":
                    queue.append(woke())
    assert current.phase == "done"
    assert current.waited_s <= current.setup.rules.seconds
