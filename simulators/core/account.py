"""One customer of the simulator: what is loaded for a key, and what can be asked about it."""

from collections.abc import Callable, Mapping
from typing import Any

from simulators.core.account_document import AccountDocument, as_document, parse_account, parse_fault
from simulators.core.answer import SimulatedAnswer
from simulators.core.document import Document
from simulators.core.journal import Journal, redact
from simulators.core.order import Work
from simulators.core.parts import Parts
from simulators.core.replaying import Replay, replayer_of
from simulators.core.state import State
from simulators.core.tokens import Counter
from simulators.core.turn import Dialect, Failure, Operation
from simulators.core.wire import Request

AnyDocument = AccountDocument | Document | Mapping[str, Any] | str | bytes


class Account:
    """The account of one key. Two accounts share nothing but the counts of texts.

    `offset` is what its clock is ahead of the shell's, in seconds.
    """

    def __init__(
        self, key: str, document: AccountDocument, *, parts: Parts, seed: int, counter: Callable[[str], Counter]
    ) -> None:
        self.key = key
        self.offset = 0.0
        self._parts, self._seed, self._counter = parts, seed, counter
        self._state = self._fresh(document)

    @property
    def journal(self) -> Journal:
        return self._state.journal

    @property
    def replays(self) -> bool:
        """Whether recordings answer here: then what the engine checks before does not count."""
        return replayer_of(self._state.responder) is not None

    @property
    def document(self) -> AccountDocument:
        """The document in force."""
        return self._state.document

    def load(self, document: AnyDocument) -> "Account":
        """Replace what is loaded; script, cache, limits, totals and journal start afresh. Returns the account.

        Raises `DocumentError`, and then nothing has changed. Answers under way are booked where they began.
        """
        if not isinstance(document, AccountDocument):
            document = parse_account(
                document, faults=self._parts.faults, errors=self._parts.errors, profiles=self._parts.profiles
            )
        self._state = self._fresh(document)
        return self

    def add_fault(self, fault: Mapping[str, Any] | str) -> None:
        """One more fault, as it would stand under `faults:` (or just its kind); everything else goes on."""
        data = {"kind": fault} if isinstance(fault, str) else fault
        place = f"faults[{len(self._state.all_faults)}]"
        self._state.arm(parse_fault(as_document(data), data, faults=self._parts.faults, place=place))

    def handle(
        self,
        dialect: Dialect,
        request: Request,
        operation: Operation,
        now: float,
        *,
        shown_key: str | None = None,
        refused: Failure | None = None,
    ) -> SimulatedAnswer:
        """Answer one request at `now`, the account's time. `shown_key` is the key as journals may show it."""
        key = redact(self.key) if shown_key is None else shown_key
        replayer = replayer_of(self._state.responder)
        if replayer is not None:
            return Replay(replayer, self._state, dialect, request, now, key).answer(operation, refused)
        return Work(self._state, dialect, request, now, key).answer(operation, refused)

    def state(self, now: float) -> dict[str, Any]:
        """{script, unmatched, limits, cache, totals, now}, as the control API answers; `now` is the account's time."""
        state = self._state
        turns, unused = state.document.turns, state.unused()
        left = sum(1 for place in unused if place.startswith("turns["))
        limits: dict[str, Any] = {
            name: {"limit": limit.limit, "remaining": limit.remaining, "reset": limit.reset}
            for name, limit in state.limits.state(now).items()
        }
        limits["concurrency"] = {"limit": state.document.limits.concurrency, "open": state.limits.open}
        limits["spend_usd"] = {"limit": state.document.limits.spend_usd, "spent": state.cost_usd}
        return {
            "script": {"next": len(turns) - left, "turns": len(turns), "unused": unused},
            "unmatched": len(state.unmatched),
            "limits": limits,
            "cache": {"entries": state.cache.live_entries(now)},
            "totals": {"requests": state.requests, "tokens": dict(state.tokens), "cost_usd": state.cost_usd},
            "now": now,
        }

    def problems(self) -> list[str]:
        """What a test must fail for at its end: calls that nothing answered, and turns and faults that never came."""
        state = self._state
        found = []
        for exchange in state.journal.exchanges:
            if exchange.n in state.unmatched:
                near = "".join(f"; {key}: {value}" for key, value in (exchange.nearest or {}).items())
                found.append(f"request {exchange.n} ({exchange.path}): no scripted answer{near}")
        if state.document.unused == "fail":
            found += [f"{place}: never used" for place in state.unused()]
        return found

    def _fresh(self, document: AccountDocument) -> State:
        return State(document, self._parts, self._seed, self._counter(document.tokenizer))
