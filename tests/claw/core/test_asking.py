"""What is asked: the request of a model, the start of a CLI, the record that a new CLI session is told."""

from typing import Any

from claw.core import asking
from claw.core.commands import CallCli, CallModel, Persist
from claw.core.compaction import Plan
from claw.core.messages import Message, TextPart, assistant, user
from claw.core.state import Compacting, Setup, State, Step, Target
from claw.core.transcript import CompactionEntry, CustomEntry, Entry, MessageEntry
from claw.core.usage import Usage

MODEL = Target(provider="anthropic", model="m", params={"top_k": 1})
CLI = Target(provider="claude-cli", model="m", cli=True)


def at(*history: Entry, target: Target = MODEL, **more: Any) -> Step:
    setup = {k: more.pop(k) for k in ("reserve", "reseed_chars", "workspace", "stream") if k in more}
    return Step(State(setup=Setup(session="s", targets=(target,), **setup), history=history, run="r", **more))


def said(id: str, message: Message, *, model: str | None = None, usage: Usage | None = None) -> MessageEntry:
    return MessageEntry(id=id, parent_id=None, message=message, model=model, usage=usage)


def bound(session: str | None, workspace: str = "", backend: str = "claude-cli") -> CustomEntry:
    data = {"backend": backend, "session": session, "workspace": workspace}
    return CustomEntry(id=f"b{session}", parent_id=None, custom_type="cli_session", data=data)


def test_a_main_call_carries_the_conversation_and_the_configuration() -> None:
    out = at(said("a", user("hi")), stream=False)
    asking.call_model(out)
    (command,) = out.commands
    assert isinstance(command, CallModel) and out.state.awaited == command.id
    request = command.request
    assert (request.purpose, request.stream, request.session, request.params) == ("main", False, "s", {"top_k": 1})
    assert request.messages == (user("hi"),)


def test_the_answer_is_given_the_room_that_is_left() -> None:
    """Input and answer share the window: 190,000 tokens leave less than the usual 32,000."""
    full = said("b", assistant(TextPart("x")), usage=Usage(input=190_000))
    out = at(said("a", user("hi")), full)
    asking.call_model(out)
    assert out.commands[0].request.max_tokens == 10_000  # type: ignore[union-attr]
    overfull = at(said("b", assistant(TextPart("x")), usage=Usage(input=199_900)))
    asking.call_model(overfull)
    assert overfull.commands[0].request.max_tokens == 32_000, "no useful room: let the provider say so"  # type: ignore[union-attr]


def test_a_summary_call_has_no_tools_and_no_history() -> None:
    job = Plan(pieces=("one", "two"), earlier="E", first_kept=None, request="", tokens_before=9, kept_tokens=0)
    out = at(compacting=Compacting(plan=job, trigger="overflow", tokens_before=9, summary="S", piece=1))
    asking.call_summary(out)
    request = out.commands[0].request  # type: ignore[union-attr]
    assert (request.purpose, request.tools, request.cache) == ("summary", (), "none")
    (message,) = request.messages
    assert "two" in message.text and "S" in message.text and "E" not in message.text.split()


def test_a_summary_is_short_where_the_window_is_small() -> None:
    sizes = [200_000, 50_000, 8_000]
    assert [asking.summary_tokens(at(window=w).state) for w in sizes] == [16_000, 6_250, 1_024]


def test_a_cli_is_resumed_where_its_session_holds_the_conversation() -> None:
    mine, other = "claude-cli/m", "anthropic/m"
    answer = said("x", assistant(TextPart("a")), model=mine)
    assert asking.bound_session(at(bound("s1"), answer, target=CLI).state) == "s1"
    assert asking.bound_session(at(bound("s1"), bound("s2"), target=CLI).state) == "s2"
    assert asking.bound_session(at(bound("s1"), bound(None), target=CLI).state) is None
    assert asking.bound_session(at(bound("s1", "/elsewhere"), target=CLI).state) is None
    assert asking.bound_session(at(bound("s1", backend="codex-cli"), target=CLI).state) is None
    foreign = said("y", assistant(TextPart("a")), model=other)
    assert asking.bound_session(at(bound("s1"), foreign, target=CLI).state) is None
    assert asking.bound_session(at(target=CLI).state) is None


def test_a_new_session_of_a_cli_is_bound_before_it_starts() -> None:
    out = at(said("a", user("hi")), target=CLI, prompt="hi", workspace="/w")
    asking.call_cli(out)
    written, start = out.commands
    assert isinstance(written, Persist) and isinstance(start, CallCli)
    assert written.entries[0].data == {"backend": "claude-cli", "session": start.session, "workspace": "/w"}  # type: ignore[union-attr]
    assert (start.prompt, start.resume) == ("hi", False)


def test_a_cli_without_a_session_has_nothing_to_compact() -> None:
    assert not asking.compact_cli(at(target=CLI))
    out = at(bound("s1"), target=CLI)
    assert asking.compact_cli(out) and out.commands[0].prompt == "/compact"  # type: ignore[union-attr]


def test_a_record_begins_with_the_summary_and_keeps_the_newest_that_fits() -> None:
    cut = CompactionEntry(
        id="c", parent_id=None, summary="SUM", first_kept_entry_id=None, tokens_before=1, tokens_after=1
    )
    turns = [said(f"{n}", user(f"q{n}") if n % 2 else assistant(TextPart(f"a{n}"))) for n in range(1, 10)]
    state = at(cut, *turns[:8], said("p", user("now")), target=CLI, prompt="now").state
    record = asking.reseed(state)
    assert record.index("[Summary]\nSUM") < record.index("[User]\nq1") < record.index("[Assistant]\na8")
    assert record.endswith("now") and record.count("now") == 1
    short = asking.reseed(at(*turns[:8], said("p", user("now")), target=CLI, prompt="now", reseed_chars=30).state)
    assert "a8" in short and "q1" not in short
    huge = at(said("1", user("x" * 500 + "END")), said("p", user("now")), target=CLI, prompt="now", reseed_chars=50)
    assert "END" in asking.reseed(huge.state) and len(asking.reseed(huge.state)) < 300


def test_without_anything_said_a_record_is_the_prompt_alone() -> None:
    assert asking.reseed(at(said("p", user("now")), target=CLI, prompt="now").state) == "now"


def test_fullness_is_measured_against_the_budget() -> None:
    nearly = said("b", assistant(TextPart("x")), usage=Usage(input=179_000))
    over = said("b", assistant(TextPart("x")), usage=Usage(input=181_000))
    assert not asking.too_full(at(nearly).state) and asking.too_full(at(over).state)


def test_a_clis_fullness_is_unknown_after_its_compaction() -> None:
    over = said("b", assistant(TextPart("x")), model="claude-cli/m", usage=Usage(input=190_000))
    folded = CustomEntry(id="f", parent_id=None, custom_type="cli_compaction")
    assert asking.cli_too_full(at(over, target=CLI).state)
    assert not asking.cli_too_full(at(over, folded, target=CLI).state)
    assert not asking.cli_too_full(at(target=CLI).state)
