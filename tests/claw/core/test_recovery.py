"""How a run survives: overflow, compaction at its levels, fallback, repair."""

from collections.abc import Sequence

from claw.core.commands import CallModel, Command, Finish, Persist, RunTool
from claw.core.errors import FailureKind
from claw.core.events import Aborted, TurnStarted
from claw.core.machine import step
from claw.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, assistant, user
from claw.core.policy import Rules
from claw.core.state import State, Target
from claw.core.transcript import CompactionEntry, MessageEntry, replay
from claw.core.usage import Usage
from claw.testing.playbook import (
    RUN,
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

OVERFLOW = FailureKind.CONTEXT_OVERFLOW
WORDS = "word " * 800  # 1,000 tokens by the estimate


def long(turns: int, *, window: int = 200_000, size: str = WORDS, usage: Usage | None = None, **setup: object) -> State:
    """A session of so many turns, 2,000 tokens each by the estimate, and a model that answers next."""
    begun = state(Target(provider="anthropic", model="m", window=window), **setup)
    history: list[MessageEntry] = []
    for n in range(turns):
        for message in (user(f"q{n} {size}"), assistant(TextPart(f"a{n} {size}"))):
            parent = history[-1].id if history else None
            told = usage if message.role == "assistant" else None
            history.append(MessageEntry(id=f"{len(history):08d}", parent_id=parent, message=message, usage=told))
    return State(setup=begun.setup, history=tuple(history), leaf=history[-1].id if history else None)


def requests(commands: Sequence[Command], purpose: str = "main") -> list[CallModel]:
    return [c for c in commands if isinstance(c, CallModel) and c.request.purpose == purpose]


def test_an_overflow_is_compacted_once_and_answered() -> None:
    """The provider's own numbers say how much has to go; nothing waits, and no request is sent twice."""
    _, commands = play(
        long(40),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW, tokens=213_456, limit=200_000), [asked("summary", tools=())]),
            (answered("what happened so far"), [kept("compaction"), asked("main")]),
            (answered("done"), [kept("assistant"), finished(compactions=1, reply="done", failure=None)]),
        ],
    )
    first, second = requests(commands)
    assert sum(len(m.text) for m in second.request.messages) < sum(len(m.text) for m in first.request.messages) / 2
    assert "what happened so far" in second.request.messages[0].text
    assert second.request.messages[-1].text == "go on"


def test_what_is_summarised_and_what_is_kept_is_everything() -> None:
    _, commands = play(
        long(40),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW, tokens=213_456, limit=200_000), [asked("summary")]),
            (answered("S"), [kept("compaction"), asked("main")]),
        ],
    )
    seen = "".join(m.text for c in [*requests(commands, "summary"), requests(commands)[-1]] for m in c.request.messages)
    assert all(f"{who}{n} " in seen for n in range(40) for who in "qa")


def test_a_conversation_that_grows_past_the_reserve_is_compacted_before_it_is_sent() -> None:
    used = Usage(input=185_000)
    play(
        long(40, usage=used),
        [
            (started("go on"), [kept("user"), asked("summary")]),
            (answered("S"), [kept("compaction"), asked("main")]),
            (answered("ok", input=30_000), [Persist, finished(compactions=1)]),
        ],
    )


def test_compaction_off_leaves_an_overflow_where_it_is() -> None:
    play(
        long(40, usage=Usage(input=185_000), rules=Rules(compact=False)),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW), [kept("run_failed"), finished(failure=OVERFLOW, stop="error")]),
        ],
    )


def test_a_compaction_that_gains_nothing_escalates_at_once() -> None:
    """No second request of the same size: the next level keeps less, and only then the model is asked."""
    huge = "long " * 100_000
    play(
        long(40),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW), [asked("summary")]),
            (answered(huge), [emitted("compaction_end", ok=False), emitted("compaction_start"), asked("summary")]),
            (answered("the first half"), [asked("summary")]),
            (answered("short"), [kept("compaction"), asked("main")]),
        ],
    )


def test_three_useless_compactions_end_the_run() -> None:
    huge = "long " * 100_000
    play(
        long(40),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW), [asked("summary")]),
            (answered(huge), [emitted("compaction_end", ok=False), emitted("compaction_start"), asked("summary")]),
            (answered("half"), [asked("summary")]),
            (answered(huge), [emitted("compaction_end", ok=False), emitted("compaction_start"), asked("summary")]),
            (answered("half"), [asked("summary")]),
            (answered(huge), [kept("run_failed"), finished(failure=OVERFLOW, compactions=0)]),
        ],
    )


def test_an_answer_gives_a_later_overflow_a_fresh_budget() -> None:
    """Two overflows, an answer, two overflows: four compactions in one run, though three in a row are the most."""
    call = ToolCallPart("t", "read", {})
    at, _ = play(long(40), [(started("go on"), [Persist, asked("main")])])
    at = overflow_and_compact(overflow_and_compact(at))
    at, _ = play(
        at, [(answered(WORDS, call), [Persist, RunTool]), (tool_done("t", WORDS * 3), [Persist, asked("main")])]
    )
    at = overflow_and_compact(overflow_and_compact(at))
    play(at, [(answered("done"), [Persist, finished(compactions=4)])])


def overflow_and_compact(at: State) -> State:
    """The main call does not fit; summaries are given until the main call is made again."""
    at, commands = play(at, [(failed(OVERFLOW), [asked("summary")])])
    while requests(commands, "summary"):
        at, commands = step(at, addressed(at, answered("S")))
    assert len(requests(list(commands))) == 1
    return at


def test_a_failed_compaction_leaves_history_and_usage_as_they_were() -> None:
    before = long(40, usage=Usage(input=185_000))
    after, _ = play(
        before,
        [
            (started("go on"), [Persist, asked("summary")]),
            (failed(FailureKind.BAD_REQUEST), [asked("main")]),
            (answered("ok", input=190_000), [Persist, finished(compactions=0, failure=None)]),
        ],
    )
    assert not any(isinstance(e, CompactionEntry) for e in after.history)
    assert replay(after.history)[:80] == replay(before.history)


def test_the_reason_why_a_summary_failed_is_told() -> None:
    play(
        long(40),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW), [asked("summary")]),
            (failed(FailureKind.BILLING), [kept("run_failed"), finished(failure=FailureKind.BILLING)]),
        ],
    )


def test_a_summary_call_that_does_not_fit_is_made_in_smaller_pieces() -> None:
    _, commands = play(
        long(40, window=60_000),
        [
            (started("go on"), [Persist, asked("summary")]),
            (
                failed(OVERFLOW),
                [
                    emitted("attempt"),
                    emitted("compaction_end", ok=False),
                    emitted("compaction_start"),
                    asked("summary"),
                ],
            ),
        ],
    )
    first, second = (len(c.request.messages[0].text) for c in requests(commands, "summary"))
    assert second < first * 0.7


def test_a_history_larger_than_the_window_is_summarised_piece_by_piece() -> None:
    _, commands = play(
        long(40, window=60_000),
        [
            (started("go on"), [Persist, asked("summary")]),
            (answered("one"), [asked("summary")]),
            (answered("two"), [kept("compaction"), asked("main")]),
        ],
    )
    second = requests(commands, "summary")[1].request.messages[0].text
    assert "<earlier-summary>\none\n" in second
    assert all(len(c.request.messages[0].text) < 60_000 * 4 for c in requests(commands, "summary"))


def test_a_summary_call_waits_out_a_limit_like_any_other() -> None:
    play(
        long(40),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW), [asked("summary")]),
            (failed(FailureKind.RATE_LIMITED, after=7), [slept(7)]),
            (woke(), [asked("summary")]),
            (answered("S"), [kept("compaction"), asked("main")]),
        ],
    )


def test_an_empty_summary_is_asked_for_again_and_then_is_none() -> None:
    play(
        long(40, usage=Usage(input=185_000)),
        [
            (started("go on"), [Persist, asked("summary")]),
            (answered(""), [asked("summary")]),
            (answered(""), [asked("main")]),
        ],
    )


def test_a_prompt_too_large_by_itself_ends_with_a_word_about_it() -> None:
    play(
        long(0),
        [
            (started(WORDS * 300), [Persist, asked("main")]),
            (failed(OVERFLOW), [kept("run_failed"), finished(failure=OVERFLOW)]),
        ],
    )


def test_compaction_on_request_condenses_all_and_asks_nothing_else() -> None:
    after, _ = play(
        long(3),
        [
            (TurnStarted(run=RUN, prompt=None), [asked("summary")]),
            (answered("S"), [kept("compaction"), finished(compactions=1, stop="end_turn")]),
        ],
    )
    assert len(replay(after.history)) == 1


def test_stopping_a_compaction_writes_none() -> None:
    after, _ = play(
        long(40),
        [
            (started("go on"), [Persist, asked("main")]),
            (failed(OVERFLOW), [asked("summary")]),
            (Aborted(), [lambda c: True, finished(stop="aborted")]),
        ],
    )
    assert not any(isinstance(e, CompactionEntry) for e in after.history)


def test_room_for_the_answer_is_lowered_and_nothing_compacted() -> None:
    _, commands = play(
        state(Target(provider="anthropic", model="m", max_output=64_000)),
        [
            (started(), [Persist, asked(max_tokens=32_000)]),
            (failed(FailureKind.OUTPUT_BUDGET, tokens=190_000, limit=200_000), [asked(max_tokens=10_000)]),
            (answered("ok"), [Persist, finished(compactions=0)]),
        ],
    )
    first, second = requests(commands)
    assert first.request.messages == second.request.messages


def test_a_model_that_is_missing_falls_back_and_the_next_has_its_own_profiles() -> None:
    play(
        state(Target(provider="anthropic", model="m"), Target(provider="openai", model="o", profiles=("p",))),
        [
            (started(), [Persist, asked(provider="anthropic")]),
            (failed(FailureKind.MODEL_NOT_FOUND), [asked(provider="openai", profile="p", model="o")]),
            (answered("ok"), [Persist, finished(provider="openai", model="o")]),
        ],
    )


def test_a_bad_account_leaves_to_another_provider_over_models_of_the_same() -> None:
    same, other = Target(provider="anthropic", model="m2"), Target(provider="openai", model="o")
    play(
        state(Target(provider="anthropic", model="m"), same, other),
        [(started(), [Persist, asked(model="m")]), (failed(FailureKind.BILLING), [asked(model="o")])],
    )


def test_the_window_of_a_fallback_is_its_own() -> None:
    """The first model's small window says nothing about the next one's."""
    first, second = Target(provider="a", model="1", window=50_000), Target(provider="b", model="2")
    begun = state(first, second, rules=Rules(compact=False))
    after, _ = play(
        begun,
        [
            (started(), [Persist, asked(model="1")]),
            (failed(FailureKind.MODEL_NOT_FOUND), [asked(model="2", max_tokens=32_000)]),
        ],
    )
    assert after.size == 200_000


def test_a_refused_history_is_sent_once_more_without_thinking_and_images() -> None:
    before = long(1)
    parts = (ThinkingPart("hm", "sig"), TextPart("yes"))
    odd = MessageEntry(id="odd", parent_id=before.leaf, message=Message("assistant", parts))
    picture = MessageEntry(id="pic", parent_id="odd", message=Message("user", (ImagePart("image/png", "AA=="),)))
    begun = State(setup=before.setup, history=(*before.history, odd, picture), leaf="pic")
    _, commands = play(
        begun,
        [
            (started(), [Persist, asked()]),
            (failed(FailureKind.POISONED_HISTORY), [kept("repaired"), asked()]),
            (
                failed(FailureKind.POISONED_HISTORY),
                [kept("run_failed"), finished(failure=FailureKind.POISONED_HISTORY)],
            ),
        ],
    )
    sent = [part for m in requests(commands)[-1].request.messages for part in m.parts]
    assert not any(isinstance(part, ThinkingPart | ImagePart) for part in sent)


def test_a_wait_of_hours_is_reported_with_its_length() -> None:
    _, commands = play(
        state(),
        [
            (started(), [Persist, asked()]),
            (failed(FailureKind.RATE_LIMITED, after=7_198), [kept("run_failed"), Finish]),
        ],
    )
    failure = commands[-1].outcome.failure  # type: ignore[union-attr]
    assert failure is not None and "7198 s" in failure.message


def test_text_that_is_taken_back_is_marked() -> None:
    play(
        state(),
        [
            (started(), [Persist, asked()]),
            (
                failed(FailureKind.TRUNCATED, delivered=True),
                [emitted("attempt", retracted=True, action="retry"), slept(0, 2)],
            ),
        ],
    )


def test_the_providers_count_corrects_our_estimate() -> None:
    """A tokenizer that makes twice as many tokens of the text is learned from the first answer."""
    after, _ = play(long(2), [(started("go"), [Persist, asked()]), (answered("x", input=8_004), [Persist, Finish])])
    assert 1.9 < after.scale < 2.1
    small, _ = play(long(0), [(started("go"), [Persist, asked()]), (answered("x", input=8_004), [Persist, Finish])])
    assert small.scale == 1.0


def test_a_session_remembers_the_window_that_a_provider_told() -> None:
    """Our table says 200,000; the provider says 50,000, once. The next prompt is compacted before it is refused."""
    first, _ = play(
        long(20),
        [
            (started("go on"), [Persist, asked()]),
            (failed(OVERFLOW, tokens=61_234, limit=50_000), [kept("window"), asked("summary")]),
            (answered("S"), [asked("summary")]),
            (answered("S"), [kept("compaction"), asked()]),
            (answered("done", input=45_000), [Persist, finished(window=50_000)]),
        ],
    )
    again = State(setup=first.setup, history=first.history, leaf=first.leaf)
    play(again, [(started("more"), [Persist, asked("summary")])])


def test_a_run_begins_when_the_provider_wants_to_be_asked_again() -> None:
    begun = state()
    wait = State(setup=begun.setup, pause=42.0)
    play(wait, [(started(), [Persist, slept(42.0)]), (woke(), [asked()])])
    hours = State(setup=begun.setup, pause=9_000.0)
    limited = finished(failure=FailureKind.RATE_LIMITED)
    play(hours, [(started(), [Persist, kept("run_failed"), limited])])
