"""Answering from recorded traffic: the order of work where a cassette answers instead of a provider.

rules → admission faults → requests, concurrency, spend → the recording → turn and wire faults → shell. What was
recorded is sent as it was: no validation, no unknown model, no overflow. Tokens are what the recording says; the
cache's journal entry is worked out where the dialect can read the request.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Protocol

import msgspec

from simulators.core import pacing
from simulators.core.account_file import Pacing
from simulators.core.answer import SimulatedAnswer, told
from simulators.core.fault import ArmedFault
from simulators.core.journal import Exchange
from simulators.core.models import cost_usd
from simulators.core.order import Rewrite, Work
from simulators.core.turn import Failure, ModelCall, ModelInfo, ModelTurn, Operation, Refused, Tokens
from simulators.core.wire import Abort, Chunk, Head, Request, Wait, WireEvent


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording answers: its `head`, the body as it came (`timed`: waits, chunks of the wire, the break) and cut
    into events without waits (`pieces`), for faults and pacing. `turn` is what it says, where that can be read."""

    head: Head
    timed: Sequence[WireEvent]
    pieces: Sequence[WireEvent]
    stream: bool = False
    usage: Mapping[str, Any] | None = None
    tokens: Tokens | None = None
    turn: ModelTurn | None = None
    lead: float = 0.0  # seconds before the head


class Replayer(Protocol):
    """Who has recordings."""

    def replay(self, request: Request) -> Replayed | None:
        """The next answer to this request, or None. Consumes what it gives."""

    def nearest_recorded(self, request: Request) -> Mapping[str, Any]:
        """For a request that was not recorded: {exchange, difference}."""


def replayer_of(responder: Any) -> Replayer | None:
    """The part of a responder that has recordings, if one has."""
    found: Replayer | None = getattr(responder, "replayer", None)
    return found


class Replay(Work):
    """One request at work where a cassette answers."""

    __slots__ = ("_replayer",)

    def __init__(self, replayer: Replayer, *args: Any) -> None:
        super().__init__(*args)
        self._replayer = replayer

    def answer(self, operation: Operation, refused: Failure | None = None) -> SimulatedAnswer:
        """The answer; what the engine found wrong with the request does not count, as it was answered once."""
        generates = operation == "generate" or (operation == "other" and self.request.method == "POST")
        try:
            if generates:
                return self._generated()
            found = self._replayer.replay(self.request)
            if found is None:
                raise Refused(self._unrecorded())
            return self._send(found, found.head, found.timed, None)
        except Refused as refusal:
            return self._refuse(refusal.failure, "other")

    def _generated(self) -> SimulatedAnswer:
        state = self.state
        state.calls += 1
        self.number = state.calls
        self._describe()
        call = self.call
        if state.faults["admission"]:
            answer = self._admission(self._due("admission", ()))
            if answer is not None:
                return answer
        failure = state.limits.admit(state.cost_usd, self.now)
        if failure is not None:
            raise Refused(failure)
        state.limits.open += 1
        self.slot = True
        if call is not None and state.document.rules:
            turn = state.responder.answer(call, n=self.number, chance=self.chance)
            if turn is not None and turn.answered_by.startswith("rules["):
                return self._invented(call, turn)
        found = self._replayer.replay(self.request)
        if found is not None:
            return self._replayed(found)
        if call is not None and state.document.otherwise in ("echo", "persona"):
            turn = state.responder.answer(call, n=self.number, chance=self.chance)
            if turn is not None:
                return self._invented(call, turn)
        raise Refused(self._unrecorded())

    def _invented(self, call: ModelCall, turn: ModelTurn) -> SimulatedAnswer:
        """What a rule, or a responder after the cassette, says."""
        model = self._model(call)
        counts = self.state.counter.prompt(call.blocks, model)
        found = self.state.cache.look(call, counts, model, self.now)
        return self._answer(call, model, found, turn, max(1, model.context_window - sum(counts)))

    def _replayed(self, found: Replayed) -> SimulatedAnswer:
        call = self.call
        asked = call or ModelCall(dialect=self.dialect.name, operation="generate", model="")
        context = self._context(msgspec.structs.replace(asked, stream=found.stream))
        head, events = found.head, found.timed
        pace, wire = self.state.document.pacing, self._due("wire", ())
        turn_faults = self._due("turn", ())
        pieces: Iterator[WireEvent] | None = None
        if turn_faults and head.status == 200 and call is not None and found.turn is not None:
            pieces = self._shaped(found, call, turn_faults)
            head = Head(
                200, tuple(pair for pair in head.headers if pair[0] not in ("content-length", "content-encoding"))
            )
        elif (wire and head.status == 200) or _paced(pace):
            pieces = iter(found.pieces)
        if pieces is None:
            return self._send(found, head, events, None)
        lead = 0.0
        if _paced(pace):
            output = found.tokens.output if found.tokens else 0
            lead = pacing.before_head(pace, self.chance, output, found.stream)
            pieces = pacing.paced(pieces, pace, self.chance) if found.stream else pieces
        stream: Iterator[WireEvent] = chain((head,), pieces)
        if head.status == 200:
            for fault in wire:
                self._note(fault)
                stream = fault.kind.frames(fault.params, _without_length(stream), context)
        return self._send(found, head, stream, lead)

    def _shaped(self, found: Replayed, call: ModelCall, faults: Sequence[ArmedFault]) -> Iterator[WireEvent]:
        """What the recording says, changed by turn faults and encoded anew."""
        turn, tokens = found.turn or ModelTurn(), found.tokens or Tokens()
        rewrites = list[Rewrite]()
        for fault in faults:
            self._note(fault)
            shaped = fault.kind.turn(fault.params, turn, tokens, self._context(call))
            turn, tokens = shaped.turn, shaped.tokens
            if shaped.rewrite is not None:
                rewrites.append(shaped.rewrite)
        events = self._encode(call, turn, tokens, self._stamp_parts(turn), rewrites)
        return (event for event in events if isinstance(event, Chunk | Wait | Abort))

    def _send(
        self, found: Replayed, head: Head, events: Sequence[WireEvent] | Iterator[WireEvent], lead: float | None
    ) -> SimulatedAnswer:
        """Book what is known and send it. `lead` None: `events` are the recording's own, as is what precedes them."""
        exchange = self.exchange
        exchange.answered_by = "cassette"
        exchange.stream = found.stream
        if lead is None:
            lead, events = found.lead, chain((head,), events)
        begin: Callable[[], None] | None = None
        if head.status == 200:
            begin = partial(self._book, found, self._look())
        elif head.status >= 400:
            exchange.error = told([head, *found.pieces])
        return SimulatedAnswer(events, exchange=exchange, lead=lead, begin=begin, end=self._end)

    def _look(self) -> Callable[[], None] | None:
        """Work out the cache's part, where the request can be read: the journal entry, and how to book it."""
        call = self.call
        if call is None or call.operation != "generate" or not call.blocks:
            return None
        model = self._model(call)
        found = self.state.cache.look(call, self.state.counter.prompt(call.blocks, model), model, self.now)
        self._remember(found)
        return partial(self.state.cache.begin, found)

    def _book(self, found: Replayed, begin: Callable[[], None] | None) -> None:
        exchange: Exchange = self.exchange
        if begin is not None:
            begin()
        exchange.usage, exchange.tokens = found.usage, found.tokens
        if found.tokens is not None:
            if self.call is not None:
                exchange.cost_usd = cost_usd(self._model(self.call), found.tokens)
            self.state.limits.generated(found.tokens.output, self.now)
            self.state.charge(found.tokens, exchange.cost_usd)

    def _model(self, call: ModelCall) -> ModelInfo:
        """The model, or for one that nobody knows a stand-in without a price."""
        known = self.state.models.get(call.model)
        return known or ModelInfo(id=call.model, provider="sim", context_window=200_000, max_output=64_000)

    def _unrecorded(self) -> Failure:
        nearest = dict(self._replayer.nearest_recorded(self.request))
        self.exchange.nearest = nearest
        self.state.unmatched.append(self.exchange.n)
        at = "" if nearest.get("exchange") is None else f"; the nearest is interactions[{nearest['exchange']}]"
        why = "; ".join(nearest.get("difference", ()))
        what = f"{self.request.method} {self.request.path}"
        return Failure(
            kind="bad_request",
            message=f"no scripted answer: the cassette has no such {what}{at}: {why}",
            headers=(("x-sim-unmatched", "1"),),
            answered_by="unmatched",
        )


def _paced(pace: Pacing) -> bool:
    return bool(pace.first_token_ms or pace.tokens_per_s)


def _without_length(events: Iterator[WireEvent]) -> Iterator[WireEvent]:
    """A head that does not promise a length, as a fault may change it."""
    for event in events:
        if isinstance(event, Head):
            event = Head(event.status, tuple(pair for pair in event.headers if pair[0] != "content-length"))
        yield event
