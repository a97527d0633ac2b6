"""Session files of OpenClaw: Pi's tree, with notes of its own that no model has seen."""

from simulators.cassettes.format import Cassette
from simulators.cassettes.imports import pi

ABOUT = "session files of OpenClaw, versions 1 to 3"


def read(data: bytes, *, source: str) -> Cassette:
    """The same tree as Pi's; what OpenClaw put into it itself (mirrors, injected notes) is left out."""
    return pi.read(data, source=source)
