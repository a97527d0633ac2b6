"""What a run is made of: the start, the configuration, ids, and who is told what happens."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulators.cli.codex.config import Config
from simulators.cli.codex.ids import uuid7
from simulators.cli.codex.models import Model, lookup
from simulators.cli.codex.rollout import Thread
from simulators.cli.codex.usage import NOTHING, Usage
from simulators.cli.codex.versions import Version
from simulators.cli.effects import Effect, Now, Start
from simulators.cli.ids import SeededIds
from simulators.cli.settings import Settings

Tell = Generator[Effect, Any, Any]


class Listener:
    """Who hears of a turn while it runs. Each is a generator of effects; the one here takes no notice.

    An item is `{"id", "type", …}` with types of app-server's spelling: agentMessage, reasoning, commandExecution,
    fileChange, contextCompaction, userMessage.
    """

    def started(self, item: Mapping[str, Any]) -> Tell:
        yield from ()

    def completed(self, item: Mapping[str, Any]) -> Tell:
        yield from ()

    def delta(self, item: str, text: str) -> Tell:
        yield from ()

    def reconnecting(self, attempt: int, limit: int, why: str) -> Tell:
        """A notice: the call is made again."""
        yield from ()

    def tokens(self, run: "Run") -> Tell:
        yield from ()

    def log(self, target: str, message: str) -> Tell:
        """A line of the program's own log."""
        yield from ()

    def approve(self, item: Mapping[str, Any]) -> Generator[Effect, Any, str]:
        """Ask whether a tool may run: accept, acceptForSession, decline or cancel."""
        yield from ()
        return "accept"

    def execute(self, argv: list[str], cwd: str) -> Tell:
        """Run a tool's command to its end, or until the turn is interrupted."""
        from simulators.cli.codex.tools import plain_exec

        return (yield from plain_exec(argv, cwd))

    def stop(self) -> Generator[Effect, Any, bool]:
        """Whether the turn is to be left."""
        yield from ()
        return False


@dataclass(slots=True)
class Turn:
    """One prompt's processing."""

    id: str
    started: float
    usage: Usage = NOTHING
    first_token: float | None = None
    last_message: str | None = None


@dataclass(slots=True)
class Run:
    """A thread in the hands of a process."""

    start: Start
    config: Config
    version: Version
    settings: Settings
    thread: Thread
    ids: SeededIds
    listener: Listener
    originator: str
    user_agent: str
    trigger: str | None  # exec; app-server has none
    installation: str
    model: Model = field(init=False)
    turn: Turn = field(init=False)
    approved: set[str] = field(default_factory=set)
    socket_tried: bool = False
    new_file: bool = False  # the thread has no first line yet
    announced: bool = False  # its settings stand in the file

    def __post_init__(self) -> None:
        self.refresh()
        self.turn = Turn("", 0.0)

    def refresh(self) -> None:
        """Take over what the configuration says of the model."""
        self.model = lookup(self.config.model)

    @property
    def window(self) -> int:
        """The model's window as codex tells it."""
        return self.config.window * 95 // 100 if self.config.window else self.model.usable

    @property
    def compact_limit(self) -> int:
        """The size at which the thread is condensed."""
        if self.settings.auto_compact_window is not None:
            return int(self.settings.auto_compact_window * self.version.compact_at)
        if self.config.compact_limit is not None:
            return self.config.compact_limit
        return int((self.config.window or self.model.window) * self.version.compact_at)

    @property
    def effort(self) -> str | None:
        return self.config.effort or self.model.effort

    @property
    def tagged(self) -> bool:
        """Whether items say what they are (the vendor's own service)."""
        return self.config.provider.remote_compaction

    def new_id(self) -> Generator[Effect, Any, str]:
        """A fresh id of the present time."""
        now = yield Now()
        return uuid7(self.ids, now)
