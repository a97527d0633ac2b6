"""The order of work for one request that has an account.

admission faults → requests, concurrency, spend → parse and validate → count → overflow → cache read → token buckets →
responder → turn faults → encode → pacing → wire faults. A turn is consumed by the responder and nowhere else; a call
refused before it writes nothing and costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from simulators.core import pacing
from simulators.core.answer import JSON, SSE, SimulatedAnswer, merged, refusal, told
from simulators.core.chance import Chance
from simulators.core.fault import ArmedFault, FaultContext, Phase
from simulators.core.ids import identifier
from simulators.core.journal import Exchange
from simulators.core.kinds import kind_of
from simulators.core.models import cost_usd
from simulators.core.output import finish
from simulators.core.prompt_cache import Lookup
from simulators.core.read_calls import Known, Render, Said
from simulators.core.state import State
from simulators.core.store import Desk, Keeper, keeper
from simulators.core.turn import (
    Dialect,
    Failure,
    ModelCall,
    ModelInfo,
    ModelTurn,
    Operation,
    Refused,
    Stamp,
    Tokens,
)  # fmt: skip
from simulators.core.wire import Chunk, Head, Headers, Request, WireEvent

Rewrite = Callable[[bytes], bytes]
PREWARM = ModelTurn(stop="max_tokens", answered_by="prewarm")


class Work:
    """One request at work. `answer` does it all; the methods follow the order above."""

    __slots__ = (
        "call",
        "chance",
        "counted",
        "dialect",
        "exchange",
        "known",
        "now",
        "number",
        "request",
        "slot",
        "stamp",
        "state",
    )

    def __init__(self, state: State, dialect: Dialect, request: Request, now: float, key: str) -> None:
        self.state, self.request, self.now = state, request, now
        self.dialect = dialect = state.bound(dialect)
        state.requests += 1
        n, seed = state.requests, state.seed
        self.exchange = Exchange(
            n=n, at=now, key=key, dialect=dialect.name, path=request.path, body=request.body, headers=request.headers
        )
        state.journal.add(self.exchange)
        self.chance = Chance(seed, n)
        self.stamp = Stamp(
            request_id=identifier(seed, n, "request"),
            message_id=identifier(seed, n, "message"),
            now=now,
            organization=state.organization,
            target=request.target,
            padding=identifier(seed, n, "padding") if state.document.padding else "",
        )
        self.number = 0  # of the generation call
        self.call: ModelCall | None = None
        self.known: Known | None = None  # that call, where the same request may come again
        self.slot = False  # counted among the answers that are open
        self.counted = 0  # taken from the bucket of input tokens

    def answer(self, operation: Operation, refused: Failure | None = None) -> SimulatedAnswer:
        """The answer to the request; `refused` is what the engine has already found wrong with it."""
        try:
            if refused is not None:
                raise Refused(refused)
            if operation == "generate":
                return self._generate()
            if operation == "count_tokens":
                return self._count_tokens()
            if operation in ("models", "model"):
                return self._models(operation)
            if operation == "resource" and (keeps := keeper(self.dialect)):
                return self._resource(keeps)
            place = {"method": self.request.method, "path": self.request.path}
            raise Refused(Failure(kind="not_found", message="Not found", details=place))
        except Refused as refusal_:
            return self._refuse(refusal_.failure, operation)

    def _generate(self) -> SimulatedAnswer:
        state = self.state
        state.calls += 1
        self.number = state.calls
        if state.faults["admission"]:
            answer = self._admission(self._due("admission", ()))
            if answer is not None:
                return answer
        failure = state.limits.admit(state.cost_usd, self.now)
        if failure is not None:
            raise Refused(failure)
        state.limits.open += 1
        self.slot = True
        call = self._parse("generate")
        model = state.models.get(call.model)
        if model is None:
            raise Refused(Failure(kind="model_not_found", message=f"model: {call.model}"))
        call = self._revised(call)
        counts = state.counter.prompt(call.blocks, model)
        total = sum(counts)
        _check_window(call, model, counts)
        found = state.cache.look(call, counts, model, self.now)
        counted = total + (call.max_tokens or 0) if call.reserves else total - found.read
        failure = state.limits.admit_tokens(counted, self.now, reserved=call.reserves)
        if failure is not None:
            raise Refused(failure)
        self.counted = counted
        # `max_tokens: 0` warms the cache and generates nothing: no turn is used up by it.
        warm = call.max_tokens == 0
        turn = PREWARM if warm else call.own or state.responder.answer(call, n=self.number, chance=self.chance)
        if turn is None:
            raise Refused(self._unmatched(call))
        return self._answer(call, model, found, turn, model.context_window - total)

    def _answer(self, call: ModelCall, model: ModelInfo, found: Lookup, turn: ModelTurn, room: int) -> SimulatedAnswer:
        """From the turn on: what was asked will be answered."""
        state, exchange = self.state, self.exchange
        exchange.answered_by = turn.answered_by or state.responder.name
        due: Callable[[Phase], list[ArmedFault]] = partial(self._due, of_turn=turn.faults)
        if turn.faults and (answer := self._admission([f for f in turn.faults if f.kind.PHASE == "admission"])):
            return answer
        if turn.failure is not None:
            raise Refused(turn.failure)
        if turn.raw is not None:
            return self._raw(turn.raw)
        self._remember(found)
        said = self._say(call, model, found, turn, room)
        turn, tokens = said.turn, said.tokens
        stamp = self._stamp_parts(turn)
        reported, rewrites = tokens, list[Rewrite]()
        for fault in due("turn"):
            self._note(fault)
            shaped = fault.kind.turn(fault.params, turn, reported, self._context(call))
            turn, reported = shaped.turn, shaped.tokens
            if shaped.rewrite is not None:
                rewrites.append(shaped.rewrite)
        same = turn is said.turn and reported is tokens
        events = self._encode(call, turn, reported, stamp, rewrites, said.render if same else None)
        for fault in due("wire"):
            self._note(fault)
            events = fault.kind.frames(fault.params, events, self._context(call))
        pace = state.document.pacing
        lead = (
            pacing.before_head(pace, self.chance, tokens.output, call.stream)
            if (pace.first_token_ms or pace.tokens_per_s) and not call.deferred
            else 0
        )
        return SimulatedAnswer(
            events, exchange=exchange, lead=lead,
            begin=partial(self._begin, call, model, found, said, turn, reported, stamp), end=self._end,
        )  # fmt: skip

    def _say(self, call: ModelCall, model: ModelInfo, found: Lookup, given: ModelTurn, room: int) -> Said:
        """The turn as it ends for this call, and its tokens; as it was said before, where everything is the same."""
        known = self.known if self.known is not None and self.known.call is call else None
        prompt = (found.input, found.read, found.write_5m, found.write_1h)
        said = known.again(given, prompt) if known is not None else None
        if said is None:
            counter = self.state.counter
            turn = finish(given, call, counter, model, room)
            output, thinking = counter.answer(turn, model)
            if extend := getattr(self.dialect, "extend", None):
                turn = extend(call, turn, found.ends[-1] if found.ends else 0, output)
                output, thinking = counter.answer(turn, model)
            output, thinking = output * call.copies, thinking * call.copies
            if turn.output_tokens is not None:
                output, thinking = turn.output_tokens, min(thinking, turn.output_tokens)
            tokens = Tokens(
                input=found.input, cache_read=found.read, cache_write_5m=found.write_5m, cache_write_1h=found.write_1h,
                output=output, thinking=thinking,
            )  # fmt: skip
            said = Said(turn=turn, tokens=tokens)
            if known is not None:
                known.put(given, prompt, said)
        elif known is not None and known.times == 1 and (prepare := getattr(self.dialect, "prepare", None)) is not None:
            said.render = prepare(call, said.turn, said.tokens)
        return said

    def _remember(self, found: Lookup) -> None:
        """Say in the journal what the cache gave, and why not more; later requests can refer to this one."""
        self.exchange.cache = _cache_entry(found, self.state.cache.explain(found))
        self.state.cache.accept(found, self.exchange.n)

    def _encode(
        self,
        call: ModelCall,
        turn: ModelTurn,
        tokens: Tokens,
        stamp: Stamp,
        rewrites: Sequence[Rewrite],
        render: Render | None = None,
    ) -> Iterator[WireEvent]:
        """Head and body, paced; `render` is how the body was prepared, if it was."""
        dialect = self.dialect
        media = SSE if call.stream and call.framing == "sse" else JSON
        head = Head(200, (media, *self._headers(call)))
        chunks: Iterable[Chunk]
        if render is not None:
            chunks = render(stamp)
        elif call.stream:
            chunks = dialect.encode_stream(call, turn, tokens, stamp)
        else:
            chunks = (Chunk(dialect.encode_json(call, turn, tokens, stamp)),)
        for rewrite in rewrites:
            chunks = _rewritten(chunks, rewrite)
        events: Iterator[WireEvent] = chain((head,), chunks)
        pace = self.state.document.pacing
        return pacing.paced(events, pace, self.chance) if call.stream and pace.tokens_per_s else events

    def _begin(
        self,
        call: ModelCall,
        model: ModelInfo,
        found: Lookup,
        said: Said,
        turn: ModelTurn,
        reported: Tokens,
        stamp: Stamp,
    ) -> None:
        """The head of a 200 leaves: from here on it is paid for and can be read from the cache."""
        state, exchange, tokens = self.state, self.exchange, said.tokens
        state.cache.begin(found)
        state.limits.generated(tokens.output, self.now)
        if said.usage is None or said.cost_usd is None:
            said.usage = self.dialect.usage(call, tokens)
            said.cost_usd = cost_usd(model, tokens) + (cost_usd(model, call.extra) if call.extra else 0)
        exchange.tokens, exchange.cost_usd = tokens, said.cost_usd
        exchange.usage = said.usage if reported is tokens else self.dialect.usage(call, reported)
        state.charge(tokens, exchange.cost_usd)
        if keeps := keeper(self.dialect):
            keeps.keep(call, turn, tokens, self._desk(stamp))

    def _end(self, begun: bool) -> None:
        if self.slot:
            self.slot = False
            self.state.limits.open -= 1
        if not begun and self.counted:
            reserved = self.call is not None and self.call.reserves
            self.state.limits.give_back(self.counted, self.now, reserved=reserved)
            self.counted = 0

    def _refuse(self, failure: Failure, operation: Operation) -> SimulatedAnswer:
        exchange = self.exchange
        exchange.answered_by = failure.answered_by
        if operation == "generate":
            self._describe()
        if self.call is not None and (self.call.reserves or failure.answered_by == "limits"):
            failure = msgspec.structs.replace(failure, details={"model": self.call.model, **failure.details})
        if failure.events is not None and self.call is not None and self.call.stream:
            headers = tuple(header for header in failure.headers if header[0] != SSE[0])
            failure = msgspec.structs.replace(failure, body=failure.events, headers=(*headers, SSE))
        events = refusal(self.dialect, failure, self.stamp, self._headers(self.call))
        exchange.error = told(events, kind=failure.kind, retry_after=failure.retry_after)
        return SimulatedAnswer(events, exchange=exchange, end=self._end_refused)

    def _end_refused(self, begun: bool) -> None:
        self._end(False)

    def _admission(self, faults: Sequence[ArmedFault]) -> SimulatedAnswer | None:
        """The first admission fault that is due answers instead of the provider."""
        for fault in faults:
            self._note(fault)
            self._describe()
            call = self.call or ModelCall(dialect=self.dialect.name, operation="generate", model="")
            outcome = fault.kind.admit(fault.params, self._context(call))
            answered_by = f"fault:{fault.kind.KIND}"
            if isinstance(outcome, Failure):
                raise Refused(msgspec.structs.replace(outcome, answered_by=answered_by))
            self.exchange.answered_by = answered_by
            return SimulatedAnswer(outcome, exchange=self.exchange, end=self._end_refused)
        return None

    def _raw(self, raw: Mapping[str, Any]) -> SimulatedAnswer:
        """An answer that is sent as it stands; nothing is known of its tokens."""
        events: list[WireEvent] = [Head(raw["status"], raw["headers"]), Chunk(raw["body"])]
        if raw["status"] >= 400:
            self.exchange.error = told(events)
        return SimulatedAnswer(events, exchange=self.exchange, end=self._end_refused)

    def _count_tokens(self) -> SimulatedAnswer:
        call = self._parse("count_tokens")
        model = self.state.models.get(call.model)
        if model is None:
            raise Refused(Failure(kind="model_not_found", message=f"model: {call.model}"))
        call = self._revised(call)
        total = sum(self.state.counter.prompt(call.blocks, model))
        return self._json(call, self.dialect.encode_count(call, total, self.stamp), "count_tokens")

    def _models(self, operation: Operation) -> SimulatedAnswer:
        call = self._parse(operation)
        return self._json(call, self.dialect.encode_models(call, self.state.models, self.stamp), "models")

    def _resource(self, keeps: Keeper) -> SimulatedAnswer:
        """Something that the account keeps is made, shown or changed."""
        call = self._parse("resource")
        served = keeps.serve(call, self._desk(self.stamp))
        self.exchange.answered_by = "store"
        head = Head(served.status, merged((SSE if served.stream else JSON,), self._headers(call), served.headers))
        return SimulatedAnswer(chain((head,), served.chunks), exchange=self.exchange)

    def _desk(self, stamp: Stamp) -> Desk:
        state = self.state
        return Desk(
            store=state.store, now=self.now, stamp=stamp, count=state.counter.prompt, charge=self._charge_kept,
            ask=self._ask,
        )  # fmt: skip

    def _ask(self, path: str, body: bytes) -> tuple[int, bytes, float]:
        """A generation call that this request brings with it, with an exchange of its own."""
        request = msgspec.structs.replace(self.request, method="POST", path=path, query=(), body=body)
        answer = Work(self.state, self.dialect, request, self.now, self.exchange.key).answer("generate")
        events = list(answer)
        answer.close(self.now, "complete")
        status = next(event.status for event in events if isinstance(event, Head) and event.status >= 200)
        data = b"".join(event.data for event in events if isinstance(event, Chunk))
        return status, data, answer.exchange.cost_usd if answer.exchange is not None else 0.0

    def _charge_kept(self, usd: float) -> None:
        self.exchange.cost_usd += usd
        self.state.cost_usd += usd

    def _json(self, call: ModelCall, body: bytes, answered_by: str) -> SimulatedAnswer:
        self.exchange.answered_by = answered_by
        head = Head(200, merged((JSON,), self._headers(call)))
        return SimulatedAnswer((head, Chunk(body)), exchange=self.exchange)

    def _parse(self, operation: Operation) -> ModelCall:
        call = self.call
        if call is None:
            known = self.known = self.state.read_calls.get(self.request)
            call = self.call = self._read(operation) if known is None else known.call
            exchange = self.exchange
            exchange.model, exchange.stream = call.model or None, call.stream
            if operation == "generate":
                exchange.kind = call.kind
        return call

    def _read(self, operation: Operation) -> ModelCall:
        """Read the request, and remember what came of it unless that depends on the number of the call."""
        state, request = self.state, self.request
        call = self.dialect.parse(request, operation, state.models)
        call.path, call.headers = request.path, call.headers or request.headers
        kinds = state.document.kinds
        if operation == "generate":
            call.kind = kind_of(call, self.number, kinds)
        if not kinds:
            self.known = state.read_calls.put(request, call)
        return call

    def _revised(self, call: ModelCall) -> ModelCall:
        """The call with what the account keeps of it, and as the server changes it once the prompt is counted."""
        if keeps := keeper(self.dialect):
            call = keeps.recall(call, self._desk(self.stamp))
        if call.revise is not None:
            call = call.revise(call, self._desk(self.stamp))
        self.call = call
        return call

    def _describe(self) -> None:
        """Fill in what the journal says of a call that is refused before it was read, if it can be read."""
        if self.call is None:
            try:
                self._parse("generate")
            except Refused:
                pass

    def _headers(self, call: ModelCall | None) -> Headers:
        return self.dialect.headers(call, self.state.limits.state(self.now), self.stamp)

    def _stamp_parts(self, turn: ModelTurn) -> Stamp:
        """The stamp with an identifier for each part that needs one."""
        if not turn.tool_calls and turn.thinking is None:
            return self.stamp
        seed, n = self.chance.seed, self.chance.n
        tool_ids = tuple(identifier(seed, n, f"tool:{i}") for i in range(len(turn.tool_calls)))
        signature = identifier(seed, n, "signature") if turn.thinking is not None else ""
        return msgspec.structs.replace(self.stamp, tool_ids=tool_ids, signature=signature)

    def _unmatched(self, call: ModelCall) -> Failure:
        nearest = self.state.responder.nearest(call) or {}
        self.exchange.nearest = nearest
        self.state.unmatched.append(self.exchange.n)
        hint = "".join(f"; {key}: {value}" for key, value in nearest.items())
        return Failure(
            kind="bad_request",
            message=f"no scripted answer for generation call {self.number}{hint}",
            headers=(("x-sim-unmatched", "1"),),
            answered_by="unmatched",
        )

    def _due(self, phase: Phase, of_turn: Sequence[ArmedFault]) -> list[ArmedFault]:
        """The faults of a phase that act on this call: the account's, then the turn's own."""
        due = [fault for fault in self.state.faults[phase] if self._struck(fault)]
        return due + [fault for fault in of_turn if phase == fault.kind.PHASE] if of_turn else due

    def _struck(self, fault: ArmedFault) -> bool:
        """Whether this call is one that the fault acts on."""
        on = fault.on
        if not on.covers(self.number):
            return False
        if on.path is not None and not fnmatchcase(self.request.path, on.path):
            return False
        if on.model is not None:
            self._describe()
            if self.call is None or not fnmatchcase(self.call.model, on.model):
                return False
        return on.probability is None or self.chance(f"fault:{fault.place}") < on.probability

    def _note(self, fault: ArmedFault) -> None:
        self.state.fired.add(fault.place)
        self.exchange.faults = [*self.exchange.faults, fault.kind.KIND]

    def _context(self, call: ModelCall) -> FaultContext:
        return FaultContext(call=call, dialect=self.dialect, stamp=self.stamp, chance=self.chance)


def _check_window(call: ModelCall, model: ModelInfo, counts: Sequence[int]) -> None:
    """Refuse what does not fit: the input alone, or (where the vendor refuses that) input and `max_tokens` together."""
    limit, total = model.features.get("max_input", model.context_window), sum(counts)
    details: dict[str, Any] = {"tokens": total, "limit": limit, "max_tokens": call.max_tokens}
    if total > limit:
        details["tool_tokens"] = sum(
            count for block, count in zip(call.blocks, counts, strict=True) if block.level == "tools"
        )
        details["configured"] = limit < model.context_window
        raise Refused(Failure(kind="context_overflow", answered_by="overflow", details=details))
    if call.strict_window and call.max_tokens and total + call.max_tokens > limit:
        raise Refused(Failure(kind="output_budget", answered_by="overflow", details=details))


def _cache_entry(found: Lookup, miss: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the journal says of the cache: ideal read, breakpoints, and why it gave less."""
    blocks = found.call.blocks
    marks = [{"at": blocks[at].path, "ttl": ttl, "tokens": found.ends[at]} for at, ttl in found.marks]
    return {"ideal_read": found.ideal, "breakpoints": marks, "miss": miss}


def _rewritten(chunks: Iterable[Chunk], rewrite: Callable[[bytes], bytes]) -> Iterator[Chunk]:
    for chunk in chunks:
        yield Chunk(rewrite(chunk.data), chunk.event)
