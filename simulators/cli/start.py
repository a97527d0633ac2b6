"""Starts a fake by its name: the one place that knows them all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from simulators.cli.effects import Program, Start
from simulators.cli.misbehave import Misbehaviour, misbehaving

# Where each fake is: a package with a `Settings` and a function of the fake's own name. Imported when it is started.
FAKES: Mapping[str, str] = {
    "claude": "simulators.cli.claude",
    "codex": "simulators.cli.codex",
    "gemini": "simulators.cli.gemini",
}
# The variable that points each CLI at another server. codex has none: its config.toml says where the provider is.
BASE_URLS: Mapping[str, str] = {"claude": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
# Without such a variable: the host that is never called. What goes there the fake answers itself.
VENDORS: Mapping[str, str] = {"codex": "api.openai.com"}


@dataclass(frozen=True, slots=True)
class FakePlan:
    """How a fake's run is set up. `open_provider` makes its own simulator; None where calls go over HTTP. With
    `vendor` only the calls to that host go to it, all others over HTTP."""

    version: str
    window: int | None = None
    ways: Sequence[Misbehaviour] = ()
    open_provider: Callable[[], Any] | None = None
    vendor: str | None = None

    @property
    def alone(self) -> bool:
        """Whether nobody but the fake's own simulator answers."""
        return self.open_provider is not None and self.vendor is None


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
    module = import_module(FAKES[name])
    settings = module.Settings(version=version, auto_compact_window=auto_compact_window, alone=alone)
    return misbehaving(getattr(module, name)(start, settings), misbehave)
