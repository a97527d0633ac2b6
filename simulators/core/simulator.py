"""The engine: requests in, answers out. Knows keys and accounts; each account does its own work.

Pure: the time comes with each request, and waiting and breaking are events of the answer. Engines share nothing.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.account import Account, AnyDocument
from simulators.core.account_document import AccountDocument, parse_accounts
from simulators.core.answer import SimulatedAnswer, refusal
from simulators.core.document import Document
from simulators.core.ids import identifier, uuid
from simulators.core.parts import Parts
from simulators.core.tokens import Counter
from simulators.core.turn import Dialect, Failure, Operation, Stamp
from simulators.core.wire import Answer, Request

MAX_BODY = 32 * 1024 * 1024  # bytes, where a dialect has no `max_body` of its own

NO_KEY = "no-key"  # the account of requests that carry none, where a cassette answers

__all__ = ["Account", "Engine", "Parts"]


class Engine:
    """Every account of one simulator.

    `script` is what an unknown key gets (a document of one account; without it a persona answers); a script with
    `accounts:` loads those instead. With `strict_keys` an unknown key gets the vendor's 401. A document's own `seed`
    comes before the engine's.
    """

    def __init__(
        self, parts: Parts, *, seed: int = 0, strict_keys: bool = False, script: AnyDocument | None = None
    ) -> None:
        self.parts, self.seed, self.strict_keys = parts, seed, strict_keys
        self._accounts: dict[str, Account] = {}
        self._counters: dict[str, Counter] = {}
        self._offset = 0.0
        self._strangers = 0  # requests that belong to no account
        self._default = AccountDocument()
        if script is not None:
            self.load(script)

    def handle(self, request: Request, now: float) -> Answer:
        """Answer one request at `now` (Unix seconds). The answer is to be iterated once and closed once."""
        named = None
        path = request.path
        if path.startswith("/@"):
            named, _, rest = path[2:].partition("/")
            request = msgspec.structs.replace(request, path=f"/{rest}")
        dialect, operation = self._route(request)
        key = named or dialect.key(request)
        replaying = self._replaying(key)
        if replaying is not None:
            at = now + self._offset + replaying.offset
            return replaying.handle(dialect, request, operation or "other", at, shown_key=named)
        if operation is None:
            return self._stranger(dialect, Failure(kind="not_found", message="Not found"), request, now)
        refused = None
        if request.oversize or len(request.body) > getattr(dialect, "max_body", MAX_BODY):
            refused = Failure(kind="request_too_large")
        if not key:
            missing = Failure(kind="auth", details={"key": "missing"})
            return self._stranger(dialect, refused or missing, request, now)
        account = self._accounts.get(key)
        if account is None:
            if self.strict_keys:
                unknown = Failure(kind="auth", details={"key": "unknown"})
                return self._stranger(dialect, refused or unknown, request, now)
            account = self.account(key)
        at = now + self._offset + account.offset
        answer = account.handle(dialect, request, operation, at, shown_key=named, refused=refused)
        answer.asked = now
        return answer

    def account(self, key: str) -> Account:
        """The account of a key; an unknown one is created with the default script."""
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = Account(
                key, self._default, parts=self.parts, seed=self.seed, counter=self._counter
            )
        return account

    def _replaying(self, key: str | None) -> Account | None:
        """The account of the key if a cassette answers there; what was recorded without a key is asked without one."""
        known = self._accounts.get(key or NO_KEY)
        if known is None and self._default.responder == "cassette" and not (self.strict_keys and key):
            known = self.account(key or NO_KEY)
        return known if known is not None and known.replays else None

    def find(self, key: str) -> Account | None:
        """The account of a key if there is one."""
        return self._accounts.get(key)

    def load(self, document: AnyDocument) -> None:
        """Load a whole script: the accounts under `accounts:`, or what unknown keys get from now on.

        Raises `DocumentError`, and then nothing has changed.
        """
        if isinstance(document, AccountDocument):
            self._fall_back_on(document)
            return
        for name, parsed in self.parse(document).items():
            if name is None:
                self._fall_back_on(parsed)
            else:
                self.account(name).load(parsed)

    def _fall_back_on(self, document: AccountDocument) -> None:
        """What unknown keys get; a cassette that cannot be read is told now, and not by the first request."""
        if document.responder == "cassette":
            self.parts.make_responder(document)
        self._default = document

    def parse(self, document: Document | Mapping[str, Any] | str | bytes) -> dict[str | None, AccountDocument]:
        """Every account of a document, checked and not loaded."""
        return parse_accounts(
            document, faults=self.parts.faults, errors=self.parts.errors, profiles=self.parts.profiles
        )

    def forget(self, key: str) -> bool:
        """Remove an account; whether there was one."""
        return self._accounts.pop(key, None) is not None

    def keys(self) -> list[str]:
        """The keys that have an account."""
        return list(self._accounts)

    def advance(self, seconds: float, key: str | None = None) -> None:
        """Move the clock of one account, or of all, also of those to come. Answers under way are not shortened."""
        if seconds < 0:
            raise ValueError(f"a clock goes forward only: {seconds}")
        if key is None:
            self._offset += seconds
        else:
            self.account(key).offset += seconds

    def now(self, now: float, key: str | None = None) -> float:
        """What an account's clock shows when the shell's shows `now`."""
        account = self._accounts.get(key) if key is not None else None
        return now + self._offset + (account.offset if account else 0.0)

    def _route(self, request: Request) -> tuple[Dialect, Operation | None]:
        """Who serves the path; for a path that nobody serves, the dialect whose key the request carries."""
        dialects = self.parts.dialects.values()
        for dialect in dialects:
            operation = dialect.route(request)
            if operation is not None:
                return dialect, operation
        for dialect in dialects:
            if dialect.key(request):
                return dialect, None
        return next(iter(dialects)), None

    def _stranger(self, dialect: Dialect, failure: Failure, request: Request, now: float) -> SimulatedAnswer:
        """Refuse a request that belongs to no account; no journal has it."""
        self._strangers += 1
        n = -self._strangers
        stamp = Stamp(
            request_id=identifier(self.seed, n, "request"),
            message_id=identifier(self.seed, n, "message"),
            now=now + self._offset,
            organization=uuid(self.seed, 0, "organization"),
            target=request.target,
        )
        return SimulatedAnswer(refusal(dialect, failure, stamp, dialect.headers(None, {}, stamp)))

    def _counter(self, kind: Any) -> Counter:
        counter = self._counters.get(kind)
        if counter is None:
            counter = self._counters[kind] = Counter(kind, self.parts.count_default)
        return counter
