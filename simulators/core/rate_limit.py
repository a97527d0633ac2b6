"""Rate limits as token buckets: full at the start, refilled without pause at limit/60 a second.

Input counts without what the cache gave (`input_tokens` + writes, facts of Anthropic's rate-limit page); output counts
what is generated, `max_tokens` reserves nothing. A request larger than the whole bucket is refused even when it is
full. Requests that the limits refuse take nothing.
"""

from math import ceil
from typing import Literal

import msgspec

from simulators.core.account_file import Limits
from simulators.core.turn import Failure

_DUST = 1e-6  # what rounding leaves missing after exactly the wait that was told

_DAY, _DAY_BEGINS = 86_400, 8 * 3600  # seconds; after midnight UTC (Pacific standard time)

What = Literal["requests", "requests_per_day", "tokens", "input_tokens", "output_tokens", "concurrency", "spend"]


class LimitState(msgspec.Struct, frozen=True):
    """One limit at a moment: `remaining` may be negative (a debt); `reset` is the Unix time when it is full again."""

    limit: int
    remaining: int
    reset: float


class Bucket:
    """One token bucket of `limit` a minute."""

    __slots__ = ("_at", "_level", "limit", "rate")

    def __init__(self, limit: int) -> None:
        self.limit, self.rate = limit, limit / 60
        self._level, self._at = float(limit), 0.0

    def level(self, now: float) -> float:
        """What is in it; taking more than there is leaves a debt."""
        if now > self._at:
            self._level = min(float(self.limit), self._level + (now - self._at) * self.rate)
            self._at = now
        return self._level

    def take(self, amount: float, now: float) -> None:
        self._level = min(float(self.limit), self.level(now) - amount)

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` can be taken; 0 if at once. More than the bucket holds: until it is full."""
        missing = min(amount, self.limit) - self.level(now)
        return missing / self.rate if missing > _DUST else 0.0

    def state(self, now: float) -> LimitState:
        level = self.level(now)
        return LimitState(self.limit, int(level), now + (self.limit - level) / self.rate)


class RateLimits:
    """The limits of one account."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.requests = Bucket(limits.rpm) if limits.rpm else None
        self.input = Bucket(limits.itpm) if limits.itpm else None
        self.output = Bucket(limits.otpm) if limits.otpm else None
        self.tokens = Bucket(limits.tpm) if limits.tpm else None
        self._today, self._day = 0, -1  # requests of a day, and which
        self.open = 0  # answers that have not been closed
        self._any = any(getattr(limits, name) is not None for name in limits.__struct_fields__)

    def admit(self, spent_usd: float, now: float) -> Failure | None:
        """Before the request is read: money, answers open at once, requests a day and a minute."""
        if not self._any:
            return None
        limits = self.limits
        if limits.spend_usd is not None and spent_usd >= limits.spend_usd:
            return _refusal("spend", limits.spend_usd, None)
        if limits.concurrency is not None and self.open >= limits.concurrency:
            return _refusal("concurrency", limits.concurrency, 1.0)
        if limits.rpd is not None and self._requests_of(now) >= limits.rpd:
            return _refusal("requests_per_day", limits.rpd, None)  # nobody tells how long a day is
        if self.requests:
            if wait := self.requests.wait(1, now):
                return _refusal("requests", self.requests.limit, wait)
            self.requests.take(1, now)
        self._today += 1
        return None

    def _requests_of(self, now: float) -> int:
        """How many requests the day has seen."""
        day = int((now - _DAY_BEGINS) // _DAY)
        if day != self._day:
            self._today, self._day = 0, day
        return self._today

    def admit_tokens(self, counted: int, now: float, *, reserved: bool = False) -> Failure | None:
        """When the prompt is counted: `counted` is input without cache reads. Takes it from the bucket.

        `reserved`: it is the whole input and the output that is allowed, out of one bucket (`tpm`, else `itpm`).
        """
        if reserved and (bucket := self.tokens or self.input):
            if counted > bucket.level(now) + _DUST:
                refusal = _refusal("tokens", bucket.limit, bucket.wait(counted, now))
                told = {"requested": counted, "used": max(0, ceil(bucket.limit - bucket.level(now)))}
                return msgspec.structs.replace(refusal, details={**refusal.details, **told})
            bucket.take(counted, now)
            return None
        if self.output and self.output.wait(1, now):
            return _refusal("output_tokens", self.output.limit, self.output.wait(1, now))
        if self.input:
            if counted > self.input.level(now) + _DUST:
                return _refusal("input_tokens", self.input.limit, self.input.wait(counted, now))
            self.input.take(counted, now)
        return None

    def give_back(self, counted: int, now: float, *, reserved: bool = False) -> None:
        """The call was refused after all: its input is not counted."""
        if reserved and self.tokens:
            self.tokens.take(-counted, now)
        elif self.input:
            self.input.take(-counted, now)

    def generated(self, output: int, now: float) -> None:
        """Tokens were generated; more than there are leaves the bucket in debt."""
        if self.output:
            self.output.take(output, now)

    def state(self, now: float) -> dict[str, LimitState]:
        """By name (`requests`, `tokens`, `input_tokens`, `output_tokens`), those that the account has."""
        if not self._any:
            return {}
        buckets = {
            "requests": self.requests,
            "tokens": self.tokens,
            "input_tokens": self.input,
            "output_tokens": self.output,
        }
        return {name: bucket.state(now) for name, bucket in buckets.items() if bucket}


def _refusal(what: What, limit: float, wait: float | None) -> Failure:
    """`details`: {limit: which one, value: how much, wait: seconds}. `retry_after` is in whole seconds, rounded up;
    money has neither."""
    after = None if wait is None else float(max(1, -int(-wait // 1)))
    details = {"limit": what, "value": limit} | ({"wait": wait} if wait else {})
    return Failure(kind="rate_limited", retry_after=after, answered_by="limits", details=details)
