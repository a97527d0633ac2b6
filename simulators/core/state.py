"""What an account remembers while one document is in force. Loading another document starts a new one."""

from simulators.core.account_document import AccountDocument
from simulators.core.cache_regimes import Caches
from simulators.core.fault import ArmedFault, Phase
from simulators.core.ids import uuid
from simulators.core.journal import Journal
from simulators.core.models import Models, catalogue
from simulators.core.parts import Parts
from simulators.core.rate_limit import RateLimits
from simulators.core.read_calls import ReadCalls
from simulators.core.store import Store
from simulators.core.tokens import Counter
from simulators.core.turn import Dialect, Tokens


class State:
    """Script position, faults, limits, cache, totals and journal of one account."""

    def __init__(self, document: AccountDocument, parts: Parts, seed: int, counter: Counter) -> None:
        self.document = document
        self.seed = seed if document.seed is None else document.seed
        self.counter = counter
        self.models: Models = catalogue().with_changes(document.models)
        self.responder = parts.make_responder(document)
        self.limits = RateLimits(document.limits)
        self.cache = Caches(document.cache)
        self.store = Store()
        self.journal = Journal()
        self.read_calls = ReadCalls()
        self.organization = uuid(self.seed, 0, "organization")
        self.all_faults: list[ArmedFault] = []
        self.faults: dict[Phase, list[ArmedFault]] = {"admission": [], "turn": [], "wire": []}
        for fault in document.faults:
            self.arm(fault)
        self.fired: set[str] = set()  # places of faults that have acted
        self.unmatched: list[int] = []  # numbers of exchanges that nothing answered
        self.requests = 0
        self.calls = 0  # of these, generation calls
        self.tokens = {"input": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "output": 0}
        self.cost_usd = 0.0
        self._dialects: dict[str, Dialect] = {}

    def bound(self, dialect: Dialect) -> Dialect:
        """The dialect as it serves this account: where a document names a profile, another server stands there."""
        bind = getattr(dialect, "bind", None)
        if bind is None:
            return dialect
        found = self._dialects.get(dialect.name)
        if found is None:
            found = self._dialects[dialect.name] = bind(self.document)
        return found

    def arm(self, fault: ArmedFault) -> None:
        """Add a fault."""
        self.all_faults.append(fault)
        self.faults[fault.kind.PHASE].append(fault)

    def charge(self, tokens: Tokens, cost_usd: float) -> None:
        """Book what a call cost."""
        total = self.tokens
        total["input"] += tokens.input
        total["cache_read"] += tokens.cache_read
        total["cache_write_5m"] += tokens.cache_write_5m
        total["cache_write_1h"] += tokens.cache_write_1h
        total["output"] += tokens.output
        self.cost_usd += cost_usd

    def unused(self) -> list[str]:
        """What was scripted and never happened: `turns[3]`, `faults[0]`."""
        return self.responder.unused() + [f.place for f in self.all_faults if f.place not in self.fired]
