"""The fakes as programs: started by a shim, over HTTP or alone, with signals and real files."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulators.pytest_plugin import ClawCli, ClawSim
from simulators.shells import shims

SID = "11111111-2222-4333-8444-555555555555"
STREAM = ("--output-format", "stream-json", "--verbose")


@pytest.fixture
def shim(tmp_path: Path) -> str:
    return shims.install(tmp_path / "bin")[0]["path"]


def start(shim: str, *argv: str, home: Path, **env: str) -> "subprocess.Popen[bytes]":
    base = {"HOME": str(home), "PATH": os.environ["PATH"]}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [shim, *argv], cwd=home, env={**base, **env}, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=30)
    return process.returncode, out.decode(), err.decode()


def test_it_answers_over_http_and_leaves_a_session(claw_sim: ClawSim, claw_cli: ClawCli) -> None:
    claw_sim.script(["Hello", {"tool_calls": [{"name": "Bash", "input": {"command": "echo $HOME"}}]}, "Done"])
    first = subprocess.run(
        ["claude", "-p", "hi", *STREAM, "--session-id", SID], capture_output=True, stdin=-3, timeout=30
    )
    assert first.returncode == 0, first.stderr
    (session,) = (claw_cli.home / ".claude/projects").glob(f"*/{SID}.jsonl")
    assert "Hello" in session.read_text()
    again = subprocess.run(["claude", "-p", "go", *STREAM, "--resume", SID], capture_output=True, stdin=-3, timeout=30)
    events = [json.loads(line) for line in again.stdout.splitlines()]
    assert events[-1]["result"] == "Done"
    results = [e["message"]["content"][0]["content"] for e in events if e["type"] == "user"]
    assert results == [str(claw_cli.home)]
    assert claw_sim.journal[-1]["tokens"]["cache_read"] > 0


def test_it_plays_another_release_and_misbehaves_as_the_document_says(claw_sim: ClawSim, claw_cli: ClawCli) -> None:
    claw_cli.configure(version={"claude": "2.1.19"}, misbehave=[{"kind": "die", "at": "init", "signal": "TERM"}])
    done = subprocess.run(["claude", "-p", "hi", *STREAM], capture_output=True, stdin=-3, timeout=30)
    assert done.returncode == -signal.SIGTERM
    assert json.loads(done.stdout)["claude_code_version"] == "2.1.19"


def test_it_talks_to_an_mcp_server(claw_sim: ClawSim, claw_cli: ClawCli) -> None:
    claw_sim.script([{"tool_calls": [{"name": "mcp__echo__say", "input": {"text": "yo"}}]}, "Done"])
    echo = {"command": sys.executable, "args": [str(Path(__file__).parents[1] / "cli/mcp_echo.py")]}
    config = json.dumps({"mcpServers": {"echo": echo}})
    argv = ["claude", "-p", "hi", *STREAM, "--mcp-config", config, "--allowedTools", "mcp__echo"]
    done = subprocess.run(argv, capture_output=True, stdin=-3, timeout=30)
    assert done.returncode == 0, done.stderr
    assert b"MARK_MCP yo" in done.stdout


def test_alone_it_answers_by_itself_from_the_documents_provider(shim: str, tmp_path: Path) -> None:
    document = tmp_path / "fake.yaml"
    document.write_text("provider:\n  turns:\n  - text: all alone\n")
    code, out, err = ended(start(shim, "-p", "hi", home=tmp_path, CLAW_FAKE_CONFIG=str(document)))
    assert (code, out, err) == (0, "all alone\n", "")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("answer: alonne\n", "fake.yaml:1: answer: `alonne` is none of alone, http; did you mean `alone`?"),
        (
            "provider:\n  turns:\n  - txt: x\n",
            "fake.yaml:3: provider.turns[0].txt: unknown key `txt`; did you mean `text`?",
        ),
    ],
)
def test_a_bad_document_is_refused_by_place(shim: str, tmp_path: Path, document: str, said: str) -> None:
    path = tmp_path / "fake.yaml"
    path.write_text(document)
    code, out, err = ended(start(shim, "-p", "hi", home=tmp_path, CLAW_FAKE_CONFIG=str(path)))
    assert (code, out, err) == (2, "", f"{tmp_path}/{said}\n")


def test_a_server_that_is_not_there_is_a_dropped_connection(shim: str, tmp_path: Path) -> None:
    nowhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "sk-x", "CLAUDE_CODE_MAX_RETRIES": "0"}
    code, out, _ = ended(start(shim, "-p", "hi", home=tmp_path, **nowhere))
    assert (code, out.startswith("API Error: Connection dropped")) == (1, True)


def test_a_module_in_the_working_directory_does_not_get_in(shim: str, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')")
    assert ended(start(shim, "--version", home=tmp_path))[:2] == (0, "2.1.332 (Claude Code)\n")


@pytest.fixture
def waiting(shim: str, tmp_path: Path) -> Iterator[Any]:
    """A fake that has printed its first line and hangs."""
    document = json.dumps({"misbehave": [{"kind": "hang", "at": "init"}]})
    process = start(shim, "-p", "hi", *STREAM, home=tmp_path, CLAW_FAKE_CONFIG=document)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_sigterm_ends_it_with_143(waiting: Any) -> None:
    waiting.terminate()
    assert ended(waiting) == (143, "", "")


def test_sigint_is_noted_and_ends_it_with_zero(waiting: Any) -> None:
    waiting.send_signal(signal.SIGINT)
    code, out, _ = ended(waiting)
    assert (code, "[Request interrupted by user]" in out) == (0, True)


def test_it_starts_with_the_standard_library_alone() -> None:
    code = (
        "import sys, simulators.shells.program; "
        "print([m for m in sys.modules if m.partition('.')[0] in ('msgspec', 'yaml', 'typer', 'asyncio', 'httpx2')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30).stdout == b"[]\n"
