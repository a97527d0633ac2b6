"""Where a run stands: an immutable value that `machine.step` turns into the next one."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from claw.core.calls import CacheRetention, SystemBlock, Thinking, ToolSpec
from claw.core.commands import Attempt, Command, Emit, Persist, ToolUse
from claw.core.compaction import Plan
from claw.core.errors import ProviderFailure
from claw.core.messages import ToolCallPart
from claw.core.policy import Rules
from claw.core.stream import Stop
from claw.core.transcript import Entry, KnownEntry
from claw.core.usage import Price, Usage
from claw.core.window import fixed_tokens

Trigger = Literal["threshold", "overflow", "manual"]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A model that may be asked, and the ids of the credentials to ask it with, in order. `cli`: through that CLI."""

    provider: str
    model: str
    profiles: tuple[str, ...] = ("",)
    window: int = 200_000
    max_output: int = 32_000
    price: Price = Price()
    params: Mapping[str, Any] = {}
    cli: bool = False

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change during a run. `targets`: the model asked for, then its fallbacks."""

    session: str
    targets: tuple[Target, ...]
    workspace: str = ""
    system: tuple[SystemBlock, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    one_at_a_time: frozenset[str] = frozenset()  # names of tools with side effects
    thinking: Thinking = "off"
    stream: bool = True
    cache: CacheRetention = "short"
    rules: Rules = Rules()
    reserve: int = 20_000
    keep: int = 20_000
    reseed_chars: int = 12_288
    coordination: Literal["observe", "own", "hybrid"] = "observe"
    max_calls: int = 500


class PendingTool(msgspec.Struct, frozen=True):
    """A call that has no result yet; `command` is None until it has begun."""

    call: ToolCallPart
    command: str | None = None


class Compacting(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction at work: `piece` is being summarised, `summary` is what the pieces before it gave."""

    plan: Plan
    trigger: Trigger
    tokens_before: int
    summary: str = ""
    piece: int = 0


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `history` is the path of entries that the model is shown; everything in it is on disk."""

    setup: Setup
    history: tuple[Entry, ...] = ()
    leaf: str | None = None
    run: str = ""
    phase: Literal["idle", "asking", "tools", "sleeping", "done"] = "idle"
    awaited: str | None = None  # the command whose event is waited for, outside the phase `tools`
    count: int = 0  # of ids given out
    prompt: str = ""

    target: int = 0
    profile: int = 0
    in_row: int = 0
    retries: int = 0
    waited_s: float = 0.0
    pause: float = 0.0  # seconds for which the provider, in an earlier run, asked to be left alone
    repaired: bool = False
    cut: bool = False  # tool results have been cut
    thinking: Thinking | None = None  # the level asked for, once the one that was set has been refused
    levels_tried: tuple[Thinking, ...] = ()
    max_tokens: int | None = None
    window: int | None = None  # what a provider said, if less than the model's
    scale: float = 1.0

    pending: tuple[PendingTool, ...] = ()
    steered: tuple[tuple[str, str], ...] = ()  # (id of the queued entry, text)

    compacting: Compacting | None = None
    level: int = 0  # how hard the next compaction tries
    halved: int = 0  # how often the pieces for the summariser were made smaller
    tried: int = 0  # compactions since an answer
    skip_threshold: bool = False
    manual: bool = False

    cli_session: str | None = None  # the CLI's own session, once this run has used it
    resumed: bool = False  # the last start of the CLI was a resume
    reseeded: bool = False
    fresh: bool = False  # the CLI must not resume
    cli_compacting: bool = False

    attempts: tuple[Attempt, ...] = ()
    tool_uses: tuple[ToolUse, ...] = ()
    compactions: int = 0
    calls: int = 0
    last_usage: Usage | None = None
    usage_known: bool = False
    total: Usage = Usage()
    cost: float = 0.0
    reported_window: int | None = None

    @property
    def at(self) -> Target:
        return self.setup.targets[self.target]

    @property
    def size(self) -> int:
        """Tokens of the context window as far as it is known."""
        return min(self.at.window, self.window or self.at.window)

    @property
    def fixed(self) -> int:
        return fixed_tokens(self.setup.system, self.setup.tools)


class Step:
    """One step being taken: the state so far, and the commands. Lives inside `machine.step` only."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.commands: list[Command] = []

    def set(self, **changes: Any) -> None:
        self.state = msgspec.structs.replace(self.state, **changes)

    def id(self) -> str:
        self.set(count=self.state.count + 1)
        return f"{self.state.run}:{self.state.count}"

    def entry_id(self) -> str:
        return digest(self.id(), 4)

    def persist(self, *entries: KnownEntry) -> None:
        """Write entries and make them the end of the path."""
        self.commands.append(Persist(id=self.id(), entries=entries))
        self.set(history=(*self.state.history, *entries), leaf=entries[-1].id)

    def emit(self, type: str, **fields: Any) -> None:
        self.commands.append(Emit(id=self.id(), type=type, fields=fields))

    def note_attempt(self, failure: ProviderFailure | None, *, stop: Stop | None = None, **decided: Any) -> None:
        """Book a call that ended, and tell. `decided`: action, waited_s, why, retracted."""
        state, told = self.state, {k: decided.pop(k) for k in ("why", "retracted") if k in decided}
        attempt = Attempt(
            n=len(state.attempts) + 1,
            provider=state.at.provider,
            model=state.at.model,
            profile=state.at.profiles[state.profile] or None,
            kind=failure.kind if failure else None,
            status=failure.status if failure else None,
            **decided,
        )
        self.set(attempts=(*state.attempts, attempt))
        self.emit("attempt", **msgspec.to_builtins(attempt), **told)


def digest(text: str, size: int) -> str:
    """`2 * size` hex digits that `text` always gives."""
    return blake2b(text.encode(), digest_size=size).hexdigest()


def derived_uuid(text: str) -> str:
    """A version-4 shaped UUID that `text` always gives."""
    h = digest(text, 16)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) % 4]}{h[17:20]}-{h[20:32]}"


def draw(state: State) -> float:
    """A number in [0, 1) for jitter: a hash of the run and the number of the attempt."""
    return int(digest(f"{state.run}:jitter:{len(state.attempts)}", 4), 16) / 2**32
