"""The fixture `claw_cli`: the fakes on PATH, and the same in process under virtual time."""

import os
import shutil
from pathlib import Path

import pytest

from simulators.core.document import DocumentError
from simulators.pytest_plugin import ClawCli, ClawSim, ClawTime


def test_the_fakes_are_first_on_path_with_a_home_of_their_own(claw_cli: ClawCli) -> None:
    assert shutil.which("claude") == str(claw_cli.folder / "claude")
    assert os.environ["HOME"] == str(claw_cli.home)


def test_a_mistake_in_the_document_is_named_and_changes_nothing(claw_cli: ClawCli) -> None:
    claw_cli.configure(version={"claude": "2.1.19"})
    before = os.environ["CLAW_FAKE_CONFIG"]
    with pytest.raises(DocumentError, match="did you mean `misbehave`"):
        claw_cli.configure(misbehaves=[])
    assert os.environ["CLAW_FAKE_CONFIG"] == before


async def test_in_process_they_ask_the_same_account_under_virtual_time(
    claw_cli: ClawCli, claw_sim: ClawSim, claw_time: ClawTime, tmp_path: Path
) -> None:
    claw_sim.script([{"error": {"kind": "rate_limited", "retry_after": 60}}, "Hello"])
    began = claw_time.now()
    process = await claw_cli.processes.spawn(["claude", "-p", "hi"], cwd=str(tmp_path), env=dict(os.environ))
    assert b"".join([chunk async for chunk in process.stdout()]) == b"Hello\n"
    assert await process.wait() == 0
    assert claw_time.now() - began >= 60
    assert [s.exit for s in claw_cli.processes.spawns] == [0]
