"""The account document as it is written: one msgspec type a table, unknown keys refused.

`account_document` makes the working form of it (patterns compiled, faults armed); the types here also give the JSON
Schema for editors. Negative figures are refused by the constraints.
"""

from typing import Annotated, Any, Literal

import msgspec

from simulators.core.turn import ToolCall

Count = Annotated[int, msgspec.Meta(ge=1)]
Whole = Annotated[int, msgspec.Meta(ge=0)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Status = Annotated[int, msgspec.Meta(ge=100, le=599)]
Stop = Literal[
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn", "context_window_exceeded"
]  # fmt: skip
Kind = Literal["main", "side", "summary", "title", "probe"]


class _Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A mapping of the document: every key is known."""


class WhenTable(_Table, frozen=True):
    """Which calls a rule takes: all keys given must fit. Texts are regular expressions (searched), names are globs."""

    call: Count | list[Count] | None = None  # the account's generation calls, from 1
    kind: Kind | None = None
    model: str | None = None
    path: str | None = None
    last_user: str | None = None
    system: str | None = None
    header: str | dict[str, str] | None = None  # searched in "name: value", or a pattern by name
    tool_result_for: str | None = None  # name (glob) of a tool whose result the last message carries
    has_tools: bool | None = None
    stream: bool | None = None


class ErrorTable(_Table, frozen=True):
    """A refusal: by `kind` in the vendor's words, `like` an entry of the catalogue, or raw with `status`."""

    kind: str | None = None
    message: str = ""
    retry_after: Amount | None = None
    details: dict[str, Any] = {}
    like: str | None = None
    status: Status | None = None
    headers: dict[str, str | int | float] = {}
    body: dict[str, Any] | list[Any] | str | None = None


class RawTable(_Table, frozen=True):
    """An answer sent as it stands."""

    status: Status = 200
    headers: dict[str, str | int | float] = {}
    body: dict[str, Any] | list[Any] | str = ""


class TurnTable(_Table, frozen=True):
    """One answer."""

    thinking: str | None = None
    text: str | None = None
    tool_calls: list[ToolCall] = []
    blocks: list[dict[str, Any]] = []
    stop: Stop | None = None
    stop_details: dict[str, Any] | None = None
    output_tokens: Whole | None = None
    error: ErrorTable | None = None
    raw: RawTable | None = None
    fault: dict[str, Any] | None = None


class RuleTable(_Table, frozen=True):
    when: WhenTable
    reply: TurnTable


class On(_Table, frozen=True):
    """When a fault acts: at generation call `call` and the `times` calls from there on, with `probability`, and for
    this `model` and `path` alone (globs).

    Nothing said: at every call. `call` alone: once. `times` alone: the first calls.
    """

    call: Count | None = None
    times: Count | None = None
    probability: Share | None = None
    model: str | None = None
    path: str | None = None

    def covers(self, n: int) -> bool:
        """Whether generation call `n` is in the window."""
        if self.call is None and self.times is None:
            return True
        first = self.call or 1
        return first <= n < first + (self.times or 1)


class Limits(_Table, frozen=True):
    """Rate limits; None is no limit. Requests and tokens a minute, open answers at once, USD in all."""

    rpm: Count | None = None
    rpd: Count | None = None  # requests a day, which ends at midnight on the Pacific coast (Gemini)
    itpm: Count | None = None
    otpm: Count | None = None
    tpm: Count | None = None  # input and output together, reserved at admission (OpenAI)
    concurrency: Count | None = None
    spend_usd: Amount | None = None


class ModelTable(_Table, frozen=True):
    """What an account changes of a model, or a model of its own. Prices in USD per million tokens."""

    provider: str | None = None
    context_window: Count | None = None
    max_output: Count | None = None
    min_cacheable_tokens: Whole | None = None
    input: Amount | None = None
    output: Amount | None = None
    cache_read: Amount | None = None
    cache_write_5m: Amount | None = None
    cache_write_1h: Amount | None = None
    features: dict[str, Any] | None = None


class CacheRules(_Table, frozen=True):
    """Switches of the prompt cache; the defaults are the documented behaviour.

    `lookback`: positions searched back from each breakpoint, itself the first. `runs_count_as_one`: a run of `tool_use`
    blocks, or of `tool_result` blocks, takes one position. `expiry_slack`: seconds that an entry lives past its TTL.
    `implicit_ttl`: seconds that Gemini's implicit cache keeps a prompt after its last use (the vendor does not say).
    `overflow_rpm`: in the automatic regime, requests a minute of one prefix and key after which the next go to a cold
    machine (OpenAI advises to stay below some 15); None: never.
    """

    enabled: bool = True
    lookback: Count = 20
    runs_count_as_one: bool = True
    expiry_slack: Amount = 0.0
    overflow_rpm: Count | None = None
    implicit_ttl: Amount = 300.0


class Pacing(_Table, frozen=True):
    """How slowly an answer comes. `jitter` 0.2 stretches or shortens each wait by up to a fifth.

    `recorded`: what the waits of a cassette are multiplied by (1: as recorded, 0: none); the two figures above it stand
    in their place.
    """

    first_token_ms: Amount = 0.0
    tokens_per_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    jitter: Share = 0.0
    recorded: Amount = 1.0


class AccountFile(_Table, frozen=True):
    """The whole document of one account."""

    responder: Literal["script", "persona", "echo", "cassette"] | None = None
    cassette: str | None = None
    rules: list[RuleTable] = []
    turns: list[TurnTable] = []
    otherwise: Literal["fail", "echo", "persona", "repeat"] = "fail"
    unused: Literal["fail", "allow"] = "fail"
    faults: list[dict[str, Any]] = []
    limits: Limits = Limits()
    models: dict[str, ModelTable] = {}
    cache: CacheRules = CacheRules()
    pacing: Pacing = Pacing()
    tokenizer: Literal["default", "chars4", "words"] = "default"
    kinds: dict[Literal["main", "summary", "title", "probe"], WhenTable | list[WhenTable]] = {}
    seed: int | None = None
    padding: bool = False
    profile: str | None = None
