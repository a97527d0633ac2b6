"""What a scenario file says, as types. The loader makes them from YAML; a `.py` scenario builds them itself.

A scenario tells one story: how things stand (`given`, `provider`, `cli`), what happens (`steps`), what must hold
(`expect`, and the invariants unasked), and with which change it must fail (`known_bad`).
"""

from typing import Any, Literal, get_args

import msgspec

Area = Literal[
    "overflow", "rate_limit", "cache", "compaction", "resume", "stream", "session", "auth", "tools", "cassette"
]
AREAS: tuple[str, ...] = get_args(Area)
NEEDS = (
    "embedded", "cli", "tools", "streaming", "resume", "compaction", "profiles", "fallback", "kill", "report",
    "virtual_time",
)  # fmt: skip

Positive = msgspec.Meta(ge=1)


class History(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conversation that took place before the first step: `turns` exchanges of together `tokens` tokens, as the
    account's tokenizer counts them. The same seed gives the same bytes."""

    turns: int = msgspec.field(default=10)
    tokens: int = msgspec.field(default=1000)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise ValueError(f"`turns` must be 1 or more, not {self.turns}")
        if self.tokens < 2 * self.turns:
            raise ValueError(f"`tokens` must be at least 2 a turn ({2 * self.turns}), not {self.tokens}")


class Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How things stand at the beginning.

    `model` is PROVIDER/MODEL; a runtime on the CLI path keeps the model and changes the provider. `instructions` go
    where the runtime reads them. `profiles` are names of `provider.accounts`, in the order in which they are tried.
    `runtime` holds neutral settings (the `[settings]` of claw's configuration); each runtime maps those it knows.
    """

    model: str = "anthropic/claude-sonnet-4-5"
    instructions: str = ""
    workspace: dict[str, str] = {}
    history: History | None = None
    profiles: tuple[str, ...] = ()
    runtime: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if "/" not in self.model.strip("/"):
            raise ValueError(f"`model` is PROVIDER/MODEL, such as anthropic/claude-sonnet-4-5, not `{self.model}`")
        for name in self.workspace:
            if name.startswith("/") or ".." in name.split("/"):
                raise ValueError(f"`workspace` holds paths inside the workspace, not `{name}`")


class Kill(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The process dies when the prompt before this step gets to its `nth` event named `at` (a name of
    `--stream-json`, such as tool_start). What was not synced to disk is gone."""

    at: str
    nth: int = 1

    def __post_init__(self) -> None:
        if self.nth < 1:
            raise ValueError(f"`nth` counts from 1, not {self.nth}")


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step; exactly one field is set. `advance` is in seconds, or text with a unit (90s, 5m, 1h)."""

    prompt: str | None = None
    advance: str | float | None = None
    restart: bool = False
    kill: Kill | None = None
    compact: bool = False

    def __post_init__(self) -> None:
        kinds = self._kinds()
        if len(kinds) != 1:
            said = " and ".join(f"`{kind}`" for kind in kinds) or "none"
            raise ValueError(f"a step is one of prompt, advance, restart, kill, compact; this one has {said}")
        if self.advance is not None:
            self.seconds  # noqa: B018 - a bad duration is refused here, where its place is known

    def _kinds(self) -> list[str]:
        return [name for name in self.__struct_fields__ if getattr(self, name) not in (None, False)]

    @property
    def kind(self) -> str:
        """prompt, advance, restart, kill or compact."""
        return self._kinds()[0]

    @property
    def seconds(self) -> float:
        """How far `advance` moves the clocks."""
        return 0.0 if self.advance is None else duration(self.advance)


class KnownBad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A change under which the scenario must fail, at the check or invariant named by `fails`.

    `patch` (written `with:`) is merged into the scenario: mappings merge, null removes, everything else replaces.
    `mutate` names a change of the traffic (`claw/lab/mutations`), made between the runtime and the provider.
    """

    patch: dict[str, Any] | None = msgspec.field(default=None, name="with")
    mutate: str | None = None
    fails: str

    def __post_init__(self) -> None:
        if (self.patch is None) == (self.mutate is None):
            raise ValueError("a known-bad has either `with` (a patch of the scenario) or `mutate` (of the traffic)")


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one play may use up; more is a finding. Seconds are virtual."""

    calls: int = 200
    seconds: float = 86_400.0

    def __post_init__(self) -> None:
        if self.calls < 1 or self.seconds <= 0:
            raise ValueError("`calls` and `seconds` must be more than 0")


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A scenario as written. `provider` is an account document (or `accounts:` of several), `cli` the configuration
    of the CLI fakes; both are read by the simulators. `expect` has one check an item, with an optional `step`.
    `ignore` switches an invariant off: its name, and the reason why."""

    about: str
    area: Area
    source: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    given: Given = Given()
    provider: dict[str, Any] = {}
    cli: dict[str, Any] = {}
    steps: tuple[Step, ...]
    expect: tuple[dict[str, Any], ...]
    matrix: dict[str, list[Any]] = {}
    known_bad: tuple[KnownBad, ...] = ()
    ignore: dict[str, str] = {}
    budget: Budget = Budget()


def duration(value: str | float) -> float:
    """Seconds of `7`, `7s`, `250ms`, `5m`, `1h`. Raises `ValueError` for anything else and for a negative one."""
    if isinstance(value, (int, float)):
        seconds = float(value)
    else:
        text, factor = value.strip(), 1.0
        for unit, seconds_each in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)):
            if text.endswith(unit):
                text, factor = text.removesuffix(unit).strip(), seconds_each
                break
        try:
            seconds = float(text) * factor
        except ValueError:
            raise ValueError(f"`{value}` is no duration; write 90s, 5m or 1h") from None
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"a duration is not negative and ends some time: `{value}`")
    return seconds
