"""A fake that misbehaves: each way does what its name says, at its point, in the runs it is meant for."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import run

from .stub import STREAM, Run, Say, Stub, claude

SID = "11111111-2222-4333-8444-555555555555"
CALL = {"id": "toolu_1", "name": "Bash", "input": {"command": "echo hi"}}


def play(home: Path, *ways: dict[str, Any], argv: tuple[str, ...] = ("-p", "hi", *STREAM), runs: int = 1) -> list[Run]:
    processes = FakeProcesses(Stub(Say("Hello")), config={"misbehave": list(ways)})

    async def story() -> list[Run]:
        return [await claude(processes, *argv, home=home) for _ in range(runs)]

    return run(story())


def types(done: Run) -> list[str]:
    return [e["type"] for e in done.events]


POINTS = {"start": [], "init": ["system"], "text": ["system", "assistant"], "result": ["system", "assistant"]}


@pytest.mark.parametrize(("at", "before"), POINTS.items())
def test_it_dies_at_its_point(tmp_path: Path, at: str, before: list[str]) -> None:
    (done,) = play(tmp_path, {"kind": "die", "at": at, "code": 7})
    assert (done.exit, types(done)) == (7, before)


def test_it_dies_of_a_signal(tmp_path: Path) -> None:
    assert play(tmp_path, {"kind": "die", "at": "init", "signal": "SEGV"})[0].exit == -11


def test_it_hangs_until_it_is_killed(tmp_path: Path) -> None:
    async def story() -> tuple[int, bytes, float]:
        processes = FakeProcesses(Stub(Say("Hello")), config={"misbehave": [{"kind": "hang", "at": "init"}]})
        env = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-x"}
        process = await processes.spawn(("claude", "-p", "hi", *STREAM), cwd=str(tmp_path), env=env)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(300):
                await process.wait()
        process.kill()
        printed = b"".join([chunk async for chunk in process.stdout()])
        return await process.wait(), printed, asyncio.get_running_loop().time()

    code, printed, seconds = run(story())
    assert (code, printed.count(b"\n"), seconds) == (-9, 1, 300)


def test_sigterm_is_ignored(tmp_path: Path) -> None:
    async def story() -> int:
        ways = [{"kind": "ignore_sigterm"}, {"kind": "hang", "at": "init"}]
        processes = FakeProcesses(Stub(Say("Hello")), config={"misbehave": ways})
        env = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-x"}
        process = await processes.spawn(("claude", "-p", "hi", *STREAM), cwd=str(tmp_path), env=env)
        await anext(process.stdout())
        process.terminate()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await process.wait()
        process.kill()
        return await process.wait()

    assert run(story()) == -9


def test_an_orphan_holds_stdout_open_after_the_exit(tmp_path: Path) -> None:
    async def story() -> tuple[float, float]:
        ways = [{"kind": "orphan", "seconds": 30}]
        processes = FakeProcesses(Stub(Say("Hello")), config={"misbehave": ways})
        env = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-x"}
        process = await processes.spawn(("claude", "-p", "hi"), cwd=str(tmp_path), env=env)
        loop = asyncio.get_running_loop()
        await process.wait()
        exited = loop.time()
        assert b"".join([chunk async for chunk in process.stdout()]) == b"Hello\n"
        return exited, loop.time()

    exited, closed = run(story())
    assert closed - exited == 30


def test_a_lost_session_is_not_found_when_it_is_resumed(tmp_path: Path) -> None:
    processes = FakeProcesses(Stub(Say("Hello")), config={"misbehave": [{"kind": "lost_session", "on": {"run": 2}}]})

    async def story() -> list[Run]:
        first = await claude(processes, "-p", "hi", *STREAM, "--session-id", SID, home=tmp_path)
        return [first, await claude(processes, "-p", "hi", *STREAM, "--resume", SID, home=tmp_path)]

    first, second = run(story())
    assert first.exit == 0
    assert (second.exit, second.result["errors"]) == (1, [f"No conversation found with session ID: {SID}"])


def test_the_result_is_missing(tmp_path: Path) -> None:
    (done,) = play(tmp_path, {"kind": "no_result"})
    assert (done.exit, types(done)) == (0, ["system", "assistant"])


def test_an_error_exits_with_zero(tmp_path: Path) -> None:
    (done,) = play(tmp_path, {"kind": "error_exit_0"})
    assert (done.exit, done.result["is_error"]) == (0, True)


def test_a_success_is_empty(tmp_path: Path) -> None:
    (done,) = play(tmp_path, {"kind": "empty_success"})
    assert (types(done), done.result["result"]) == (["system", "result"], "")


def test_every_line_names_the_wrong_session(tmp_path: Path) -> None:
    (done,) = play(tmp_path, {"kind": "wrong_session"}, argv=("-p", "hi", *STREAM, "--session-id", SID))
    assert {e["session_id"] for e in done.events} == {"00000000-0000-4000-8000-000000000000"}


@pytest.mark.parametrize(("kind", "bad"), [("noise", 1), ("bad_utf8", 1), ("glue", 1)])
def test_lines_that_are_no_json(tmp_path: Path, kind: str, bad: int) -> None:
    (done,) = play(tmp_path, {"kind": kind, "at": "init"})

    def broken(line: bytes) -> bool:
        try:
            json.loads(line)
        except ValueError:
            return True
        return False

    assert sum(map(broken, done.stdout.splitlines())) == bad


def test_a_line_is_longer_than_readers_allow(tmp_path: Path) -> None:
    (done,) = play(tmp_path, {"kind": "huge_line", "at": "init"})
    assert max(map(len, done.stdout.splitlines())) > 8_388_608


@pytest.mark.parametrize("kind", ["split", "drip"])
def test_pieces_come_late_but_whole(tmp_path: Path, kind: str) -> None:
    (plain,) = play(tmp_path / "a")
    (done,) = play(tmp_path / "b", {"kind": kind})
    assert types(done) == types(plain) and done.exit == 0


def test_only_the_runs_that_were_meant(tmp_path: Path) -> None:
    done = play(tmp_path, {"kind": "die", "code": 9, "on": {"run": 2, "times": 1}}, runs=3)
    assert [d.exit for d in done] == [0, 9, 0]
