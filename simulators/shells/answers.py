"""Reads a simulator's answer for a CLI fake: whole values instead of exceptions, waits for whoever drives to sleep."""

from collections.abc import Generator
from typing import Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from simulators.cli.effects import Call, CallFailed, Reply
from simulators.core.wire import Abort, Answer, Chunk, Ended, Head, Request, Wait


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds."""


class Provider(Protocol):
    """What answers a fake's calls: the simulator, in this process."""

    @property
    def clock(self) -> Clock: ...

    def handle(self, request: Request) -> Answer: ...


def request_of(call: Call) -> Request:
    """A fake's call as the simulators read requests."""
    url = urlsplit(call.url)
    headers = tuple((name.lower(), value) for name, value in call.headers)
    query = tuple(parse_qsl(url.query, keep_blank_values=True))
    headers = (("host", url.netloc), *headers, ("content-length", str(len(call.body))))
    return Request(method=call.method, path=unquote(url.path), query=query, headers=headers, body=call.body)


class AnswerReader:
    """One answer while it is read. The generators yield seconds to wait; like a server, it goes on meanwhile."""

    def __init__(self, provider: Provider, call: Call) -> None:
        self._clock = provider.clock
        self._answer = provider.handle(request_of(call))
        self._events = iter(self._answer)
        self._due = self._clock.now()
        self._closed = False

    def head(self) -> Generator[float, None, Reply | CallFailed]:
        """Status and headers, or how the connection broke."""
        while True:
            event = yield from self._next()
            if isinstance(event, Head) and event.status >= 200:
                return Reply(event.status, event.headers)
            if event is None or isinstance(event, Abort):
                self.close("cut")
                return CallFailed("reset", "socket hang up")

    def chunk(self) -> Generator[float, None, bytes | CallFailed]:
        """More of the body, b"" at its proper end, or how it broke."""
        while True:
            event = yield from self._next()
            if event is None:
                self.close("complete")
                return b""
            if isinstance(event, Abort):
                self.close("cut")
                return CallFailed("reset" if event.how == "reset" else "cut", "the connection ended in the middle")
            if isinstance(event, Chunk) and event.data:
                return event.data

    def _next(self) -> Generator[float, None, Head | Chunk | Abort | None]:
        for event in self._events:
            if isinstance(event, Wait):
                self._due += event.seconds
                continue
            yield from self._wait()
            return event
        yield from self._wait()
        return None

    def _wait(self) -> Generator[float, None, None]:
        left = self._due - self._clock.now()
        if left > 0:
            yield left

    def leave(self) -> None:
        """The fake is done reading: complete if nothing was left, else it has gone."""
        if not self._closed:
            self.close("complete" if next(self._events, None) is None else "client_gone")

    def close(self, why: Ended) -> None:
        if not self._closed:
            self._closed = True
            self._answer.close(self._clock.now(), why)
