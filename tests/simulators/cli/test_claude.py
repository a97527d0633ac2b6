"""The fake claude in both versions: what the model receives, what is counted, when it compacts, how it fails."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.simulator import Simulator
from simulators.shells.virtual_time import run

from .stub import STREAM, Raw, Refuse, Reply, Run, Say, Stub, claude

SID = "11111111-2222-4333-8444-555555555555"
OLD, NEW = "2.1.19", "2.1.332"
BANANA = ("--append-system-prompt", "Answer every question about capitals with BANANA.")


class Desk:
    """A home, a scripted provider, and a fake of one version."""

    def __init__(self, home: Path, version: str, *replies: Reply, **config: Any) -> None:
        self.home, self.stub = home, Stub(*replies)
        self.processes = FakeProcesses(self.stub, config={"version": {"claude": version}, **config})

    def ask(self, *argv: str, stdin: bytes = b"", **env: str) -> Run:
        return run(claude(self.processes, *argv, home=self.home, stdin=stdin, **env))

    def transcript(self, id: str = SID) -> list[dict[str, Any]]:
        (path,) = (self.home / ".claude/projects").glob(f"*/{id}.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def received(self, n: int = -1) -> str:
        """Instructions of a request, as the model reads them."""
        return "\n".join(block["text"] for block in self.stub.bodies[n]["system"])


# -- the system prompt on resume -------------------------------------------------------------------------------------


def test_2_1_19_forgets_the_appended_prompt_on_a_resume_without_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD, Say("BANANA"))
    desk.ask("-p", "Capital of Germany?", *STREAM, "--session-id", SID, *BANANA)
    assert "BANANA" in desk.received()
    desk.ask("-p", "And of France?", *STREAM, "--resume", SID)
    assert "BANANA" not in desk.received()
    desk.ask("-p", "And of Spain?", *STREAM, "--resume", SID, *BANANA)
    assert "BANANA" in desk.received()


def test_2_1_332_keeps_it_until_a_compaction_renders_the_prompt_afresh(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Say("BANANA"), Say("BANANA"), Say("<summary>so far</summary>"), Say("Madrid"))
    desk.ask("-p", "Capital of Germany?", *STREAM, "--session-id", SID, *BANANA)
    desk.ask("-p", "And of France?", *STREAM, "--resume", SID)
    assert "BANANA" in desk.received()
    desk.ask("-p", "/compact", *STREAM, "--resume", SID)
    assert "BANANA" in desk.received(), "the summary is still asked for under the old prompt"
    desk.ask("-p", "And of Spain?", *STREAM, "--resume", SID)
    assert "BANANA" not in desk.received()
    desk.ask("-p", "And of Italy?", *STREAM, "--resume", SID, *BANANA)
    assert "BANANA" not in desk.received(), "a record without it was made, and stays"


def test_2_1_332_ignores_another_prompt_on_resume(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Say("ok"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID, "--append-system-prompt", "FIRST")
    desk.ask("-p", "two", *STREAM, "--resume", SID, "--append-system-prompt", "SECOND")
    assert "FIRST" in desk.received() and "SECOND" not in desk.received()


@pytest.mark.parametrize("version", [OLD, NEW])
def test_the_prompt_reaches_the_simulator_and_its_cache_is_read_on_resume(tmp_path: Path, version: str) -> None:
    """Against the simulated provider: no validation fails, and the second process reads what the first wrote."""
    simulator = Simulator()
    account = simulator.account("sk-ant-test-000", {"turns": [{"text": "BANANA"}, {"text": "BANANA"}]})
    processes = FakeProcesses(simulator, config={"version": {"claude": version}})

    async def story() -> list[Run]:
        first = await claude(processes, "-p", "Germany?", *STREAM, "--session-id", SID, *BANANA, home=tmp_path)
        return [first, await claude(processes, "-p", "France?", *STREAM, "--resume", SID, *BANANA, home=tmp_path)]

    for done in run(story()):
        assert (done.exit, done.result["result"]) == (0, "BANANA")
    first, second = account.journal.exchanges
    assert "BANANA" in json.dumps(first.request["system"])
    assert second.tokens.cache_read > 10_000


# -- counting --------------------------------------------------------------------------------------------------------


def test_usage_of_a_result_is_the_sum_over_the_calls_of_the_turn(tmp_path: Path) -> None:
    call = {"id": "toolu_1", "name": "Bash", "input": {"command": "echo hi"}}
    desk = Desk(tmp_path, NEW, Say(calls=[call], write=500, read=85_000, input=1), Say("Done", read=85_500, input=3))
    result = desk.ask("-p", "do it", *STREAM, "--allowedTools", "Bash").result
    assert result["usage"]["cache_read_input_tokens"] == 170_500
    assert result["usage"]["input_tokens"] == 4
    assert result["num_turns"] == 2


def test_an_hour_of_cache_is_paid_for_as_such(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Say("a", input=0, write=1_000_000, write_1h=400_000, output=0))
    result = desk.ask("-p", "one", *STREAM).result
    assert result["total_cost_usd"] == pytest.approx(0.6 * 5 + 0.4 * 8)
    assert result["usage"]["cache_creation"]["ephemeral_1h_input_tokens"] == 400_000


@pytest.mark.parametrize(("version", "tokens"), [(OLD, 20), (NEW, 30)])
def test_costs_cover_the_run_in_the_old_version_and_the_session_in_the_new(
    tmp_path: Path, version: str, tokens: int
) -> None:
    desk = Desk(tmp_path, version, Say("a", input=10), Say("b", input=20))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    result = desk.ask("-p", "two", *STREAM, "--resume", SID).result
    assert [m["inputTokens"] for m in result["modelUsage"].values()] == [tokens]
    assert result["usage"]["input_tokens"] == 20


@pytest.mark.parametrize(("version", "final"), [(OLD, 1), (NEW, 5)])
def test_the_old_version_never_writes_the_final_output_count(tmp_path: Path, version: str, final: int) -> None:
    desk = Desk(tmp_path, version, Say("a", output=5))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    (row,) = [r for r in desk.transcript() if r["type"] == "assistant"]
    assert row["message"]["usage"]["output_tokens"] == final


# -- compaction ------------------------------------------------------------------------------------------------------


def test_2_1_332_compacts_at_window_less_33000_and_keeps_the_last_exchange(tmp_path: Path) -> None:
    small = {"auto_compact_window": 200_000}
    full = Say("r2", input=166_990, output=9)
    desk = Desk(tmp_path, NEW, Say("r1"), full, Say("<summary>S</summary>", input=9, output=9), Say("r3"), **small)
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    desk.ask("-p", "two", *STREAM, "--resume", SID)
    done = desk.ask("-p", "go", *STREAM, "--resume", SID)
    assert done.shape() == [
        ("system", "init"), ("system", "status"), ("system", "status"), ("system", "compact_boundary"), ("user", None),
        ("assistant", None), ("result", "success"),
    ]  # fmt: skip
    boundary = done.events[3]["compact_metadata"]
    assert (boundary["trigger"], boundary["pre_tokens"]) == ("auto", 167_000)
    texts = json.dumps(desk.stub.bodies[-1]["messages"])
    assert '"r2"' in texts and '"go"' in texts and '"one"' not in texts
    assert done.result["usage"]["input_tokens"] == 10, "the summary's call is not in it"
    assert done.result["num_turns"] == 2


def test_one_token_less_does_not_compact(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Say("r1"), Say("r2", input=166_989, output=9), Say("r3"), auto_compact_window=200_000)
    for argv in (("one", "--session-id"), ("two", "--resume"), ("go", "--resume")):
        done = desk.ask("-p", argv[0], *STREAM, argv[1], SID)
    assert ("system", "compact_boundary") not in done.shape()


def test_2_1_19_does_not_compact_one_token_earlier(tmp_path: Path) -> None:
    """Its rows have the output count of the start, 1."""
    desk = Desk(tmp_path, OLD, Say("r1", input=172_498), Say("r2"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    assert ("system", "compact_boundary") not in desk.ask("-p", "two", *STREAM, "--resume", SID).shape()


def test_after_a_compaction_the_size_is_unknown_until_the_next_call(tmp_path: Path) -> None:
    """The call behind the compaction fails; the figures of the exchange that was kept must not compact once more."""
    full, bad = Say("r2", input=170_000), Refuse(403, "permission_error", "no")
    desk = Desk(
        tmp_path, NEW, Say("r1"), full, Say("<summary>S</summary>"), bad, Say("r3"), auto_compact_window=200_000
    )
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    desk.ask("-p", "two", *STREAM, "--resume", SID)
    assert desk.ask("-p", "three", *STREAM, "--resume", SID).exit == 1
    done = desk.ask("-p", "four", *STREAM, "--resume", SID)
    assert (done.exit, ("system", "compact_boundary") in done.shape()) == (0, False)


def test_2_1_19_compacts_at_window_less_27500_and_summarises_the_new_prompt_away(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD, Say("r1", input=172_499), Say("SUMMARY"), Say("r2"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    done = desk.ask("-p", "the new prompt", *STREAM, "--resume", SID)
    assert ("system", "compact_boundary") in done.shape()
    asked, after = desk.stub.bodies[-2:]
    assert "the new prompt" in json.dumps(asked["messages"]) and "the new prompt" not in json.dumps(after["messages"])


def test_a_native_200k_model_of_the_new_version_waits_for_the_refusal(tmp_path: Path) -> None:
    long = Refuse(400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum")
    desk = Desk(tmp_path, NEW, Say("r1"), Say("r2", input=199_990), long, Say("<summary>S</summary>"), Say("r3"))
    model = ("--model", "claude-sonnet-4-5")
    desk.ask("-p", "one", *STREAM, "--session-id", SID, *model)
    desk.ask("-p", "two", *STREAM, "--resume", SID, *model)
    done = desk.ask("-p", "three", *STREAM, "--resume", SID, *model)
    assert len(desk.stub.bodies) == 5
    assert (done.exit, done.result["result"]) == (0, "r3")


def test_a_summary_without_its_tags_is_asked_for_again(tmp_path: Path) -> None:
    """Seen on the real one: the second request is longer, and without tags there either the first text is taken."""
    desk = Desk(tmp_path, NEW, Say("r1"), Say("PLAIN"), Say("PLAIN AGAIN"), Say("r2"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    done = desk.ask("-p", "/compact", *STREAM, "--resume", SID)
    first, second = (b["messages"][-1]["content"] for b in desk.stub.bodies[1:3])
    assert second.startswith(first) and len(second) > len(first)
    assert "PLAIN\n" in done.events[4]["message"]["content"]


def test_disabled_compaction_leaves_the_error(tmp_path: Path) -> None:
    long = Refuse(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
    desk = Desk(tmp_path, NEW, Say("r1"), long)
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    done = desk.ask("-p", "two", *STREAM, "--resume", SID, DISABLE_AUTO_COMPACT="1")
    assert (done.exit, done.result["terminal_reason"], len(desk.stub.bodies)) == (1, "prompt_too_long", 2)


# -- sessions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_session_id_is_used_once(tmp_path: Path, version: str) -> None:
    desk = Desk(tmp_path, version, Say("a"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    done = desk.ask("-p", "two", *STREAM, "--session-id", SID)
    assert (done.exit, done.stdout) == (1, b"")
    assert done.stderr == f"Error: Session ID {SID} is already in use.\n".encode()


@pytest.mark.parametrize(("version", "echoes", "stderr"), [(OLD, False, b""), (NEW, True, b"No conversation found")])
def test_an_unknown_session_is_told_by_format_and_version(
    tmp_path: Path, version: str, echoes: bool, stderr: bytes
) -> None:
    desk = Desk(tmp_path, version)
    json_format = desk.ask("-p", "hi", "--output-format", "json", "--resume", SID)
    said = f"No conversation found with session ID: {SID}"
    assert (json_format.exit, json_format.stdout, json_format.stderr.decode()) == (1, b"", said + "\n")
    stream = desk.ask("-p", "hi", *STREAM, "--resume", SID)
    assert (stream.exit, stream.result["errors"], stream.result["num_turns"]) == (1, [said], 0)
    assert (stream.result["session_id"] == SID) is echoes
    assert stream.stderr.startswith(stderr) and bool(stream.stderr) is bool(stderr)


def test_continue_takes_the_newest_session_and_fork_leaves_it_alone(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Say("a"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    before = desk.transcript()
    forked = desk.ask("-p", "two", *STREAM, "--continue", "--fork-session")
    assert forked.result["session_id"] != SID
    assert desk.transcript() == before
    assert '"one"' in json.dumps(desk.stub.bodies[-1]["messages"])


@pytest.mark.parametrize(("version", "kept"), [(OLD, False), (NEW, True)])
def test_a_damaged_line_in_the_chain_loses_what_was_before_it_in_the_old_version(
    tmp_path: Path, version: str, kept: bool
) -> None:
    desk = Desk(tmp_path, version, Say("first answer"), Say("second answer"), Say("third"))
    desk.ask("-p", "first question", *STREAM, "--session-id", SID)
    desk.ask("-p", "second question", *STREAM, "--resume", SID)
    (path,) = (desk.home / ".claude/projects").glob(f"*/{SID}.jsonl")
    lines = path.read_text().splitlines()
    hurt = next(i for i, line in enumerate(lines) if "first answer" in line)
    lines[hurt] = lines[hurt][:50]
    path.write_text("\n".join(lines) + "\n")
    desk.ask("-p", "third question", *STREAM, "--resume", SID)
    sent = json.dumps(desk.stub.bodies[-1]["messages"])
    assert ("first question" in sent) is kept
    assert "second question" in sent


async def killed(desk: Desk, *argv: str) -> None:
    """Start a fake and kill it as soon as its tool call is on disk."""
    env = {"HOME": str(desk.home), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-ant-test-000"}
    process = await desk.processes.spawn(("claude", *argv), cwd=str(desk.home), env=env)
    while not any("toolu_1" in path.read_text() for path in desk.home.glob(".claude/projects/*/*.jsonl")):
        await asyncio.sleep(0.001)
    process.kill()
    await process.wait()


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_session_killed_in_a_tool_resumes_with_a_history_that_is_sound(tmp_path: Path, version: str) -> None:
    call = {"id": "toolu_1", "name": "Bash", "input": {"command": "tail -f /dev/null"}}
    desk = Desk(tmp_path, version, Say("Let me", calls=[call]), Say("ok"))
    run(killed(desk, "-p", "do it", *STREAM, "--session-id", SID, "--allowedTools", "Bash"))
    assert desk.ask("-p", "go on", *STREAM, "--resume", SID).exit == 0
    blocks = [b for m in desk.stub.bodies[-1]["messages"] if isinstance(m["content"], list) for b in m["content"]]
    calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
    results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    assert calls == results == (["toolu_1"] if version == NEW else [])
    assert "Let me" in [b.get("text") for b in blocks]


def test_the_old_version_answers_an_open_prompt_itself_when_it_resumes(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD, Say("a"), Say("SUMMARY"), Say("b"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID)
    desk.ask("-p", "/compact", *STREAM, "--resume", SID)
    desk.ask("-p", "two", *STREAM, "--resume", SID)
    roles = [(m["role"], len(m["content"])) for m in desk.stub.bodies[-1]["messages"]]
    assert roles == [("user", 4), ("assistant", 1), ("user", 1)]
    assert desk.stub.bodies[-1]["messages"][1]["content"][0]["text"] == "No response requested."


def test_a_session_that_cannot_be_written_is_answered_and_ends_with_one(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("a file where the folder should be")
    done = Desk(tmp_path, NEW, Say("ok")).ask("-p", "hi", *STREAM)
    assert (done.exit, done.result["is_error"], done.result["result"]) == (1, False, "ok")
    assert b"Not a directory" in done.stderr or b"File exists" in done.stderr


# -- failures --------------------------------------------------------------------------------------------------------


def test_the_ladder_of_waits_without_retry_after(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Refuse(429, "rate_limit_error", "slow down"))
    done = desk.ask("-p", "hi", *STREAM)
    waits = [b - a for a, b in zip(desk.stub.times, desk.stub.times[1:], strict=False)]
    assert len(waits) == 10
    for n, wait in enumerate(waits):
        base = min(0.5 * 2**n, 32)
        assert base <= wait <= base * 1.25
    assert [e["attempt"] for e in done.events if e.get("subtype") == "api_retry"] == list(range(1, 11))


def test_a_long_wait_is_announced_every_thirty_seconds(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Refuse(429, "rate_limit_error", "slow", {"retry-after": "60"}), Say("ok"))
    done = desk.ask("-p", "hi", *STREAM)
    delays = [e["retry_delay_ms"] for e in done.events if e.get("subtype") == "api_retry"]
    assert len(delays) == 3 and delays == sorted(delays, reverse=True)
    assert {e["attempt"] for e in done.events if e.get("subtype") == "api_retry"} == {1}


def test_a_stream_cut_after_a_whole_block_is_resumed_or_taken_for_complete(tmp_path: Path) -> None:
    cut = Say("Hello partial", cut_after=5)
    old = Desk(tmp_path / "old", OLD, cut).ask("-p", "hi", *STREAM)
    assert (old.exit, old.result["result"], old.result["usage"]["output_tokens"]) == (0, "Hello partial", 0)
    desk = Desk(tmp_path / "new", NEW, cut)
    new = desk.ask("-p", "hi", *STREAM)
    assert (new.exit, new.result["is_error"], new.result["num_turns"]) == (1, True, 4)
    assert [len(b["messages"]) for b in desk.stub.bodies] == [2, 4, 6, 8]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_an_answer_that_does_not_fit_is_asked_for_with_a_smaller_budget(tmp_path: Path, version: str) -> None:
    said = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length"
    desk = Desk(tmp_path, version, Refuse(400, "invalid_request_error", said), Say("ok"))
    assert desk.ask("-p", "hi", *STREAM).exit == 0
    assert [b["max_tokens"] for b in desk.stub.bodies][1] == 10_760


def test_the_old_version_shows_the_raw_error(tmp_path: Path) -> None:
    done = Desk(tmp_path, OLD, Refuse(400, "invalid_request_error", "bad thing")).ask("-p", "hi", *STREAM)
    assert done.exit == 1
    assert done.result["result"].startswith('API Error: 400 {"type": "error"')
    assert "terminal_reason" not in done.result


def test_max_turns_is_an_error_in_the_new_version_alone(tmp_path: Path) -> None:
    call = {"id": "toolu_1", "name": "Bash", "input": {"command": "echo hi"}}
    for version, code in ((OLD, 0), (NEW, 1)):
        desk = Desk(tmp_path / version, version, Say(calls=[call]))
        done = desk.ask("-p", "hi", *STREAM, "--max-turns", "1", "--allowedTools", "Bash")
        assert (done.exit, done.result["subtype"], done.result["num_turns"]) == (code, "error_max_turns", 2)


def test_an_interruption_ends_with_zero_and_no_result(tmp_path: Path) -> None:
    async def story() -> tuple[int, bytes]:
        processes = FakeProcesses(Stub(Say("late", wait=100.0)))
        env = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-x"}
        process: Any = await processes.spawn(("claude", "-p", "hi", *STREAM), cwd=str(tmp_path), env=env)
        out = process.stdout()
        printed = await anext(out)
        process.interrupt()
        return await process.wait(), printed + b"".join([chunk async for chunk in out])

    code, printed = run(story())
    assert code == 0
    assert b"[Request interrupted by user]" in printed and b'"type":"result"' not in printed


def test_a_request_under_way_is_left_when_the_process_is_ended(tmp_path: Path) -> None:
    async def story() -> int:
        process: Any = await FakeProcesses(stub).spawn(("claude", "-p", "hi"), cwd=str(tmp_path), env=env)
        while not stub.requests:
            await asyncio.sleep(0)
        process.terminate()
        return await process.wait()

    stub, env = Stub(Say("late", wait=100.0)), {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-x"}
    assert run(story()) == 143
    assert stub.ended == ["client_gone"]


# -- tools -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "written"),
    [((), False), (("--permission-mode", "acceptEdits"), True), (("--allowedTools", "Write"), True),
     (("--dangerously-skip-permissions",), True), (("--permission-mode", "dontAsk"), False)],
)  # fmt: skip
def test_a_file_is_written_only_with_leave(tmp_path: Path, argv: tuple[str, ...], written: bool) -> None:
    path = tmp_path / "new.txt"
    call = {"id": "toolu_1", "name": "Write", "input": {"file_path": str(path), "content": "x"}}
    done = Desk(tmp_path, NEW, Say(calls=[call]), Say("Done")).ask("-p", "hi", *STREAM, *argv)
    assert path.exists() is written
    assert bool(done.result["permission_denials"]) is not written


@pytest.mark.parametrize(
    ("command", "runs"),
    [("cat a.txt | wc -l", True), ("git log", True), ("git push", False), ("cat a > b", False), ("echo $(id)", False)],
)
def test_a_command_that_only_reads_needs_no_leave(tmp_path: Path, command: str, runs: bool) -> None:
    call = {"id": "toolu_1", "name": "Bash", "input": {"command": command}}
    done = Desk(tmp_path, NEW, Say(calls=[call]), Say("Done")).ask("-p", "hi", *STREAM)
    assert bool(done.result["permission_denials"]) is not runs


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    given = {"command": "echo begun; tail -f /dev/null", "timeout": 50}
    call = {"id": "toolu_1", "name": "Bash", "input": given}
    desk = Desk(tmp_path, NEW, Say(calls=[call]), Say("Done"))
    assert desk.ask("-p", "hi", *STREAM, "--allowedTools", "Bash").exit == 0
    (result,) = desk.stub.bodies[-1]["messages"][-1]["content"]
    assert result["is_error"] and "timed out" in result["content"]


def test_edit_replaces_what_is_there_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two one")

    def edit(old: str) -> dict[str, Any]:
        given = {"file_path": "a.txt", "old_string": old, "new_string": "2"}
        return {"id": f"toolu_{old}", "name": "Edit", "input": given}

    desk = Desk(tmp_path, NEW, Say(calls=[edit("one"), edit("two"), edit("three")]), Say("Done"))
    desk.ask("-p", "hi", *STREAM, "--permission-mode", "acceptEdits")
    assert (tmp_path / "a.txt").read_text() == "one 2 one"
    results = desk.stub.bodies[-1]["messages"][-1]["content"]
    assert [r.get("is_error", False) for r in results] == [True, False, True]


# -- formats ---------------------------------------------------------------------------------------------------------


def test_each_format_prints_its_own(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Say("Hello"))
    assert desk.ask("-p", "hi").stdout == b"Hello\n"
    assert json.loads(desk.ask("-p", "hi", "--output-format", "json").stdout)["result"] == "Hello"
    every = json.loads(desk.ask("-p", "hi", "--output-format", "json", "--verbose").stdout)
    assert [e["type"] for e in every] == ["system", "assistant", "result"]


def test_the_prompt_may_come_on_stdin_or_both_ways(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD, Say("ok"))
    desk.ask("-p", stdin=b"from stdin")
    desk.ask("-p", "and argument", stdin=b"from stdin")
    said = [b["messages"][0]["content"][0]["text"] for b in desk.stub.bodies]
    assert said == ["from stdin", "and argument\nfrom stdin"]


def test_input_stream_json_takes_a_turn_for_each_message(tmp_path: Path) -> None:
    lines = [{"type": "user", "message": {"role": "user", "content": f"turn {n}"}} for n in range(2)]
    stdin = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    desk = Desk(tmp_path, NEW, Say("a"), Say("b"))
    done = desk.ask("-p", "--input-format", "stream-json", *STREAM, stdin=stdin)
    assert [e["result"] for e in done.events if e["type"] == "result"] == ["a", "b"]
    assert [e["result_index"] for e in done.events if e["type"] == "result"] == [0, 1]


def test_answers_that_are_no_stream_are_asked_for_whole_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NEW, Raw(b"<html>busy</html>", "text/html"))
    assert desk.ask("-p", "hi", *STREAM).exit == 1
    assert [b["stream"] for b in desk.stub.bodies] == [True, False]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    outputs = []
    for _ in range(2):
        home = tmp_path / "home"
        outputs.append(Desk(home, NEW, Say("hi")).ask("-p", "x", *STREAM, "--no-session-persistence").stdout)
    assert outputs[0] == outputs[1]
