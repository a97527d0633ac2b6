import asyncio
import os

import pytest

from claw.host import HostFiles, HostProcesses, LoopClock
from claw.tools import registry
from claw.tools.base import ToolContext


@pytest.fixture
def context(tmp_path):
    return ToolContext(
        workspace=str(tmp_path),
        files=HostFiles(),
        processes=HostProcesses(linger_s=0.05),
        clock=LoopClock(),
        env={"PATH": os.environ["PATH"]},
    )


@pytest.fixture
def use(context):
    """Run a tool by its name and give its outcome."""
    tools = registry.load()

    def used(tool, /, **arguments):
        return asyncio.run(tools[tool].run(arguments, context))

    return used
