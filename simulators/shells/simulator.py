"""`Simulator`: the simulated providers as one object, with a door for every kind of client."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from simulators.core.account import Account, AnyDocument
from simulators.core.account_document import AccountDocument, parse_account
from simulators.core.parts import Parts
from simulators.core.simulator import Engine
from simulators.core.wire import Answer, Request
from simulators.shells import vocabulary
from simulators.shells.virtual_time import VirtualClock

if TYPE_CHECKING:
    from simulators.shells.http import HttpDoor
    from simulators.shells.inprocess import Clock


@lru_cache(maxsize=1)
def parts() -> Parts:
    """Dialects, faults, responders and errors, found by listing their folders; they keep no state: once is enough."""
    from simulators import dialects, errors, faults, responders

    return Parts(
        dialects=dialects.load(),
        faults=faults.load(),
        make_responder=responders.make,
        count_default=vocabulary.count,
        errors=errors.failures(),
    )


class Simulator:
    """The simulated providers.

    `script` is the account document that every unknown key gets (text, mapping or `Document`; a top key `accounts:`
    names accounts); without one it gets a persona. `clock` has `now()` in Unix seconds; the default is virtual: it
    begins at 2026-01-01T00:00:00Z and follows the virtual loop that runs, if one does. Raises `DocumentError`.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        clock: "Clock | None" = None,
        script: AnyDocument | None = None,
        strict_keys: bool = False,
    ) -> None:
        self.clock: Any = VirtualClock() if clock is None else clock
        self.engine = Engine(parts(), seed=seed, strict_keys=strict_keys, script=script)

    def now(self, key: str | None = None) -> float:
        """Unix seconds by the simulator's clock, or by an account's, which may be ahead of it."""
        return self.engine.now(self.clock.now(), key)

    def advance(self, seconds: float, key: str | None = None) -> float:
        """Move the clock of one account, or of all, and tell its time; waits under way are not shortened."""
        self.engine.advance(seconds, key)
        return self.now(key)

    def handle(self, request: Request) -> Answer:
        """The answer to one request: iterate it once, then close it."""
        return self.engine.handle(request, self.clock.now())

    def account(self, key: str, document: AnyDocument | None = None) -> Account:
        """The account of a key, made if need be, with a document loaded if one is given.

        It has `load(document)` and `journal.exchanges`. Raises `DocumentError`, and then nothing has changed.
        """
        if document is None:
            return self.engine.account(key)
        found = self.engine.find(key)
        if found is not None:
            return found.load(document)
        if not isinstance(document, AccountDocument):
            known = self.engine.parts
            document = parse_account(document, faults=known.faults, errors=known.errors, profiles=known.profiles)
        return self.engine.account(key).load(document)

    def transport(self, *, account: str | None = None) -> Any:
        """A transport for `httpx2.Client` and `httpx2.AsyncClient`, as the official SDKs use them.

        Every request is answered here, whatever its host. `account` serves all of them from one account, whatever
        key they carry.
        """
        from simulators.shells.inprocess import transport_class

        return transport_class("httpx2")(_Under(self, account) if account else self)

    def transport_httpx(self, *, account: str | None = None) -> Any:
        """The same for the older `httpx`."""
        from simulators.shells.inprocess import transport_class

        return transport_class("httpx")(_Under(self, account) if account else self)

    def respx(self, router: Any, *, account: str | None = None) -> Any:
        """Answer what no other route of a respx router takes; the route, so that its calls can be looked at."""
        from simulators.shells.respx_door import answer_from

        return answer_from(router, _Under(self, account) if account else self)

    def app(self) -> "HttpDoor":
        """What a `Listener` serves: the vendors' paths, and the control API."""
        from simulators.shells.control import Control
        from simulators.shells.http import HttpDoor

        return HttpDoor(self, Control(self))


class _Under:
    """A provider that puts every request under one account, by the path prefix `/@NAME`."""

    def __init__(self, simulator: Simulator, account: str) -> None:
        if "/" in account:
            raise ValueError(f"{account!r} cannot stand in a path: it has a slash")
        self._simulator, self._prefix = simulator, f"/@{account}"

    @property
    def clock(self) -> Any:
        return self._simulator.clock

    def handle(self, request: Request) -> Answer:
        return self._simulator.handle(replace(request, path=self._prefix + request.path))
