"""The catalogue of provider error bodies: what refusals look like on the wire, and what each of them *is*.

The entries stand in the JSON files beside this module, one a line: `name` (`groq/tpm-413`), `status`, `kind` (a
FailureKind word: what the refusal means, whatever it looks like), `looks_like` (what it is easily taken for: another
kind, or an `answer`), `dialect` (the wire API on which it comes), `headers`, `body` (an object, a text, or null for
none), `events` (the same as a stream, for what comes with status 200) and `note`. An account document names one with
`{error: {like: NAME}}`.
"""

import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec

from simulators.core.turn import Failure

FILES = ("anthropic", "openai", "gemini", "others")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One refusal of the catalogue; see the module for its fields."""

    name: str
    status: int
    kind: str
    dialect: str
    looks_like: str = ""
    headers: dict[str, str] = {}
    body: dict[str, Any] | list[Any] | str | None = None
    events: str | None = None
    note: str = ""

    def failure(self) -> Failure:
        """This refusal as something to answer with: its own status, headers and body."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.body is not None and "content-type" not in headers:
            headers["content-type"] = "text/plain" if isinstance(self.body, str) else "application/json"
        return Failure(
            kind=self.kind,
            status=self.status,
            headers=tuple(headers.items()),
            body=_bytes(self.body),
            events=None if self.events is None else self.events.encode(),
            answered_by=self.name,
        )


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)


@lru_cache(maxsize=1)
def entries() -> Mapping[str, Entry]:
    """Every entry by its name, in the order of the files. Read once."""
    found: dict[str, Entry] = {}
    for file in FILES:
        for entry in msgspec.json.decode(pkgutil.get_data(__name__, f"{file}.json") or b"[]", type=list[Entry]):
            found[entry.name] = entry
    return MappingProxyType(found)


@lru_cache(maxsize=1)
def failures() -> Mapping[str, Failure]:
    """The same as refusals, by name: what `parse_account` looks `like:` up in."""
    return MappingProxyType({name: entry.failure() for name, entry in entries().items()})
