"""Session files of the fake claude: two processes at once, a kill at any moment, a full disk. They stay readable."""

import asyncio
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from simulators.shells import shims
from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import run

from .served_stub import served
from .stub import STREAM, Run, Say, Stub, claude

SID = "11111111-2222-4333-8444-555555555555"
START = ("-p", "first", *STREAM, "--session-id", SID)
MORE = ("-p", "second", *STREAM, "--resume", SID)


def transcript(home: Path) -> Path:
    (found,) = (home / ".claude/projects").glob(f"*/{SID}.jsonl")
    return found


def rows(path: Path) -> list[dict[str, Any]]:
    """Every row; a line that cannot be read fails."""
    return [json.loads(line) for line in path.read_text().splitlines() if line]


@pytest.mark.parametrize("version", ["2.1.332", "2.1.19"])
def test_two_processes_at_once(tmp_path: Path, version: str) -> None:
    stub = Stub(Say("Hello", wait=1.0))
    processes = FakeProcesses(stub, config={"version": {"claude": version}})

    async def story() -> list[Run]:
        await claude(processes, *START, home=tmp_path)
        both = await asyncio.gather(*(claude(processes, *MORE, home=tmp_path) for _ in range(2)))
        return [*both, await claude(processes, *MORE, home=tmp_path)]

    assert [done.exit for done in run(story())] == [0, 0, 0]
    prompts = [r["message"]["content"] for r in rows(transcript(tmp_path)) if r["type"] == "user"]
    assert prompts.count("second") == 3
    assert "first" in json.dumps(stub.bodies[-1]["messages"])


@pytest.mark.parametrize("version", ["2.1.332", "2.1.19"])
def test_a_kill_in_the_middle_of_a_write(tmp_path: Path, version: str) -> None:
    """Wherever the file ends, the next process goes on, and all that was whole and all that is new can be read."""
    stub = Stub(Say("Hello"))
    processes = FakeProcesses(stub, config={"version": {"claude": version}})
    run(claude(processes, *START, home=tmp_path))
    path = transcript(tmp_path)
    whole = path.read_bytes()
    first = len(whole.splitlines(keepends=True)[0])
    places = [*range(first, len(whole), 97), len(whole) - 2, len(whole) - 1, len(whole)]
    for end in places:
        path.write_bytes(whole[:end])
        done = run(claude(processes, *MORE, home=tmp_path))
        assert done.exit == 0, (end, done.stderr)
        readable = []
        for line in path.read_text().splitlines():
            try:
                readable.append(json.loads(line))
            except ValueError:
                pass
        assert any(r["type"] == "user" and r["message"]["content"] == "second" for r in readable), end
        assert sum(r["type"] == "assistant" for r in readable) >= 1, end


def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    """The prompt is answered, stderr says what happened; once there is room, the session goes on."""
    stub = Stub(Say("Hello"))
    processes = FakeProcesses(stub)
    run(claude(processes, *START, home=tmp_path))
    path = transcript(tmp_path)
    before = path.read_bytes()
    (tmp_path / "full").write_text("a file, no folder: nothing can be written below it")
    nowhere = str(tmp_path / "full/session")
    full = FakeProcesses(stub, real_path=lambda name: nowhere if name.endswith(".jsonl") else name)
    done = run(claude(full, "-p", "hi", *STREAM, home=tmp_path))
    assert (done.exit, done.result["subtype"], done.result["is_error"]) == (1, "success", False)
    assert str(tmp_path / "full").encode() in done.stderr
    assert path.read_bytes() == before
    assert run(claude(processes, *MORE, home=tmp_path)).exit == 0


@pytest.mark.slow
def test_kill_9_at_any_moment(tmp_path: Path) -> None:
    """A real process, killed later and later; the session can be resumed every time it was begun."""
    shims.install(tmp_path / "bin")
    with served(Stub(Say("Hello"))) as port:
        env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-test-000"}
        env["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        command = [str(tmp_path / "bin/claude")]
        quiet: dict[str, Any] = {"env": env, "cwd": tmp_path, "stdin": subprocess.DEVNULL, "capture_output": True}
        subprocess.run([*command, *START], **quiet, check=True)
        for step in range(16):
            child = subprocess.Popen(
                [*command, *MORE], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            time.sleep(0.02 * step)
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        done = subprocess.run([*command, *MORE], **quiet, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["result"] == "Hello"
