"""Starts a fake by its name: the one place that knows them all."""

from collections.abc import Callable, Mapping, Sequence

from simulators.cli.claude import Settings, claude
from simulators.cli.effects import Program, Start
from simulators.cli.misbehave import Misbehaviour, misbehaving

FAKES: Mapping[str, Callable[[Start, Settings], Program]] = {"claude": claude}
# The variable that points each CLI at another server.
BASE_URLS: Mapping[str, str] = {"claude": "ANTHROPIC_BASE_URL"}


def start_fake(
    name: str,
    start: Start,
    *,
    version: str,
    auto_compact_window: int | None = None,
    alone: bool = False,
    misbehave: Sequence[Misbehaviour] = (),
) -> Program:
    """The effects of one run. `alone` means that nobody asks for a key."""
    settings = Settings(version=version, auto_compact_window=auto_compact_window, alone=alone)
    return misbehaving(FAKES[name](start, settings), misbehave)
