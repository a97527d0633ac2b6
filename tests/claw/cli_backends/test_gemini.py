"""gemini-cli as a back end: its command line, and what its lines come to."""

import json

import pytest

from claw.cli_backends.gemini import BACKEND
from claw.core.calls import CliReply, CliRun, CliSession, CliTool, CliUsage
from claw.core.errors import ClawError, FailureKind
from claw.core.stream import MessageEnd, PartDelta
from claw.core.usage import Usage


def a_run(**changes: object) -> CliRun:
    given = {"prompt": "hi", "system": "Be brief.", "model": "gemini-2.5-flash", "cli_session": None, "resume": False}
    return CliRun(**{**given, "workspace": "/w", **changes})  # type: ignore[arg-type]


INIT = {"type": "init", "session_id": "G1", "model": "auto"}
STATS = {"total_tokens": 1030, "input_tokens": 1000, "output_tokens": 20, "cached": 400, "input": 600, "tool_calls": 0}
DONE = {"type": "result", "status": "success", "stats": STATS}
USED = Usage(input=600, cache_read=400, output=30, reasoning=10)


def said(text: str) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def decoded(*records: dict[str, object], exit: int = 0, stderr: bytes = b"", run: CliRun | None = None) -> list[object]:
    decoder = BACKEND.decoder(run or a_run())
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    return [*decoder.feed(data), *decoder.finish(exit, stderr)]


def reply(events: list[object]) -> CliReply:
    assert isinstance(events[-1], CliReply)
    return events[-1]


def test_the_instructions_go_before_the_prompt() -> None:
    command = BACKEND.command(a_run())
    assert command.stdin == b"<instructions>\nBe brief.\n</instructions>\n\nhi"
    assert {"--skip-trust", "--model", "gemini-2.5-flash", "stream-json"} <= set(command.argv)
    assert "--resume" not in command.argv


def test_a_resume() -> None:
    command = BACKEND.command(a_run(resume=True, cli_session="G1", prompt_when="first"))
    assert command.argv[-2:] == ("--resume", "G1")
    assert command.stdin == b"hi"


def test_what_it_cannot_be_given_is_refused() -> None:
    with pytest.raises(ClawError, match="cli_tools = native"):
        BACKEND.command(a_run(tools="hybrid"))


def test_an_answer_in_pieces_with_its_figures() -> None:
    events = decoded(INIT, said("O"), said("K"), DONE)
    assert CliSession("G1") in events
    assert [e.text for e in events if isinstance(e, PartDelta)] == ["O", "K"]
    assert sum(isinstance(e, MessageEnd) for e in events) == 1
    assert [e for e in events if isinstance(e, CliUsage)] == [CliUsage(USED, "last_call"), CliUsage(USED, "run_total")]
    assert reply(events) == CliReply(text="OK", stop="end_turn")


def test_the_reply_is_what_was_said_after_the_last_tool() -> None:
    use = {"type": "tool_use", "tool_name": "read_file", "tool_id": "t", "parameters": {"file_path": "a"}}
    result = {"type": "tool_result", "tool_id": "t", "status": "error", "output": "no"}
    events = decoded(INIT, said("Let me see. "), use, result, said("Done."), DONE)
    assert [(e.phase, e.name, e.ok) for e in events if isinstance(e, CliTool)] == [
        ("start", "read_file", None), ("end", "read_file", False),
    ]  # fmt: skip
    assert reply(events).text == "Done."
    assert [e.scope for e in events if isinstance(e, CliUsage)] == ["run_total"]


def test_where_the_router_was_asked_the_last_call_is_not_known() -> None:
    events = decoded(INIT, said("OK"), DONE, run=a_run(model="default"))
    assert [e.scope for e in events if isinstance(e, CliUsage)] == ["run_total"]


OVERFLOW = "The input token count (1500000) exceeds the maximum number of tokens allowed (1048576)."
FAILED = [
    (144, {"code": 400, "message": OVERFLOW, "status": "INVALID_ARGUMENT"}, FailureKind.CONTEXT_OVERFLOW),
    (173, {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}, FailureKind.RATE_LIMITED),
    (147, {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}, FailureKind.AUTH),
    (247, {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}, FailureKind.OVERLOADED),
]


@pytest.mark.parametrize(("code", "error", "kind"), FAILED)
def test_what_an_error_means(code: int, error: dict[str, object], kind: FailureKind) -> None:
    message = f"[API Error: {json.dumps({'error': error})}]"
    failed = {"type": "result", "status": "error", "error": {"type": "unknown", "message": message}, "stats": {}}
    failure = reply(decoded(INIT, failed, exit=code)).failure
    assert failure is not None
    assert (failure.kind, failure.status) == (kind, error["code"])


WORDS = [
    (42, b'Error resuming session: Invalid session identifier "x".', FailureKind.SESSION_EXPIRED),
    (41, b"you must specify the GEMINI_API_KEY environment variable", FailureKind.AUTH),
    (55, b"Gemini CLI is not running in a trusted directory.", FailureKind.BAD_REQUEST),
    (-9, b"", FailureKind.TRANSPORT),
]


@pytest.mark.parametrize(("code", "stderr", "kind"), WORDS)
def test_a_run_that_never_began(code: int, stderr: bytes, kind: FailureKind) -> None:
    failure = reply(decoded(exit=code, stderr=stderr)).failure
    assert failure is not None and failure.kind is kind


def test_an_answer_that_broke_off() -> None:
    error = {"type": "unknown", "message": "[API Error: terminated]"}
    failure = reply(decoded(INIT, said("ha"), {"type": "result", "status": "error", "error": error}, exit=1)).failure
    assert failure is not None
    assert (failure.kind, failure.replay_safe) == (FailureKind.TRUNCATED, False)


def test_no_word_and_no_end() -> None:
    empty, cut = reply(decoded(INIT, DONE)).failure, reply(decoded(INIT, said("ha"))).failure
    assert empty is not None and empty.kind is FailureKind.EMPTY_RESPONSE
    assert cut is not None and cut.kind is FailureKind.TRUNCATED
