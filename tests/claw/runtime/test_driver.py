"""The loop itself: order, endings, and that nothing is left behind."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from claw.runtime.agent import Agent
from claw.runtime.config import Config
from claw.sessions import SessionStore
from claw.testing.fakes import MemoryFiles, Reply, ScriptedProvider, fake_ports
from simulators.shells.virtual_time import run

ENV = {"ANTHROPIC_API_KEY": "k"}


def test_the_prompt_is_on_disk_when_the_provider_is_asked() -> None:
    files = MemoryFiles()
    seen: list[bytes] = []

    def looks(request: Any) -> str:
        files.crash()
        seen.append(files.files["/home/sessions/s.jsonl"])
        return "ok"

    run(
        Agent(fake_ports(ScriptedProvider([looks]), files=files), Config(), "/home", env=ENV).run(
            "the prompt", "s", "/w"
        )
    )
    assert b"the prompt" in seen[0]


def test_a_fault_in_claw_itself_is_not_swallowed_and_leaves_no_task() -> None:
    def breaks(request: Any) -> str:
        raise ZeroDivisionError("a bug")

    async def story() -> None:
        agent = Agent(fake_ports(ScriptedProvider([breaks])), Config(), "/home", env=ENV)
        with pytest.raises(ZeroDivisionError):
            await agent.run("x", "s", "/w")
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(story())


def test_a_full_disk_ends_the_run_before_anything_is_sent() -> None:
    class Full(MemoryFiles):
        def append(self, path: str, data: bytes, *, sync: bool = True) -> None:
            raise OSError(28, "No space left on device", path)

    provider = ScriptedProvider(["never"])
    with pytest.raises(OSError, match="No space"):
        run(Agent(fake_ports(provider, files=Full()), Config(), "/home", env=ENV).run("x", "s", "/w"))
    assert provider.requests == []


def test_no_task_outlives_a_run() -> None:
    call = Reply(tool_calls=(("t1", "read", {"path": "a"}),))

    async def story() -> None:
        agent = Agent(fake_ports(ScriptedProvider([call, "ok"])), Config(), "/home", env=ENV)
        await agent.run("x", "s", "/w")
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(story())


KILLED = """
import asyncio, sys
from claw.host import ports
from claw.runtime.agent import Agent
from claw.runtime.config import Config
from claw.testing.fakes import Reply, ScriptedProvider, ScriptedProviders

def asked(request):
    print("asked", flush=True)
    return Reply(text="never", delay_s=600)

made = ports(providers=ScriptedProviders(ScriptedProvider([asked])))
agent = Agent(made, Config(), sys.argv[1], env={"ANTHROPIC_API_KEY": "k"})
asyncio.run(agent.run("the prompt", "s", sys.argv[1]))
"""


@pytest.mark.slow
def test_a_killed_process_leaves_a_session_that_opens_and_holds_the_prompt(tmp_path: Path) -> None:
    from claw.host import HostFiles

    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"asked\n"
        os.kill(process.pid, signal.SIGKILL)
    session = SessionStore(HostFiles(), str(tmp_path)).load("s")
    assert session.info().first_prompt == "the prompt" and session.damaged == 0
    provider = ScriptedProvider(["here again"])
    agent = Agent(fake_ports(provider, files=HostFiles()), Config(), str(tmp_path), env=ENV)  # type: ignore[arg-type]
    assert run(agent.run("and now?", "s", str(tmp_path))).reply == "here again"
    assert [m.text for m in provider.requests[0].messages] == ["the prompt", "and now?"]
