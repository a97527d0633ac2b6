"""The fakes keep the promises of the ports."""

import asyncio

import pytest

from claw.core.calls import ModelRequest
from claw.core.errors import FailureKind, ProviderError, ProviderFailure
from claw.core.messages import ToolCallPart, user
from claw.core.stream import Fold, ModelTurn
from claw.testing.fakes import CountedIds, FakeProcesses, LoopTime, MemoryFiles, Reply, ScriptedProvider, Spoken
from simulators.shells.virtual_time import run

REQUEST = ModelRequest(model="m", system=(), messages=(user("x"),), max_tokens=9)


async def turn(provider: ScriptedProvider, request: ModelRequest = REQUEST) -> ModelTurn:
    fold = Fold()
    async for event in provider.call(request):
        fold.feed(event)
    assert fold.done
    return fold.turn()


def test_a_scripted_provider_streams_what_it_was_told_and_keeps_the_requests() -> None:
    reply = Reply(thinking="so  so", text="two  words\n", tool_calls=(("t", "read", {"path": "a" * 40}),))
    provider = ScriptedProvider([reply, lambda request: request.model])
    first, second = run(turn(provider)), run(turn(provider))
    assert (first.message.text, first.stop) == ("two  words\n", "tool_use")
    assert first.message.tool_calls == (ToolCallPart("t", "read", {"path": "a" * 40}),)
    assert second.message.text == "m" and len(provider.requests) == 2


def test_a_used_up_script_and_a_scripted_failure_raise() -> None:
    provider = ScriptedProvider([ProviderFailure(kind=FailureKind.AUTH)])
    for kind in (FailureKind.AUTH, FailureKind.BAD_REQUEST):
        with pytest.raises(ProviderError) as error:
            run(turn(provider))
        assert error.value.failure.kind is kind


def test_files_in_memory_lose_what_was_not_synced() -> None:
    files = MemoryFiles({"/a/b.txt": "x"})
    files.append("/a/b.txt", b"y", sync=False)
    files.append("/a/c/d.txt", b"z")
    assert files.read("/a/b.txt") == b"xy" and files.listdir("/a") == ["b.txt", "c"]
    assert files.exists("/a/c") and not files.exists("/a/x") and files.listdir("/none") == []
    files.crash()
    assert files.read("/a/b.txt") == b"x" and files.read("/a/c/d.txt") == b"z"
    files.remove("/a/b.txt")
    with pytest.raises(FileNotFoundError):
        files.read("/a/b.txt")


def test_a_lock_is_exclusive() -> None:
    async def story() -> None:
        files = MemoryFiles()
        async with files.lock("/a", wait_s=1):
            with pytest.raises(TimeoutError, match="/a is in use"):
                async with files.lock("/a", wait_s=1):
                    pass
        async with files.lock("/a", wait_s=1):
            pass

    run(story())


def test_a_process_speaks_ends_and_obeys() -> None:
    async def story() -> None:
        processes = FakeProcesses(
            [Spoken(stdout=(b"a", (5.0, b"b")), stderr=b"e", code=3), Spoken(hangs=True, stubborn=True)]
        )
        first = await processes.spawn(["x", "y"], cwd="/w", env={"A": "1"}, stdin=b"in")
        assert [chunk async for chunk in first.stdout()] == [b"a", b"b"]
        assert [chunk async for chunk in first.stderr()] == [b"e"] and await first.wait() == 3
        assert LoopTime(0).now() == 5.0
        second = await processes.spawn(["x"], cwd="/w", env={})
        second.terminate()
        assert len(processes.running) == 1
        second.kill()
        assert await second.wait() == -9 and processes.running == []
        with pytest.raises(FileNotFoundError):
            await processes.spawn(["x"], cwd="/w", env={})

    run(story())


def test_the_clock_is_the_loops() -> None:
    async def story() -> None:
        clock = LoopTime(100.0)
        await clock.sleep(7)
        assert (clock.now(), clock.monotonic()) == (107.0, 7.0)
        with pytest.raises(TimeoutError):
            async with clock.timeout(1):
                await asyncio.Event().wait()

    run(story())


def test_ids_count() -> None:
    ids = CountedIds()
    assert (ids.entry(), ids.session(), ids.fraction()) == ("00000001", "00000000-0000-4000-8000-000000000002", 0.5)
