"""Injected trouble: what a fault is, and where in the order of work it acts.

A kind of fault is one module in `simulators/faults`, found by listing the folder. It is a transform: an *admission*
fault answers instead of the provider, a *turn* fault changes what will be said, a *wire* fault changes the events on
their way out. None of them knows a clock, a socket or a vendor.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol

import msgspec

from simulators.core.account_file import On
from simulators.core.turn import Dialect, Failure, ModelCall, ModelTurn, Stamp, Tokens
from simulators.core.wire import WireEvent

Phase = Literal["admission", "turn", "wire"]


class FaultContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a fault may look at. `chance(purpose)` draws a number in [0, 1) that depends on seed, call and purpose."""

    call: ModelCall
    dialect: Dialect
    stamp: Stamp
    chance: Callable[[str], float]


class FaultKind(Protocol):
    """The names that a module in `simulators/faults` defines; it has the function of its phase and no other."""

    KIND: str
    PHASE: Phase
    Params: type[msgspec.Struct]  # what a document may say besides `kind` and `on`; unknown fields forbidden

    def admit(self, params: Any, context: FaultContext) -> "Failure | Iterator[WireEvent]":
        """PHASE admission: refuse (the dialect words it), or answer with wire events of its own."""

    def turn(self, params: Any, turn: ModelTurn, tokens: Tokens, context: FaultContext) -> "ShapedTurn":
        """PHASE turn: change the turn or the figures that will be reported."""

    def frames(self, params: Any, events: Iterator[WireEvent], context: FaultContext) -> Iterator[WireEvent]:
        """PHASE wire: the events of a 200 answer, head first, changed on their way out."""


class ShapedTurn(msgspec.Struct, frozen=True):
    """A turn, the figures to report, and how to rewrite each encoded event (None: as encoded)."""

    turn: ModelTurn
    tokens: Tokens
    rewrite: Callable[[bytes], bytes] | None = None


class ArmedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that a document asks for: its kind, its parameters, when it acts, and where it stands (`faults[0]`)."""

    kind: FaultKind
    params: Any
    on: On
    place: str


class Responder(Protocol):
    """Who decides the answer. One per account; it may keep a position (the script does)."""

    name: str

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        """The turn for generation call `n` (from 1), or None if this responder has none. Consumes what it gives."""

    def unused(self) -> list[str]:
        """What was scripted and never asked for: `turns[3]`."""

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        """For a call that nothing answers: the rule that came closest and the key that did not fit."""
