"""An answer on its way out: yields wire events, and books what happened exactly once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from simulators.core.journal import KEPT_ANSWER, KEPT_PIECES, Exchange
from simulators.core.turn import Dialect, Failure, Stamp
from simulators.core.wire import Chunk, Ended, Head, Headers, Wait, WireEvent

JSON = ("content-type", "application/json")
SSE = ("content-type", "text/event-stream; charset=utf-8")


class SimulatedAnswer:
    """Implements `wire.Answer`. `begin` is called when the head of a 200 leaves, `end` once at `close`.

    Whatever order a shell calls things in, the account stays consistent: an answer that is never iterated books
    nothing but its end; one that its client leaves has been paid for if its head had left.
    """

    __slots__ = ("_begin", "_closed", "_end", "_events", "_lead", "_sent", "asked", "exchange")

    def __init__(
        self,
        events: Iterable[WireEvent],
        *,
        exchange: Exchange | None = None,
        lead: float = 0.0,
        begin: Callable[[], None] | None = None,
        end: Callable[[bool], None] | None = None,
    ) -> None:
        self._events, self._lead = events, lead
        self._begin, self._end = begin, end
        self._closed = False
        self._sent: list[bytes] = []  # pieces of the body, for the journal
        self.asked: float | None = None  # when, by the clock that `close` goes by
        self.exchange = exchange

    def __iter__(self) -> Iterator[WireEvent]:
        exchange, sent = self.exchange, self._sent
        if self._lead:
            yield Wait(self._lead)
        for event in self._events:
            kind = type(event)
            if kind is Chunk:
                if exchange is not None:
                    exchange.frames += 1
                    if exchange.frames <= KEPT_PIECES:
                        sent.append(event.data)  # type: ignore[union-attr]
            elif kind is Head:
                self._head(event.status)  # type: ignore[union-attr]
            yield event

    def _head(self, status: int) -> None:
        if status < 200:
            return
        if self.exchange is not None:
            self.exchange.status = status
        if status == 200 and self._begin is not None and not self._closed:
            begin, self._begin = self._begin, None
            begin()

    def close(self, now: float, why: Ended) -> None:
        """Book the end. Calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        exchange = self.exchange
        if exchange is not None:
            exchange.ended = why
            exchange.answer = b"".join(self._sent)[:KEPT_ANSWER]
            if self.asked is not None:
                exchange.took = now - self.asked
            self._sent = []
        if self._end is not None:
            self._end(self._begin is None)


def refusal(dialect: Dialect, failure: Failure, stamp: Stamp, base: Headers) -> list[WireEvent]:
    """The events of a refusal: the dialect's words, unless the failure brings a body or a status of its own."""
    status, extra, body = dialect.encode_failure(failure, stamp)
    headers = merged((JSON,), base, extra, failure.headers)
    return [
        Head(status if failure.status is None else failure.status, headers),
        Chunk(body if failure.body is None else failure.body),
    ]


def told(events: Sequence[WireEvent], *, kind: str | None = None, retry_after: float | None = None) -> dict[str, Any]:
    """What a refusal told its client: {kind, message, retry_after}. `retry_after` (seconds) also from its headers."""
    message = ""
    for event in events:
        if isinstance(event, Head):
            sent = dict(event.headers)
            for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
                if retry_after is None and sent.get(name, "").replace(".", "", 1).isdecimal():
                    retry_after = float(sent[name]) / unit
        elif isinstance(event, Chunk):
            message = _message(event.data)
    return {"kind": kind, "message": message, "retry_after": retry_after}


def _message(body: bytes) -> str:
    """The vendor's sentence, else the beginning of what was sent."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body[:300].decode("utf-8", "replace")
    for key in ("error", "message"):
        value = value.get(key, value) if isinstance(value, dict) else value
    return value if isinstance(value, str) else body[:300].decode("utf-8", "replace")


def merged(*groups: Headers) -> Headers:
    """Headers of several sources; a later one replaces an earlier one of its name."""
    return tuple({name: (name, value) for group in groups for name, value in group}.values())
