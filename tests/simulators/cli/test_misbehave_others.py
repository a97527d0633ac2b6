"""The ways to misbehave, on codex and gemini as on claude: each does at its point what its name says."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import run

from . import gemini_stub, responses_stub
from .responses_stub import Answer, ResponsesStub, command, text
from .stub import Run

CONFIG = 'model = "gpt-5.5"\nopenai_base_url = "http://127.0.0.1:1/v1"\n'
ARGV = {
    "codex": ("codex", "exec", "--json", "--skip-git-repo-check", "hi"),
    "gemini": ("gemini", "-p", "hi", "-o", "stream-json", "--skip-trust", "--yolo", "-m", "gemini-2.5-flash"),
}
RESUME = {
    "codex": ("codex", "exec", "--json", "--skip-git-repo-check", "resume", "ID", "again"),
    "gemini": (*ARGV["gemini"], "--resume", "ID"),
}
CLIS = tuple(ARGV)


def provider(cli: str) -> Any:
    """Who says a word, runs a command and says another."""
    if cli == "codex":
        return ResponsesStub(Answer([text("one"), command("echo hi")]), responses_stub.say("two"))
    shell = {"functionCall": {"name": "run_shell_command", "args": {"command": "echo hi"}}}
    return gemini_stub.GeminiStub(gemini_stub.Pieces([[{"text": "one"}], [shell]]), gemini_stub.say("two"))


async def spawned(processes: FakeProcesses, home: Path, argv: tuple[str, ...]) -> Run:
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-x", "GEMINI_API_KEY": "k"}
    process = await processes.spawn(argv, cwd=str(home), env=env)

    async def all_of(stream: Any) -> bytes:
        return b"".join([chunk async for chunk in stream])

    out, err = await asyncio.gather(all_of(process.stdout()), all_of(process.stderr()))
    return Run(await process.wait(), out, err)


def play(home: Path, cli: str, *ways: Mapping[str, Any], argv: tuple[str, ...] | None = None) -> Run:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text(CONFIG)
    processes = FakeProcesses(provider(cli), config={"misbehave": list(ways)})
    return run(spawned(processes, home, argv or ARGV[cli]))


def types(done: Run) -> list[str]:
    return [event["type"] for event in done.events]


def session(done: Run) -> str:
    first = done.events[0]
    return str(first.get("thread_id") or first.get("session_id"))


BEFORE = {
    ("codex", "start"): [],
    ("codex", "init"): ["thread.started"],
    ("codex", "text"): ["thread.started", "turn.started", "item.completed"],
    ("codex", "tool"): ["thread.started", "turn.started", "item.completed", "item.started"],
    ("gemini", "start"): [],
    ("gemini", "init"): ["init"],
    ("gemini", "text"): ["init", "message", "message"],
    ("gemini", "tool"): ["init", "message", "message", "tool_use"],
}


@pytest.mark.parametrize(("cli", "at"), BEFORE)
def test_it_dies_at_its_point(tmp_path: Path, cli: str, at: str) -> None:
    done = play(tmp_path, cli, {"kind": "die", "at": at, "code": 7})
    assert (done.exit, types(done)) == (7, BEFORE[cli, at])


@pytest.mark.parametrize("cli", CLIS)
def test_the_last_word_is_swallowed(tmp_path: Path, cli: str) -> None:
    whole, cut = play(tmp_path, cli), play(tmp_path, cli, {"kind": "no_result"})
    assert types(cut) == types(whole)[:-1]


@pytest.mark.parametrize("cli", CLIS)
def test_an_error_with_exit_code_0(tmp_path: Path, cli: str) -> None:
    done = play(tmp_path, cli, {"kind": "error_exit_0"})
    assert done.exit == 0
    assert "API Error: 500" in json.dumps(done.events[-1]["error"])


@pytest.mark.parametrize("cli", CLIS)
def test_a_success_without_a_word(tmp_path: Path, cli: str) -> None:
    done = play(tmp_path, cli, {"kind": "empty_success"})
    said = [
        e for e in done.events if e.get("role") == "assistant" or (e.get("item") or {}).get("type") == "agent_message"
    ]
    assert (done.exit, said) == (0, [])
    assert types(done)[-1] in ("turn.completed", "result")


@pytest.mark.parametrize("cli", CLIS)
def test_another_sessions_id(tmp_path: Path, cli: str) -> None:
    assert session(play(tmp_path, cli, {"kind": "wrong_session"})).startswith("00000000-")


@pytest.mark.parametrize("cli", CLIS)
def test_a_session_that_is_lost(tmp_path: Path, cli: str) -> None:
    """The same command line finds it without the misbehaviour, and does not with it."""
    id = session(play(tmp_path, cli))
    argv = tuple(id if word == "ID" else word for word in RESUME[cli])
    assert play(tmp_path, cli, argv=argv).exit == 0
    lost = play(tmp_path, cli, {"kind": "lost_session"}, argv=argv)
    assert (lost.exit, lost.stdout) == ({"codex": 1, "gemini": 42}[cli], b"")
    assert id in lost.stderr.decode()


SAME = [{"kind": "split"}, {"kind": "drip", "bytes_per_s": 2000}, {"kind": "ignore_sigterm"}]


@pytest.mark.parametrize("cli", CLIS)
@pytest.mark.parametrize("way", SAME, ids=lambda way: way["kind"])
def test_the_same_lines_in_another_way(tmp_path: Path, cli: str, way: dict[str, Any]) -> None:
    assert types(play(tmp_path, cli, way)) == types(play(tmp_path, cli))


@pytest.mark.parametrize("cli", CLIS)
def test_two_objects_on_a_line(tmp_path: Path, cli: str) -> None:
    lines = play(tmp_path, cli, {"kind": "glue"}).stdout.splitlines()
    assert any(line.count(b'{"type":') > 1 for line in lines)


@pytest.mark.parametrize("cli", CLIS)
@pytest.mark.parametrize("kind", ["noise", "huge_line", "bad_utf8"])
def test_lines_that_do_not_belong(tmp_path: Path, cli: str, kind: str) -> None:
    whole = play(tmp_path, cli).stdout.splitlines()
    odd = play(tmp_path, cli, {"kind": kind, "at": "init"}).stdout.splitlines()
    assert len(odd) == len(whole) + 1
