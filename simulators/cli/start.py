"""Starts a fake by its name: the one place that knows them all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulators.cli.claude import Settings, claude
from simulators.cli.effects import Program, Start
from simulators.cli.misbehave import Misbehaviour, misbehaving

FAKES: Mapping[str, Callable[[Start, Settings], Program]] = {"claude": claude}
# The variable that points each CLI at another server.
BASE_URLS: Mapping[str, str] = {"claude": "ANTHROPIC_BASE_URL"}


@dataclass(frozen=True, slots=True)
class FakePlan:
    """How a fake's run is set up. `open_provider` makes its own simulator; None where calls go over HTTP."""

    version: str
    window: int | None = None
    ways: Sequence[Misbehaviour] = ()
    open_provider: Callable[[], Any] | None = None


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
