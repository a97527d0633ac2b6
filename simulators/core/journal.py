"""What was asked and what was answered, one exchange a request, in a bounded list that says what it dropped."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import CallKind, Tokens
from simulators.core.wire import Ended, Headers

MAX_EXCHANGES = 1000
MAX_BYTES = 256 * 1024 * 1024
KEPT_ANSWER = 64 * 1024  # bytes of an answer that are kept, and pieces that are looked at
KEPT_PIECES = 2000
ASKING = frozenset({"anthropic-beta", "openai-beta"})  # headers without which two requests look the same and are not


class Exchange(msgspec.Struct, kw_only=True):
    """One request and its answer. Final once `ended` is set; before that the answer is under way.

    `n` counts the account's requests from 1; `at` in Unix seconds; `answered_by` is `turns[2]`, `rules[0]`, `limits`,
    `validation`, `overflow`, `fault:KIND`, `unmatched`, `cassette` or a responder's name. `usage` is what the vendor's
    usage object said, `tokens` the truth. `frames` counts the pieces of the body that left. `headers` are those that
    change what is asked; `error` of a refusal is {kind, message, retry_after}: the kind as the simulator has
    it (None for a raw answer), the message and the seconds to wait as they were sent. `answer` is the beginning of the
    body that was sent, `took` the seconds from request to end; neither is in `to_dict`.
    """

    n: int
    at: float
    key: str
    dialect: str
    path: str
    model: str | None = None
    stream: bool = False
    kind: CallKind | None = None
    body: bytes = b""
    status: int | None = None
    answered_by: str = ""
    usage: Mapping[str, Any] | None = None
    tokens: Tokens | None = None
    cache: Mapping[str, Any] | None = None
    faults: list[str] = []
    frames: int = 0
    ended: Ended | None = None
    cost_usd: float = 0.0
    nearest: Mapping[str, Any] | None = None
    headers: Headers = ()
    error: Mapping[str, Any] | None = None
    answer: bytes = b""
    took: float | None = None

    @property
    def request(self) -> Any:
        """The body, decoded; text if it is not JSON, None if there was none."""
        if not self.body:
            return None
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError):
            return self.body.decode("utf-8", "replace")

    def to_dict(self) -> dict[str, Any]:
        """The exchange as the control API and saved journals have it; `nearest` only where nothing answered, `error`
        only of a refusal, `headers` only where there is one of `ASKING`."""
        tokens = self.tokens
        made = {
            "n": self.n,
            "at": self.at,
            "key": self.key,
            "dialect": self.dialect,
            "path": self.path,
            "model": self.model,
            "stream": self.stream,
            "kind": self.kind,
            "request": self.request,
            "status": self.status,
            "answered_by": self.answered_by,
            "usage": self.usage,
            "tokens": None if tokens is None else tokens_dict(tokens),
            "cache": self.cache,
            "faults": list(self.faults),
            "frames": self.frames,
            "ended": self.ended,
            "cost_usd": self.cost_usd,
        }
        if asking := {name: value for name, value in self.headers if name in ASKING}:
            made["headers"] = asking
        if self.error is not None:
            made["error"] = self.error
        if self.nearest is not None:
            made["nearest"] = self.nearest
        return made

    def detail(self) -> dict[str, Any]:
        """`to_dict` with `answer` (text), `answer_cut` (whether there was more) and `took`: for who looks at one."""
        cut = len(self.answer) >= KEPT_ANSWER or self.frames > KEPT_PIECES
        return {
            **self.to_dict(),
            "answer": self.answer.decode("utf-8", "replace"),
            "answer_cut": cut,
            "took": self.took,
        }


def tokens_dict(tokens: Tokens) -> dict[str, int]:
    """{input, cache_read, cache_write_5m, cache_write_1h, output}."""
    return {
        "input": tokens.input,
        "cache_read": tokens.cache_read,
        "cache_write_5m": tokens.cache_write_5m,
        "cache_write_1h": tokens.cache_write_1h,
        "output": tokens.output,
    }


def redact(key: str) -> str:
    """A key that can be told from others and not used: `sk-…` or `sk-ant…7f3a`."""
    return f"{key[:6]}…{key[-4:]}" if len(key) >= 20 else f"{key[:3]}…"


class Journal:
    """The exchanges of one account: the last 1,000, or 256 MB of bodies."""

    def __init__(self, *, max_exchanges: int = MAX_EXCHANGES, max_bytes: int = MAX_BYTES) -> None:
        self._kept: deque[Exchange] = deque()
        self._bytes = 0
        self._max_exchanges, self._max_bytes = max_exchanges, max_bytes
        self.dropped = 0  # exchanges that are no longer here

    @property
    def exchanges(self) -> list[Exchange]:
        return list(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, exchange: Exchange) -> None:
        """Append; the oldest leave when there is too much."""
        kept = self._kept
        kept.append(exchange)
        self._bytes += len(exchange.body)
        while len(kept) > self._max_exchanges or (self._bytes > self._max_bytes and len(kept) > 1):
            self._bytes -= len(kept.popleft().body)
            self.dropped += 1

    def find(self, n: int) -> Exchange | None:
        """The exchange of this number, if it is still here."""
        return next((exchange for exchange in self._kept if exchange.n == n), None)

    def after(self, n: int) -> list[Exchange]:
        """Those with a number above `n`."""
        return [exchange for exchange in self._kept if exchange.n > n]

    def to_dict(self, after: int = 0) -> dict[str, Any]:
        """{exchanges, dropped}, as the control API answers."""
        return {"exchanges": [exchange.to_dict() for exchange in self.after(after)], "dropped": self.dropped}
