"""What a runtime under test must be able to do, so that a scenario can be played with it."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from claw.lab.evidence import Outcome, SessionState, Spawn
from claw.lab.schema import Kill, Scenario
from claw.lab.stage import Stage


class Runtime(Protocol):
    """One runtime in one play. Made fresh for every play; all methods run in the play's loop.

    `capabilities` are the words that `needs:` uses. A runtime that cannot say something answers None rather than
    guess: the checks then count as not checked. `without_effect` are the settings that change nothing on its path: a
    known-bad made of nothing else is skipped.
    """

    name: str
    capabilities: frozenset[str]
    without_effect: frozenset[str]
    real_time: bool  # its processes live in the outside world's time

    def accepts(self, scenario: Scenario) -> str | None:
        """None if this runtime knows every setting of `given.runtime`, else why the scenario is not for it."""

    async def start(self, stage: Stage) -> None:
        """Put everything in its place (instructions, workspace, history, keys) and be ready for a prompt."""

    async def prompt(self, text: str, *, kill: Kill | None = None) -> Outcome:
        """Ask one thing in the session of the play. With `kill`, die at that event."""

    async def compact(self) -> Outcome | None:
        """Compact the session by hand."""

    async def advance(self, seconds: float) -> None:
        """Move the clocks that the runtime and the provider go by."""

    async def restart(self) -> None:
        """A new process over the same files; what was not synced is gone."""

    async def session(self) -> SessionState | None:
        """The session on disk, or None if it cannot be read."""

    def spawns(self) -> list[Spawn] | None:
        """Every process started so far, in order; None if they cannot be seen."""

    def read_file(self, name: str) -> bytes | None:
        """A file of the workspace, None if there is none."""

    async def close(self) -> list[Spawn] | None:
        """The runtime ends. What it leaves running is ended too, and given back; None if it cannot be seen.

        Called once, whatever happened before.
        """


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A runtime that can be chosen: `make()` gives a fresh one for a play. `source` is the file that describes it."""

    name: str
    make: Callable[[], Runtime]
    source: str | None = None
