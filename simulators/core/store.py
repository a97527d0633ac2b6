"""What an account keeps for its customer between requests: cached contents, stored answers, conversations.

A dialect whose API keeps nothing has nothing to do with it. The others implement `Keeper` besides `Dialect`; what they
put on a shelf is theirs alone. The time comes with each call, so that an hour of lifetime costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import msgspec

from simulators.core.turn import Block, ModelCall, ModelInfo, ModelTurn, Stamp, Tokens
from simulators.core.wire import Chunk, Headers

MAX_KEPT = 10_000  # things on one shelf; the oldest leave


class Store:
    """Shelves by kind (`cachedContents`), things by name; each with the time at which it is gone (None: never)."""

    def __init__(self) -> None:
        self._shelves: dict[str, dict[str, tuple[Any, float | None]]] = {}

    def put(self, shelf: str, name: str, value: Any, *, expires: float | None = None) -> None:
        """Keep a thing, or replace it at its place. `expires` in Unix seconds."""
        kept = self._shelves.setdefault(shelf, {})
        kept[name] = (value, expires)
        if len(kept) > MAX_KEPT:
            del kept[next(iter(kept))]

    def get(self, shelf: str, name: str, now: float) -> Any | None:
        """The thing, or None if there is none, or none any more."""
        value, expires = self._shelves.get(shelf, {}).get(name, (None, None))
        return value if expires is None or now < expires else None

    def drop(self, shelf: str, name: str, now: float) -> bool:
        """Remove a thing; whether it was there."""
        there = self.get(shelf, name, now) is not None
        self._shelves.get(shelf, {}).pop(name, None)
        return there

    def items(self, shelf: str, now: float) -> Iterator[tuple[str, Any]]:
        """What is on a shelf, oldest first."""
        for name, (value, expires) in list(self._shelves.get(shelf, {}).items()):
            if expires is None or now < expires:
                yield name, value


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """What a keeper works with: the account's store, its time, and how it counts.

    `count` gives the tokens of each block as that model counts them; `charge` books USD that no generation costs;
    `ask` sends a generation call of its own (path, body) and gives status, body and USD of the answer.
    """

    store: Store
    now: float
    stamp: Stamp
    count: Callable[[Sequence[Block], ModelInfo], list[int]]
    charge: Callable[[float], None]
    ask: Callable[[str, bytes], tuple[int, bytes, float]]


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request about something kept, in one piece or more (`stream`: server-sent events)."""

    chunks: Iterable[Chunk]
    status: int = 200
    headers: Headers = ()
    stream: bool = False


@runtime_checkable
class Keeper(Protocol):
    """What a dialect has besides if its API keeps things; refusals are raised as `Refused`."""

    def recall(self, call: ModelCall, desk: Desk) -> ModelCall:
        """A call of `generate` or `count_tokens`, with what it names and the account keeps put into it."""

    def serve(self, call: ModelCall, desk: Desk) -> Served:
        """Answer a request of operation `resource`: make, show, list, change or remove something kept."""

    def keep(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk) -> None:
        """The head of a 200 answer to `generate` leaves: put by what later requests may name."""


def keeper(dialect: Any) -> Keeper | None:
    """The dialect as a `Keeper`, if it is one."""
    return dialect if _keeps(type(dialect)) else None  # type: ignore[arg-type]  # mypy takes type[Any] for unhashable


@lru_cache(maxsize=64)
def _keeps(kind: type) -> bool:
    """Asked for every request, and dear to find out."""
    return issubclass(kind, Keeper)
