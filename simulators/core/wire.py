"""What crosses the wire, as values: a request, and the events of an answer.

A shell turns bytes from a socket (or an SDK's transport) into a `Request`, hands it to the simulator, and
performs the `WireEvent`s it gets back. Waiting and breaking are events too, so every fault works through
every door, and virtual time costs nothing.
"""

from collections.abc import Iterator
from typing import Literal, Protocol
from urllib.parse import urlencode

import msgspec

Headers = tuple[tuple[str, str], ...]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request. Header names are lower case; `path` is decoded and carries no query.

    `oversize`: the body is longer than the door takes, and was not kept.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Headers = ()
    body: bytes = b""
    oversize: bool = False

    @property
    def target(self) -> str:
        """Path and query, as the request line has them."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    def header(self, name: str) -> str | None:
        """The first value of a header (name in lower case), or None."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


class Head(msgspec.Struct, frozen=True):
    """Status line and headers. Status 1xx may precede the final head (`informational` fault)."""

    status: int
    headers: Headers = ()


class Chunk(msgspec.Struct, frozen=True):
    """Bytes of the body. One SSE event is one chunk; `event` is its name ("" for a whole JSON body)."""

    data: bytes
    event: str = ""


class Wait(msgspec.Struct, frozen=True):
    """Nothing is sent for this many seconds; `float("inf")` hangs until the client leaves."""

    seconds: float


class Abort(msgspec.Struct, frozen=True):
    """The connection ends here without a proper end: `reset` (RST) or `fin` (closed in the middle)."""

    how: Literal["reset", "fin"] = "fin"


WireEvent = Head | Chunk | Wait | Abort
Ended = Literal["complete", "cut", "client_gone"]


class Answer(Protocol):
    """What the simulator answers. Iterate it once; then `close` it exactly once, whatever happened."""

    def __iter__(self) -> Iterator[WireEvent]: ...

    def close(self, now: float, why: Ended) -> None:
        """Book the end: the journal entry becomes final, a concurrency slot is freed."""
