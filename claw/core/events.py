"""What happens to a run: whole things only. The driver folds stream events; deltas never reach the machine."""

from typing import Literal

import msgspec

from claw.core.commands import ToolUse
from claw.core.errors import ProviderFailure
from claw.core.messages import Message, ToolResultPart
from claw.core.stream import ModelTurn
from claw.core.usage import Usage


class TurnStarted(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt came in. `run` is unique: ids of entries and commands, and the jitter, are derived from it.

    `prompt` None asks for a compaction and nothing else.
    """

    run: str
    prompt: Message | None


class CliReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of a CLI's own loop while it answered.

    `usage` is the last main call's (None if no call was seen, or since a compaction), `total` the sum over the run,
    `session_total` that over all runs of the CLI's session, where the CLI counts so.
    """

    session: str | None = None
    usage: Usage | None = None
    total: Usage = Usage()
    cost_usd: float | None = None
    window: int | None = None
    tools: tuple[ToolUse, ...] = ()
    compactions: int = 0
    session_total: Usage | None = None


class ModelFinished(msgspec.Struct, frozen=True, kw_only=True):
    """The call `id` (of `CallModel` or `CallCli`) answered."""

    id: str
    turn: ModelTurn
    cli: CliReport | None = None


class ModelFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The call `id` failed. `delivered`: visible text had been shown, or a tool of a CLI had run."""

    id: str
    failure: ProviderFailure
    delivered: bool = False
    usage: Usage = Usage()  # what it cost all the same
    seconds: float = 0.0  # how long it took
    cli: CliReport | None = None


class ToolFinished(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    result: ToolResultPart


class Woke(msgspec.Struct, frozen=True, kw_only=True):
    id: str


class Steered(msgspec.Struct, frozen=True, kw_only=True):
    """A message for the run at work; the model sees it at its next call."""

    text: str


class Aborted(msgspec.Struct, frozen=True, kw_only=True):
    """The run must end. `partial` is what the model had said so far."""

    reason: Literal["user", "timeout"] = "user"
    partial: Message | None = None


Event = TurnStarted | ModelFinished | ModelFailed | ToolFinished | Woke | Steered | Aborted
