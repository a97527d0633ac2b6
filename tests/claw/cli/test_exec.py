"""`claw exec` as a program."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.claw.lab.test_exec import CLIENT, HI

pytestmark = pytest.mark.slow
CLAW = [sys.executable, "-m", "claw", "exec"]


def run(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLAW, *args], input=stdin, capture_output=True, text=True, timeout=60)


def test_the_commands_streams_are_its_own_and_the_report_is_on_stderr() -> None:
    done = run("--", "sh", "-c", "cat; echo oops >&2; exit 3", stdin="through\n")
    assert (done.returncode, done.stdout) == (3, "through\n")
    assert "oops" in done.stderr
    assert "ended with 3 after 0 calls" in done.stderr


def test_a_bad_verdict_is_1_and_the_report_has_its_shape(tmp_path: Path) -> None:
    """The client asks again at once after a 429 with retry-after."""
    report = tmp_path / "report.json"
    body = f"{CLIENT}\nask({HI}); ask({HI})"
    done = run("--github", "--fault", "rate_limited@1", "--json", str(report), "--", sys.executable, "-c", body)
    assert done.returncode == 1
    told: dict[str, Any] = json.loads(report.read_text())
    assert list(told) == ["exit", "calls", "verdict", "cache", "cost_usd"]
    assert (told["exit"], told["calls"]) == (0, 2)
    bad = [finding for finding in told["verdict"] if finding["status"] == "bad"]
    assert [set(finding) for finding in bad] == [{"check", "status", "exchanges", "why"}]
    assert (bad[0]["check"], bad[0]["exchanges"]) == ("sent_before_retry_after", [1, 2])
    assert "::error title=claw: sent_before_retry_after::" in done.stderr


def test_json_on_stdout() -> None:
    assert json.loads(run("--json", "-", "--", "true").stdout)["calls"] == 0


def test_options_of_the_command_are_not_ours() -> None:
    assert run("sh", "-c", "exit 4", "--json").returncode == 4


def test_bad_input_is_2() -> None:
    for args in (
        ["--fault", "x", "--", "true"],
        ["--script", "/none", "--", "true"],
        ["--json", "/none/x", "--", "true"],
        [],
    ):
        done = run(*args)
        assert done.returncode == 2, args
        assert done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command_and_its_outcome_is_told(number: signal.Signals) -> None:
    catch = (
        f"import signal,sys,time; signal.signal({int(number)}, lambda *_: sys.exit(9)); "
        "print('up', flush=True); time.sleep(30)"
    )
    child = subprocess.Popen(
        [*CLAW, "--", sys.executable, "-c", catch],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    began = time.monotonic()
    os.kill(child.pid, number)
    _, told = child.communicate(timeout=20)
    assert child.returncode == 9
    assert time.monotonic() - began < 15
    assert b"ended with 9" in told


def test_expectations_are_checked_afterwards(tmp_path: Path) -> None:
    """The checks are those of scenarios; one that does not hold, or cannot be made, is a 1."""
    script, expect = tmp_path / "script.yaml", tmp_path / "expect.yaml"
    script.write_text("turns: [{text: ok}]")
    command = ["--", sys.executable, "-c", f"{CLIENT}\nask({HI})"]
    for text, code in (
        ("expect: [{requests: {main: 1}}, {exit: 0}]", 0),
        ("expect: [{requests: {main: 2}}]", 1),
        ("expect: [{shown: {context_tokens: 1}}]", 1),
        ("expect: [{requets: {main: 1}}]", 2),
        ("steps: []", 2),
    ):
        expect.write_text(text)
        done = run("--script", str(script), "--expect", str(expect), *command)
        assert done.returncode == code, done.stderr
    expect.write_text("expect: [{requets: {main: 1}}]")
    assert "expect.yaml:1" in (told := run("--expect", str(expect), *command).stderr)
    assert "did you mean `requests`" in told
