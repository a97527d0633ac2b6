"""Which recorded exchange answers a request: equal ones in the order in which they were recorded.

A request is known by its method, the end of its path (clients differ in what they put before `/v1/`) and its body,
normalised: JSON as a value, multipart without its boundary, secrets scrubbed as they were when it was recorded. A host
and headers do not count; the query decides between several that fit. What identifies the client and not the question
(`metadata`, `user`, `prompt_cache_key`, …) is compared first and left out if nothing fits.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from simulators.cassettes import secrets
from simulators.cassettes.format import Exchange, header, unpacked
from simulators.core.wire import Headers, Request

_ROOT = re.compile(r"^.*?/v\d+(?:(?:alpha|beta)\d*)?(?=/)")
_BOUNDARY = re.compile(r"boundary=\"?([^\";]+)", re.IGNORECASE)
_CALLER = ("metadata", "client_metadata", "user", "safety_identifier", "prompt_cache_key")
_SHOWN = 60  # characters of a text in a difference
_LISTED = 3  # differences that are told
_encode = msgspec.json.Encoder(order="deterministic").encode


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is compared. `value` is the normalised body: decoded JSON, or text."""

    method: str
    path: str
    query: frozenset[tuple[str, str]]
    value: Any
    digest: bytes  # of the whole body
    anonymous: bytes  # of the body without what identifies the caller

    @property
    def place(self) -> tuple[str, str]:
        """Method and path behind the API's root."""
        return self.method, _ROOT.sub("", self.path)


def asked(request: Request) -> Asked:
    """A request that came in."""
    return _asked(request.method, request.path, request.query, request.headers, request.body)


def recorded(exchange: Exchange) -> Asked:
    """The request of a recording."""
    return _asked(exchange.method, exchange.path, exchange.query, exchange.request_headers, exchange.request_body)


def _asked(method: str, path: str, query: Sequence[tuple[str, str]], headers: Headers, body: bytes) -> Asked:
    value = normalised(body, headers)
    digest = _digest(value)
    anonymous = digest
    if isinstance(value, dict) and any(name in value for name in _CALLER):
        anonymous = _digest({key: one for key, one in value.items() if key not in _CALLER})
    return Asked(
        method=method.upper(),
        path=path.rstrip("/") or "/",
        query=frozenset((n, v) for n, v in query if n.lower() not in secrets.SECRET_PARAMETERS),
        value=value,
        digest=digest,
        anonymous=anonymous,
    )


def normalised(body: bytes, headers: Headers) -> Any:
    """A body as a value: its encoding and spelling gone, its secrets scrubbed."""
    body = unpacked(body, header(headers, "content-encoding"))
    found = _BOUNDARY.search(header(headers, "content-type") or "")
    if found is not None:
        body = body.replace(found[1].encode(), b"boundary")
    text = body.decode("latin-1")
    spans = secrets.find(text)
    if spans:
        body = secrets.replaced(text, spans).encode("latin-1")
    try:
        return _plain(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError):
        return body.decode("utf-8", "replace").replace("\r\n", "\n")


def _plain(value: Any) -> Any:
    """Numbers that are whole as integers, so that 1 and 1.0 are one."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _digest(value: Any) -> bytes:
    return blake2b(_encode(value), digest_size=16).digest()


class Shelf:
    """The requests of a cassette, found by how they look. `pick` says which one is next; each is given once."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.all = [recorded(exchange) for exchange in exchanges]
        self.used: set[int] = set()
        self._by_place: dict[tuple[str, str], list[int]] = {}
        for number, one in enumerate(self.all):
            self._by_place.setdefault(one.place, []).append(number)

    def fitting(self, request: Asked) -> list[int]:
        """Numbers of the recordings of this request, used ones too; the closest kind of fit alone, in order."""
        here = self._by_place.get(request.place, ())
        for attribute in ("digest", "anonymous"):
            fit = [n for n in here if getattr(self.all[n], attribute) == getattr(request, attribute)]
            if not fit:
                continue
            same = [n for n in fit if self.all[n].path == request.path] or fit
            return [n for n in same if self.all[n].query == request.query] or same
        return []

    def pick(self, request: Asked, *, repeat: bool = False) -> int | None:
        """The next recording of this request, or None; with `repeat` the last one answers for ever."""
        fit = self.fitting(request)
        for number in fit:
            if number not in self.used:
                self.used.add(number)
                return number
        return fit[-1] if repeat and fit else None

    def unused(self) -> list[int]:
        return [number for number in range(len(self.all)) if number not in self.used]

    def nearest(self, request: Asked) -> dict[str, Any]:
        """For a request that nothing answers: {exchange, difference}, the closest recording and what differs."""
        fit = self.fitting(request)
        if fit:
            times = f"{len(fit)} time{'s' if len(fit) > 1 else ''}"
            return {"exchange": fit[-1], "difference": [f"recorded {times} and asked once more"]}
        if not self.all:
            return {"exchange": None, "difference": ["the cassette is empty"]}
        here = self._by_place.get(request.place, [])
        if not here:
            places = ", ".join(dict.fromkeys(f"{method} …{path}" for method, path in self._by_place))
            return {"exchange": None, "difference": [f"{request.method} {request.path} was not recorded, but {places}"]}
        scored = [(_weight(differences(self.all[n].value, request.value)), n in self.used, n) for n in here]
        number = min(scored)[2]
        told = list(differences(self.all[number].value, request.value))
        more = [f"and {len(told) - _LISTED} more"] if len(told) > _LISTED else []
        return {"exchange": number, "difference": [text for _, text in told[:_LISTED]] + more}


def _weight(found: Iterator[tuple[int, str]]) -> int:
    return sum(weight for weight, _ in found)


def differences(was: Any, now: Any, at: str = "") -> Iterator[tuple[int, str]]:
    """(weight, text) of every place where two bodies differ; the weight is roughly what is different, in characters."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*was, *now)):
            place = f"{at}.{key}" if at else str(key)
            if key not in now:
                yield _size(was[key]), f"{place}: recorded {_shown(was[key])}, not asked"
            elif key not in was:
                yield _size(now[key]), f"{place}: asked {_shown(now[key])}, not recorded"
            elif was[key] != now[key]:
                yield from differences(was[key], now[key], place)
        return
    if isinstance(was, list) and isinstance(now, list):
        for i, (left, right) in enumerate(zip(was, now, strict=False)):
            if left != right:
                yield from differences(left, right, f"{at}[{i}]")
        if len(was) != len(now):
            rest = was[len(now) :] or now[len(was) :]
            yield _size(rest), f"{at or 'body'}: recorded {len(was)} items, asked {len(now)}"
        return
    if was == now:
        return
    if isinstance(was, str) and isinstance(now, str):
        begin = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
        lead = "…" if begin > 20 else ""
        begin = begin - 20 if lead else 0
        yield (
            _size(was) + _size(now),
            f"{at or 'body'}: recorded {lead}{_shown(was[begin:])}, asked {lead}{_shown(now[begin:])}",
        )
        return
    yield _size(was) + _size(now), f"{at or 'body'}: recorded {_shown(was)}, asked {_shown(now)}"


def _size(value: Any) -> int:
    return len(value) + 1 if isinstance(value, str) else len(_encode(value))


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    text = secrets.replaced(text, secrets.find(text))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
