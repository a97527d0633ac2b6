"""Credentials that claw keeps itself (`credentials.json`), and which of several is used first.

Kinds, best first: `oauth` (a short-lived token with another to renew it), `token` (one that ends), `api_key`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from claw.auth.book import Book
from claw.core.errors import ClawError
from claw.ports import Files

Type = Literal["oauth", "token", "api_key"]
TYPES: tuple[Type, ...] = ("oauth", "token", "api_key")
EARLY_S = 300.0  # a token is renewed so long before it ends


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """One credential. `secret` is the key or the token in use; `expires` in Unix seconds, 0: never. Of `oauth` also
    what renews it: `refresh` at `token_url`, as `client_id`."""

    id: str
    provider: str
    type: Type = "api_key"
    secret: str = ""
    expires: float = 0.0
    refresh: str = ""
    token_url: str = ""
    client_id: str = ""
    model: str | None = None

    def __repr__(self) -> str:
        return f"Stored({self.id}, {self.provider}, {self.type})"

    def usable(self, now: float) -> bool:
        """Whether it can be used, or renewed."""
        if self.type == "oauth" and self.refresh:
            return True
        return bool(self.secret) and not (0 < self.expires <= now)

    def stale(self, now: float) -> bool:
        """Whether it has to be renewed before it is used."""
        return self.type == "oauth" and bool(self.refresh) and 0 < self.expires <= now + EARLY_S

    def renewal(self) -> dict[str, str]:
        """The form that asks for a new token (RFC 6749 §6)."""
        form = {"grant_type": "refresh_token", "refresh_token": self.refresh}
        return form | ({"client_id": self.client_id} if self.client_id else {})

    def renewed(self, answer: bytes, now: float) -> "Stored":
        """With the token of the answer. Raises `ValueError` for an answer without one."""
        found = msgspec.json.decode(answer)
        if not isinstance(found, dict) or not isinstance(found.get("access_token"), str):
            raise ValueError("the token endpoint answered without an access_token")
        lifetime = found.get("expires_in")
        return msgspec.structs.replace(
            self,
            secret=found["access_token"],
            refresh=found.get("refresh_token") or self.refresh,
            expires=now + float(lifetime) if isinstance(lifetime, int | float) else 0.0,
        )


class Keyring(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in `credentials.json`. `order` by provider goes before every other order."""

    version: Literal[1] = 1
    order: Mapping[str, tuple[str, ...]] = {}
    credentials: tuple[Stored, ...] = ()

    def get(self, id: str) -> Stored | None:
        return next((c for c in self.credentials if c.id == id), None)

    def put(self, credential: Stored) -> "Keyring":
        """With this credential, in the place of one of the same id."""
        if self.get(credential.id) is None:
            return msgspec.structs.replace(self, credentials=(*self.credentials, credential))
        changed = tuple(credential if c.id == credential.id else c for c in self.credentials)
        return msgspec.structs.replace(self, credentials=changed)

    def without(self, id: str) -> "Keyring":
        return msgspec.structs.replace(self, credentials=tuple(c for c in self.credentials if c.id != id))


def load_keys(files: Files, path: str) -> Keyring:
    """What `credentials.json` holds; nothing if there is no file. Raises `ClawError` for a file that is none."""
    if not files.exists(path):
        return Keyring()
    try:
        return msgspec.json.decode(files.read(path), type=Keyring)
    except msgspec.DecodeError as error:
        raise ClawError(f"{path}: {error}; mend it, or move it away and add the credentials anew") from None


def save_keys(files: Files, path: str, keys: Keyring) -> None:
    files.write(path, msgspec.json.encode(keys) + b"\n")


def ranked(
    credentials: Sequence[tuple[str, Type]],
    book: Book,
    model: str,
    *,
    now: float,
    explicit: Sequence[str] | None = None,
    preferred: str | None = None,
) -> tuple[str, ...]:
    """The ids of credentials (id, type) in the order in which they are tried.

    `explicit`: these, as they stand. Else by type, the one that was used longest ago first (round robin). Those that
    rest come last, soonest ready first. `preferred`, if it does not rest, comes before all: the one that a session has
    used reads what it has cached.
    """
    ids = [id for id, _ in credentials]
    if explicit is not None:
        ids = [id for id in explicit if id in ids]
    else:
        rank = {id: (TYPES.index(type), book.used.get(id, 0.0)) for id, type in credentials}
        ids.sort(key=lambda id: rank[id])
    made = book.order(ids, model, now=now)
    if preferred in made and not book.resting(preferred, model, now=now):
        made = (preferred, *(id for id in made if id != preferred))
    return made
