"""A FIFO named as an output is written to and stays a FIFO."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from claw.host.files import HostFiles
from simulators.cassettes import vcr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
@pytest.mark.parametrize("write", [HostFiles().write, vcr.write_bytes])
def test_a_fifo_is_written_to_not_replaced(write: Callable[[str, bytes], None], tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(str(fifo), b"whole")
        assert stat.S_ISFIFO(fifo.stat().st_mode)
        assert os.read(reader, 100) == b"whole"
        assert os.listdir(tmp_path) == ["fifo"]
    finally:
        os.close(reader)
