"""What the machine wants done. Commands are performed in order; a `Persist` is on disk before the next one begins.

`CallModel`, `CallCli`, `RunTool` and `Sleep` only begin: how they end comes back as an event with the command's id.
"""

from typing import Any, Literal

import msgspec

from claw.core.calls import ModelRequest
from claw.core.errors import FailureKind
from claw.core.messages import ToolCallPart
from claw.core.stream import Stop
from claw.core.transcript import KnownEntry
from claw.core.usage import Usage

Action = Literal["retry", "rotate", "fallback", "compact", "lower_max_tokens", "repair", "reseed", "give_up"]


class CallModel(msgspec.Struct, frozen=True, kw_only=True):
    """Ask `provider` with the credential `profile`; what for is `request.purpose`."""

    id: str
    provider: str
    profile: str
    request: ModelRequest


class CallCli(msgspec.Struct, frozen=True, kw_only=True):
    """Run a CLI. `session` is the CLI's own; `resume` false makes it fresh. `prompt` may carry a reseed.

    `spent` is what the CLI had counted in that session by the end of its last run."""

    id: str
    backend: str
    model: str
    prompt: str
    session: str
    resume: bool
    spent: Usage | None = None


class RunTool(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    call: ToolCallPart


class Sleep(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    seconds: float


class Persist(msgspec.Struct, frozen=True, kw_only=True):
    """Append to the session, synced."""

    id: str
    entries: tuple[KnownEntry, ...]


class Emit(msgspec.Struct, frozen=True, kw_only=True):
    """Tell whoever watches: one line of `--stream-json` without `run`, `seq` and `at`."""

    id: str
    type: str
    fields: dict[str, Any] = {}


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """End the command `target` and leave nothing of it behind."""

    id: str
    target: str


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model or one start of a CLI. `kind` None: it answered. `waited_s` is the pause after it.

    Listed are all main calls, and those summary calls that failed.
    """

    n: int
    provider: str
    model: str
    profile: str | None = None
    kind: FailureKind | None = None
    status: int | None = None
    waited_s: float = 0.0
    action: Action | None = None


class ToolUse(msgspec.Struct, frozen=True):
    """A tool that was called; `ok` false when it failed or was not run."""

    id: str
    name: str
    ok: bool


class Failure(msgspec.Struct, frozen=True):
    """Why a run has no answer."""

    kind: FailureKind
    message: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `usage` is the last main call's; `known` false when that no longer tells the context."""

    reply: str
    stop: Stop
    provider: str
    model: str
    cli: bool
    window: int
    usage: Usage | None = None
    known: bool = False
    usage_total: Usage = Usage()
    cost_usd: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    tool_calls: tuple[ToolUse, ...] = ()
    compactions: int = 0
    failure: Failure | None = None


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    outcome: Outcome


Command = CallModel | CallCli | RunTool | Sleep | Persist | Emit | Cancel | Finish
