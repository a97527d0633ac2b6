"""Which credential to use next: their order, and how long one rests after a failure.

Rests (OpenClaw's figures): a rate limit concerns one model of a profile, doubles from 30 s to 24 h, or is as long as
the provider said; a model without capacity rests for 30 s, a minute, 5 min; a refused key as long, and a revoked one
10 min doubling to an hour; an account that cannot pay 5 h doubling to 24 h. The count grows until a success, or until a
day has passed. Failures that are no fault of the credential rest nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from claw.core.errors import ClawError, FailureKind, ProviderFailure
from claw.ports import Files

WINDOW_S = 86_400.0
PER_MODEL = (FailureKind.RATE_LIMITED, FailureKind.OVERLOADED)
_STEPS = (30.0, 60.0, 300.0)
_DOUBLING: Mapping[FailureKind, tuple[float, float]] = {
    FailureKind.RATE_LIMITED: (30.0, 86_400.0),
    FailureKind.BILLING: (18_000.0, 86_400.0),
}
REVOKED = (600.0, 3_600.0)


def cooldown(kind: FailureKind, count: int, *, revoked: bool = False) -> float:
    """Seconds of the `count`th rest in a row (from 1); 0 for a failure that is no fault of a credential."""
    doubling = REVOKED if revoked and kind is FailureKind.AUTH else _DOUBLING.get(kind)
    if doubling is not None:
        base, cap = doubling
        return min(base * 2.0 ** min(max(count, 1) - 1, 10), cap)
    if kind in (FailureKind.AUTH, FailureKind.OVERLOADED):
        return _STEPS[min(max(count, 1), len(_STEPS)) - 1]
    return 0.0


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a provider; `model` limits it to one. `id` "" is the key that the environment gave."""

    id: str
    provider: str
    key: str
    model: str | None = None
    type: Literal["oauth", "token", "api_key"] = "api_key"

    def __repr__(self) -> str:
        return f"Credential({self.id or 'environment'}, {self.provider})"


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """A profile, or one model of it, is better left alone `until` then (Unix seconds)."""

    profile: str
    model: str | None
    kind: FailureKind
    since: float
    until: float
    count: int
    told: bool = False  # the provider itself said how long


class Book(msgspec.Struct, frozen=True, kw_only=True):
    """All rests, and when each profile was used last. A value: what happens to a profile makes the next book."""

    version: Literal[1] = 1
    rests: tuple[Rest, ...] = ()
    used: Mapping[str, float] = {}

    def failed(self, profile: str, model: str, failure: ProviderFailure, *, now: float) -> "Book":
        """After a failure of `profile`. A rest that is still running is counted up, not made longer."""
        if not cooldown(failure.kind, 1):
            return self
        scope = model if failure.kind in PER_MODEL else None
        old = self._find(profile, scope, failure.kind)
        count = old.count + 1 if old and now - old.since < WINDOW_S else 1
        revoked = failure.hopeless and failure.kind is FailureKind.AUTH
        until = now + (failure.retry_after or cooldown(failure.kind, count, revoked=revoked))
        told = failure.retry_after is not None
        if old and old.until > now:
            until, told = max(old.until, until if told else 0.0), told or old.told
        rest = Rest(profile=profile, model=scope, kind=failure.kind, since=now, until=until, count=count, told=told)
        return msgspec.structs.replace(self, rests=(*(r for r in self.rests if r is not old), rest))

    def succeeded(self, profile: str, model: str, *, started: float) -> "Book":
        """Forget rests of the profile that began before the call that succeeded, a later failure's not."""
        keep = tuple(r for r in self.rests if r.profile != profile or r.model not in (None, model) or r.since > started)
        return self if len(keep) == len(self.rests) else msgspec.structs.replace(self, rests=keep)

    def cleared(self, profile: str) -> "Book":
        """Without the rests of a profile."""
        return msgspec.structs.replace(self, rests=tuple(r for r in self.rests if r.profile != profile))

    def using(self, profile: str, *, now: float) -> "Book":
        """Remember that a profile is used now."""
        return msgspec.structs.replace(self, used={**self.used, profile: now})

    def order(self, ids: Sequence[str], model: str, *, now: float) -> tuple[str, ...]:
        """The profiles as given, those that rest moved last, soonest ready first. None is ever left out."""
        until = {id: self.resting(id, model, now=now) for id in ids}
        ready = [id for id in ids if not until[id]]
        return (*ready, *sorted((id for id in ids if until[id]), key=lambda id: until[id]))

    def resting(self, profile: str, model: str, *, now: float) -> float:
        """Until when a profile rests for a model; 0 if it does not."""
        rests = (r.until for r in self.rests if r.profile == profile and r.model in (None, model) and r.until > now)
        return max(rests, default=0.0)

    def told(self, profile: str, model: str, *, now: float) -> float:
        """Seconds for which the provider has said that it will refuse this model; 0 if it has not."""
        ends = (r.until for r in self.rests if r.profile == profile and r.model == model and r.told and r.until > now)
        return max(ends, default=now) - now

    def _find(self, profile: str, model: str | None, kind: FailureKind) -> Rest | None:
        same = (r for r in self.rests if (r.profile, r.model, r.kind) == (profile, model, kind))
        return next(same, None)


def load(files: Files, path: str) -> Book:
    """The book in `auth.json`; an empty one if there is no file. Raises `ClawError` for a file that is none."""
    if not files.exists(path):
        return Book()
    try:
        return msgspec.json.decode(files.read(path), type=Book)
    except msgspec.DecodeError as error:
        raise ClawError(f"{path}: {error}; it holds only waiting times, so it may be deleted") from None


def save(files: Files, path: str, book: Book) -> None:
    files.write(path, msgspec.json.encode(book) + b"\n")
