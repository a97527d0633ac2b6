"""Where a play takes place: its simulator, its folder, its clock, and the traffic between runtime and provider."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from claw.lab import mutations
from claw.lab.evidence import Exchange
from claw.lab.parts import account_key, accounts
from claw.lab.schema import Scenario
from simulators.core.turn import ModelInfo
from simulators.core.wire import Request

HOME = "home"
WORKSPACE = "workspace"


class BudgetSpent(Exception):
    """A play has made all the calls that it may make."""


class Traffic:
    """A simulator as a runtime sees it: requests are counted, changed by a mutation, refused beyond the budget.

    Has what a transport and the CLI fakes need of a simulator; `exchanges()` are those of all accounts in the order
    in which they arrived, numbered from 1 across accounts, each with its `account` and the request's `headers`.
    """

    def __init__(self, simulator: Any, names: Sequence[str], *, limit: int, change: mutations.Change | None) -> None:
        self.simulator, self._names, self._limit, self._change = simulator, tuple(names), limit, change
        self._log: list[tuple[str, Any, dict[str, str]]] = []
        self._final: dict[int, Exchange] = {}
        self._count = 0
        self.on_overrun: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.simulator, name)

    def handle(self, request: Request) -> Any:
        """As the simulator's own; raises `BudgetSpent` when the play may make no more calls."""
        self._count += 1
        if self._count > self._limit:
            self.on_overrun()
            raise BudgetSpent(f"more than {self._limit} requests")
        if self._change is not None:
            request = mutations.apply(self._change, request, self._count)
        before = {name: self._journal(name).dropped + len(self._journal(name)) for name in self._names}
        answer = self.simulator.handle(request)
        for name in self._names:
            journal = self._journal(name)
            if journal.dropped + len(journal) > before[name]:
                self._log.append((name, journal.exchanges[-1], _shown(request)))
        return answer

    def transport(self) -> Any:
        """An httpx2 transport that leads here."""
        from simulators.shells.inprocess import transport_class

        return transport_class("httpx2")(self)

    def exchanges(self, after: int = 0) -> list[Exchange]:
        """Everything that arrived, but the first `after`."""
        return [self._shown(n) for n in range(after + 1, len(self._log) + 1)]

    def _shown(self, n: int) -> Exchange:
        """The n-th exchange; a final one is made only once, for bodies are large."""
        if n in self._final:
            return self._final[n]
        name, exchange, headers = self._log[n - 1]
        made: Exchange = exchange.to_dict() | {"n": n, "account": name, "headers": headers}
        if exchange.ended is not None:
            self._final[n] = made
        return made

    def unused(self) -> list[str]:
        """Scripted turns and faults that never came, but those of accounts that allow it."""
        left: list[str] = []
        for name in self._names:
            account = self.simulator.account(account_key(name))
            if account.document.unused == "fail":
                places = account.state(self.simulator.now())["script"]["unused"]
                left += places if len(self._names) == 1 else [f"{name}: {place}" for place in places]
        return left

    def __len__(self) -> int:
        return len(self._log)

    def _journal(self, name: str) -> Any:
        return self.simulator.account(account_key(name)).journal


def _shown(request: Request) -> dict[str, str]:
    """The request's headers, credentials left out."""
    secret = ("authorization", "x-api-key", "x-goog-api-key", "cookie")
    return {name: value for name, value in request.headers if name not in secret}


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """What a runtime is given at the start of a play.

    `provider` answers for every account of the scenario; `folder` is empty and belongs to the play alone; `count`
    counts tokens as the first account does (for the history that the runtime is to have); `seed` decides all chance.
    """

    scenario: Scenario
    provider: Traffic
    folder: Path
    seed: int
    count: Callable[[str], int]


def set_up(scenario: Scenario, folder: Path, *, seed: int, mutate: str | None = None, real_time: bool = False) -> Stage:
    """A stage with a fresh simulator on which the scenario's accounts are loaded."""
    from simulators import Simulator
    from simulators.shells.serving import RealClock

    simulator = Simulator(seed=seed, clock=RealClock() if real_time else None)
    named = accounts(scenario)
    for name, document in named.items():
        simulator.account(account_key(name)).load(document)
    change = mutations.load(mutate) if mutate else None
    traffic = Traffic(simulator, list(named), limit=scenario.budget.calls, change=change)
    return Stage(
        scenario=scenario,
        provider=traffic,
        folder=folder,
        seed=seed,
        count=_counter(simulator, scenario, next(iter(named.values())) or {}),
    )


def _counter(simulator: Any, scenario: Scenario, account: Any) -> Callable[[str], int]:
    """Counts a piece of text as the account's tokenizer does."""
    match account.get("tokenizer", "default"):
        case "words":
            return lambda text: len(text.split())
        case "chars4":
            return lambda text: -(-len(text) // 4)
    from simulators.core.tokens import Counter

    provider, _, model = scenario.given.model.partition("/")
    info = ModelInfo(id=model, provider=provider, context_window=0, max_output=0)
    counter = Counter("default", simulator.engine.parts.count_default)
    return lambda text: counter.text(text, info)


def scratch_root() -> str | None:
    """A folder in memory for plays, where the platform has one: syncing there costs nothing. None: the default."""
    shared = "/dev/shm"
    return shared if os.path.isdir(shared) and os.access(shared, os.W_OK) else None
