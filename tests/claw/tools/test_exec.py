"""Commands: what comes back, and that nothing is left running."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from claw.tools.exec import TOOL

ORACLE = Path(__file__).parents[4] / "shared" / "oracles" / "exec.jsonl"


def test_both_streams_come_in_their_order(use, tmp_path):
    outcome = use("exec", command="pwd; echo two >&2; echo three")
    assert outcome.text == f"{tmp_path.resolve()}\ntwo\nthree"
    assert not outcome.is_error


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("true", 0, "(no output)"),
        ("echo out; exit 3", 3, "out\n\n(exit code 3)"),
        ("exit 3", 3, "(exit code 3)"),
        ("kill -9 $$", -9, "(ended by signal 9)"),
    ],
)
def test_an_exit_code_is_shown_and_makes_it_an_error(use, command, code, text):
    outcome = use("exec", command=command)
    assert (outcome.text, outcome.details["exit_code"], outcome.is_error) == (text, code, code != 0)


def test_a_command_that_is_not_there_is_told_as_such(use):
    assert use("exec", command="no-such-command-here").text.endswith("(exit code 127: command not found)")
    assert use("exec", command="/etc/passwd").text.endswith("(exit code 126: not executable)")


def test_a_command_has_no_input_and_knows_where_it_runs(use):
    assert use("exec", command="cat; echo $CLAW_SHELL $X", env={"X": "y"}).text == "exec y"


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES"])
def test_variables_that_choose_other_programs_are_refused(use, name):
    outcome = use("exec", command="echo x", env={name: "/x"})
    assert outcome.is_error
    assert f"exec does not set {name}" in outcome.text


def test_a_folder_outside_is_refused(use):
    assert use("exec", command="pwd", workdir="/").is_error
    assert use("exec", command="  ").is_error


def test_long_output_keeps_its_end(use):
    text = use("exec", command="seq 1 100000; echo the total").text
    assert len(text) <= 16_000
    assert text.endswith("the total")
    assert "earlier characters dropped" in text


def test_a_command_over_its_time_is_ended_and_what_it_said_is_kept(use, tmp_path):
    outcome = use("exec", command="echo said; sleep 60 & echo $! > child; wait", timeout=0.15)
    assert outcome.is_error
    assert outcome.text.startswith("said\n\n(ended after 0.15 seconds")
    assert outcome.details["timed_out"]
    assert not alive(tmp_path)


def test_what_a_command_leaves_running_ends_with_it(use, tmp_path):
    assert use("exec", command="sleep 60 & echo $! > child").text == "(no output)"
    assert not alive(tmp_path)


def test_cancelling_ends_the_whole_group(context, tmp_path):
    async def story():
        task = asyncio.create_task(TOOL.run({"command": "sleep 60 & echo $! > child; wait"}, context))
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(story(), 10))
    assert not alive(tmp_path)


def alive(folder):
    """Whether the child whose pid was written down still runs, after a moment for the kernel."""
    pid = (folder / "child").read_text().strip()
    for _ in range(1000):
        try:
            if re.search(r"\) Z ", Path(f"/proc/{pid}/stat").read_text()):
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
    return True


def test_it_does_what_another_runtimes_exec_does(use):
    """Texts are our own; classes and codes agree, but for a non-zero exit, which is an error here."""
    if not ORACLE.exists():
        pytest.skip(f"{ORACLE} is not there: another runtime's exec was not compared")
    records = [json.loads(line) for line in ORACLE.read_text().splitlines()]
    compared = 0
    for record in records:
        given, expected = record["input"], record["expected"]
        if not record["fn"].startswith("exec tool") or given.get("background") or "yieldMs" in given:
            continue
        outcome = use("exec", **given)
        compared += 1
        assert outcome.details["exit_code"] == expected["exitCode"], record["id"]
        assert outcome.is_error is (expected["exitCode"] != 0), record["id"]
        if "text" in expected:
            assert outcome.text == expected["text"], record["id"]
    assert compared >= 3
