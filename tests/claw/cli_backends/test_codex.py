"""codex as a back end: its command line, and what its lines come to."""

import json
import tomllib

import pytest

from claw.cli_backends.codex import BACKEND
from claw.core.calls import CliReply, CliRetry, CliRun, CliSession, CliTool, CliUsage
from claw.core.errors import ClawError, FailureKind
from claw.core.stream import PartDelta
from claw.core.usage import Usage


def a_run(**changes: object) -> CliRun:
    given = {"prompt": "hi", "system": 'Be "brief".\nÄ', "model": "gpt-5.5", "cli_session": None, "resume": False}
    return CliRun(**{**given, "workspace": "/w", **changes})  # type: ignore[arg-type]


def lines(*records: dict[str, object]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


BEGUN = {"type": "thread.started", "thread_id": "T1"}
FIGURES = {"input_tokens": 1000, "cached_input_tokens": 700, "cache_write_input_tokens": 100, "output_tokens": 60}
DONE = {"type": "turn.completed", "usage": {**FIGURES, "reasoning_output_tokens": 20}}
USED = Usage(input=200, cache_read=700, cache_write_5m=100, output=60, reasoning=20)


def said(text: str, id: str = "item_0") -> dict[str, object]:
    return {"type": "item.completed", "item": {"id": id, "type": "agent_message", "text": text}}


def decoded(*records: dict[str, object], exit: int = 0, stderr: bytes = b"", run: CliRun | None = None) -> list[object]:
    decoder = BACKEND.decoder(run or a_run())
    return [*decoder.feed(lines(*records)), *decoder.finish(exit, stderr)]


def reply(events: list[object]) -> CliReply:
    assert isinstance(events[-1], CliReply)
    return events[-1]


def test_the_prompt_goes_to_stdin_and_the_instructions_into_an_override() -> None:
    command = BACKEND.command(a_run())
    assert (command.argv[:4], command.argv[-1], command.stdin) == (
        ("codex", "exec", "--json", "--skip-git-repo-check"), "-", b"hi",
    )  # fmt: skip
    word = next(word for word in command.argv if word.startswith("developer_instructions="))
    assert tomllib.loads(word) == {"developer_instructions": 'Be "brief".\nÄ'}


def test_a_resume_names_the_thread_last_and_nothing_that_it_refuses() -> None:
    argv = BACKEND.command(a_run(resume=True, cli_session="T1")).argv
    assert argv[-3:] == ("resume", "T1", "-")
    assert not {"--sandbox", "--color"} & set(argv)


@pytest.mark.parametrize(
    ("when", "resume", "sent"), [("always", True, True), ("first", True, False), ("never", False, False)]
)
def test_when_the_instructions_are_sent(when: str, resume: bool, sent: bool) -> None:
    argv = BACKEND.command(a_run(prompt_when=when, resume=resume, cli_session="T1")).argv
    assert any(word.startswith("developer_instructions=") for word in argv) is sent


def test_what_it_cannot_be_given_is_refused() -> None:
    with pytest.raises(ClawError, match="cli_tools = native"):
        BACKEND.command(a_run(tools="claw"))
    with pytest.raises(ClawError, match="one argument takes"):
        BACKEND.command(a_run(system="x" * 200_000))


def test_an_answer_with_its_figures() -> None:
    events = decoded(BEGUN, said("OK"), DONE)
    assert CliSession("T1") in events
    assert reply(events) == CliReply(text="OK", stop="end_turn")
    assert [e for e in events if isinstance(e, CliUsage)] == [
        CliUsage(USED, "session_total"), CliUsage(USED, "last_call"), CliUsage(USED, "run_total"),
    ]  # fmt: skip


def test_figures_of_a_resumed_thread_are_what_they_grew_by() -> None:
    run = a_run(resume=True, cli_session="T1", spent=Usage(input=150, cache_read=600, cache_write_5m=100, output=10))
    events = decoded(BEGUN, said("OK"), DONE, run=run)
    grown = Usage(input=50, cache_read=100, output=50, reasoning=20)
    assert CliUsage(grown, "run_total") in events
    assert CliUsage(grown, "last_call") in events


def test_figures_that_were_begun_anew_are_this_runs() -> None:
    run = a_run(resume=True, cli_session="T1", spent=Usage(input=5000))
    assert CliUsage(USED, "run_total") in decoded(BEGUN, said("OK"), DONE, run=run)


def test_nothing_is_told_of_a_resumed_thread_that_nobody_has_counted() -> None:
    events = decoded(BEGUN, said("OK"), DONE, run=a_run(resume=True, cli_session="T1"))
    assert [e.scope for e in events if isinstance(e, CliUsage)] == ["session_total"]


def test_with_a_tool_there_were_several_calls_and_none_is_the_last_that_is_known() -> None:
    shell = {"id": "item_0", "type": "command_execution", "command": "ls", "status": "in_progress"}
    done = {**shell, "status": "failed", "aggregated_output": "no", "exit_code": 2}
    events = decoded(
        BEGUN, {"type": "item.started", "item": shell}, {"type": "item.completed", "item": done}, said("OK"), DONE
    )
    tools = [(e.phase, e.name, e.ok, e.text) for e in events if isinstance(e, CliTool)]
    assert tools == [("start", "shell", None, ""), ("end", "shell", False, "no")]
    assert "last_call" not in [e.scope for e in events if isinstance(e, CliUsage)]


def test_a_reconnect_is_a_notice_and_the_message_before_it_comes_again() -> None:
    notice = {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 503 Service Unavailable: x)"}
    events = decoded(BEGUN, said("OK"), notice, said("OK", "item_1"), DONE)
    assert [e.text for e in events if isinstance(e, PartDelta)] == ["OK"]
    assert [(e.attempt, e.status) for e in events if isinstance(e, CliRetry)] == [(1, 503)]
    assert reply(events).text == "OK"


FAILED = [
    ("Codex ran out of room in the model's context window. Start a new thread", FailureKind.CONTEXT_OVERFLOW),
    ("exceeded retry limit, last status: 429 Too Many Requests", FailureKind.RATE_LIMITED),
    ("Quota exceeded. Check your plan and billing details.", FailureKind.BILLING),
    ("unexpected status 401 Unauthorized: Incorrect API key provided, url: http://x/v1/responses", FailureKind.AUTH),
    ("Selected model is at capacity. Please try a different model.", FailureKind.OVERLOADED),
    ("stream disconnected before completion: stream closed before response.completed", FailureKind.TRUNCATED),
    ("Incomplete response returned, reason: max_output_tokens", FailureKind.OUTPUT_BUDGET),
    ("Missing environment variable: `K`.", FailureKind.AUTH),
]


@pytest.mark.parametrize(("message", "kind"), FAILED)
def test_what_a_failed_turn_means(message: str, kind: FailureKind) -> None:
    events = decoded(
        BEGUN, {"type": "error", "message": message}, {"type": "turn.failed", "error": {"message": message}}, exit=1
    )
    failure = reply(events).failure
    assert failure is not None
    assert (failure.kind, failure.replay_safe) == (kind, True)


def test_a_thread_that_is_gone() -> None:
    said = b"Error: thread/resume: thread/resume failed: no rollout found for thread id T9 (code -32600)\n"
    failure = reply(decoded(exit=1, stderr=said)).failure
    assert failure is not None and failure.kind is FailureKind.SESSION_EXPIRED


def test_arguments_that_it_does_not_take() -> None:
    failure = reply(decoded(exit=2, stderr=b"error: unexpected argument '--color' found\n")).failure
    assert failure is not None and failure.kind is FailureKind.BAD_REQUEST


def test_no_word_and_no_end() -> None:
    kinds = [
        reply(decoded(BEGUN, DONE)).failure,
        reply(decoded(BEGUN)).failure,
        reply(decoded(BEGUN, said("ha"))).failure,
    ]
    assert [f.kind for f in kinds if f] == [
        FailureKind.EMPTY_RESPONSE,
        FailureKind.EMPTY_RESPONSE,
        FailureKind.TRUNCATED,
    ]
