"""A program is read, waited for and ended as a group, whatever it leaves behind."""

import asyncio
import os
import sys
import time

import pytest

from claw.host import HostProcesses


async def text(stream):
    return b"".join([chunk async for chunk in stream]).decode()


def shell(script, *, stdin=b"", pty=False, cwd="/", **env):
    return HostProcesses().spawn(
        ["/bin/sh", "-c", script], cwd=cwd, env={"PATH": os.environ["PATH"], **env}, stdin=stdin, pty=pty
    )


def test_output_error_exit_code_input_folder_and_environment(tmp_path):
    async def story():
        process = await shell('cat; pwd; echo "$X" >&2; exit 3', stdin=b"in\n", cwd=str(tmp_path), X="err")
        out, err = await asyncio.gather(text(process.stdout()), text(process.stderr()))
        return out, err, await process.wait()

    assert asyncio.run(story()) == (f"in\n{tmp_path.resolve()}\n", "err\n", 3)


def test_without_input_a_program_that_reads_gets_end_of_file():
    async def story():
        process = await shell("cat; echo over")
        return await text(process.stdout())

    assert asyncio.run(story()) == "over\n"


def test_wait_and_output_do_not_hang_on_a_grandchild_that_holds_the_pipe():
    async def story():
        process = await shell("sleep 60 & echo said; exit 7")
        code = await process.wait()
        out = await text(process.stdout())
        process.kill()
        return code, out

    started = time.perf_counter()
    assert asyncio.run(story()) == (7, "said\n")
    assert time.perf_counter() - started < 5


def test_a_grandchild_that_never_stops_talking_does_not_keep_the_reader():
    async def story():
        process = await shell("(while :; do echo more; sleep 0.01; done) & exit 0")
        out = await text(process.stdout())
        process.kill()
        return out

    assert "more" in asyncio.run(asyncio.wait_for(story(), 10))


def test_kill_ends_the_whole_group():
    async def story():
        process = await shell("sleep 60 & echo $!; wait")
        grandchild = int(await anext(process.stdout()))
        process.kill()
        code = await process.wait()
        for _ in range(200):
            if not running(grandchild):
                return code
            await asyncio.sleep(0.01)
        raise AssertionError("the grandchild lives on")

    assert asyncio.run(story()) == -9


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def test_more_than_the_pipe_holds_is_read_without_limit_on_a_line():
    async def story():
        process = await HostProcesses().spawn(
            [sys.executable, "-c", "print('x' * 3_000_000)"], cwd="/", env=dict(os.environ)
        )
        await process.wait()
        return len(await text(process.stdout()))

    assert asyncio.run(story()) == 3_000_001


def test_a_terminal_is_a_terminal():
    async def story():
        process = await shell("test -t 0 && test -t 1 && echo tty", pty=True)
        return await text(process.stdout()), await process.wait()

    assert asyncio.run(story()) == ("tty\r\n", 0)


def test_a_program_that_is_not_there_says_so():
    async def story():
        await HostProcesses().spawn(["no-such-program-here"], cwd="/", env={"PATH": "/usr/bin"})

    with pytest.raises(FileNotFoundError):
        asyncio.run(story())
