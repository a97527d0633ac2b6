"""Scrubs exchanges before they are written: headers, URLs, bodies, streams, messages of WebSockets.

A secret may be split over the deltas of a stream: the texts that belong together are scrubbed as one. What was found is
counted by kind and place, never by value.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, unquote_plus, urlsplit, urlunsplit

import msgspec

from simulators.cassettes import secrets, sse
from simulators.cassettes.format import Cassette, Exchange, Frame, header, packed, unpacked
from simulators.cassettes.vcr import fixed_lengths
from simulators.core.wire import Headers

_SHORT = 8  # a header's value is looked for elsewhere from this length on
Edit = tuple[int, int, bytes]


class Scrubber:
    """Scrubs one cassette's exchanges one after the other; a credential that one of them carried is found in all later
    ones, whatever it looks like. `found` counts what was scrubbed by (kind, place)."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.found: Counter[tuple[str, str]] = Counter()

    def learn(self, exchange: Exchange) -> None:
        """Take the credentials out of headers and query, to find them everywhere."""
        for name, value in (*exchange.request_headers, *exchange.headers):
            low = name.lower()
            if low in secrets.SECRET_HEADERS or low in secrets.ACCOUNT_HEADERS:
                for part in value.split(";") if "cookie" in low else [value]:
                    word = part.strip().rpartition(" ")[2]
                    self._learn(word.partition("=")[2] if "cookie" in low else word)
        for name, value in exchange.query:
            if name.lower() in secrets.SECRET_PARAMETERS:
                self._learn(value)

    def _learn(self, value: str) -> None:
        if len(value) >= _SHORT and not value.startswith("scrubbed-") and not value.isalpha():
            self.known.add(value)

    def exchange(self, exchange: Exchange, at: str) -> Exchange:
        """The exchange without secrets; `at` is its place (`interactions[3]`)."""
        self.learn(exchange)
        request = self._packed(exchange.request_body, exchange.request_headers, f"{at}.request.body")
        body, edits = self._packed(exchange.body, exchange.headers, f"{at}.response.body")
        frames = exchange.frames
        if frames is not None:
            frames = self._messages(moved(frames, edits), f"{at}.frames")
        made = msgspec.structs.replace(
            exchange,
            uri=self.uri(exchange.uri, f"{at}.request.uri"),
            request_headers=self.headers(exchange.request_headers, f"{at}.request.headers"),
            request_body=request[0],
            headers=self.headers(exchange.headers, f"{at}.response.headers"),
            message=self.text(exchange.message, f"{at}.response.status"),
            body=body,
            frames=frames,
            extra=self.tree(exchange.extra, at),
        )
        return fixed_lengths(made) if request[1] or edits else made

    def tree(self, value: Any, at: str) -> Any:
        """Every text within a value, keys included."""
        if isinstance(value, str):
            return self.text(value, at)
        if isinstance(value, bytes):
            return self.body(value, None, at)[0]
        if isinstance(value, Mapping):
            return {self.tree(k, at): self._named(k, self.tree(v, f"{at}.{k}"), f"{at}.{k}") for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.tree(one, f"{at}[{i}]") for i, one in enumerate(value)]
        return value

    def _named(self, key: Any, value: Any, at: str) -> Any:
        """A text that stands under a name that says that it is secret."""
        if isinstance(key, str) and isinstance(value, str):
            low = key.lower()
            if low in secrets.SECRET_HEADERS or low in secrets.ACCOUNT_HEADERS:
                return self._value(low, value, at)
            if secrets.find(f'"{key}":"{value}"', ()) and not secrets.find(value, ()):
                self.found["named", at] += 1
                return secrets.placeholder("named")
        return value

    def text(self, text: str, at: str) -> str:
        """A text without secrets."""
        spans = secrets.find(text, self.known)
        self._count(spans, at)
        return secrets.replaced(text, spans)

    def headers(self, headers: Headers, at: str) -> Headers:
        made = []
        for name, value in headers:
            low = name.lower()
            place = f"{at}.{name}"
            if low in secrets.SECRET_HEADERS or low in secrets.ACCOUNT_HEADERS:
                made.append((name, self._value(low, value, place)))
            else:
                made.append((name, self.text(value, place)))
        return tuple(made)

    def _value(self, name: str, value: str, at: str) -> str:
        """The value of a header that is secret by its name; the scheme before it stays."""
        if "scrubbed-" in value or not value:
            return value
        self.found[name, at] += 1
        scheme, blank, rest = value.partition(" ")
        keeps = blank and rest and name.endswith("authorization") and scheme.isalpha()
        return f"{scheme} {secrets.placeholder(name)}" if keeps else secrets.placeholder(name)

    def uri(self, uri: str, at: str) -> str:
        """Credentials in the authority, in the path and in the query."""
        parts = urlsplit(uri)
        netloc = parts.netloc
        if "@" in netloc:
            self.found["url-password", at] += 1
            netloc = netloc.rpartition("@")[2]
        path = parts.path
        spans = secrets.find(unquote(path), self.known)
        if spans:
            self._count(spans, at)
            path = quote(secrets.replaced(unquote(path), spans), safe="/:@!$&'()*+,;=~-._")
        pairs = [self._pair(pair, at) for pair in parts.query.split("&")] if parts.query else []
        made = urlunsplit((parts.scheme, netloc, path, "&".join(pairs), self.text(parts.fragment, at)))
        return (
            uri if (netloc, path, pairs) == (parts.netloc, parts.path, parts.query.split("&")) else self.text(made, at)
        )

    def _pair(self, pair: str, at: str) -> str:
        name, equals, value = pair.partition("=")
        if unquote(name).lower() in secrets.SECRET_PARAMETERS and value and not value.startswith("scrubbed-"):
            self.found["url-key", at] += 1
            return f"{name}={secrets.placeholder('url-key')}"
        plain = unquote_plus(value)
        spans = secrets.find(plain, self.known)
        if spans:
            self._count(spans, at)
            value = quote(secrets.replaced(plain, spans), safe="")
        named = secrets.find(unquote_plus(name), self.known)
        self._count(named, at)
        return f"{quote(secrets.replaced(unquote_plus(name), named), safe='') if named else name}{equals}{value}"

    def _packed(self, body: bytes, headers: Headers, at: str) -> tuple[bytes, list[Edit]]:
        """A body as it crossed the wire; a compressed one is opened, and closed again if it was changed."""
        encoding = header(headers, "content-encoding")
        plain = unpacked(body, encoding)
        made, edits = self.body(plain, header(headers, "content-type"), at)
        if plain is body or plain == body or not edits:
            return made if edits else body, edits
        again = packed(made, encoding)
        return again, [(0, len(body), again)]

    def body(self, body: bytes, content_type: str | None, at: str) -> tuple[bytes, list[Edit]]:
        """A plain body without secrets, and the edits that made it (in its own offsets)."""
        text = body.decode("latin-1")  # one character a byte: every form of a secret is ASCII
        spans = secrets.find(text, self.known)
        self._count(spans, at)
        edits: list[Edit] = [(s.start, s.end, s.instead.encode("latin-1")) for s in spans]
        made = _edited(body, edits)
        changed = list((self._stream if sse.is_stream(made, content_type) else self._json)(made, at))
        if not changed:
            return made, edits
        return _edited(made, changed), [*edits, *changed] if not edits else [(0, len(body), _edited(made, changed))]

    def _json(self, body: bytes, at: str) -> Iterator[Edit]:
        """What only shows once JSON is decoded: escapes, and a list of pieces (Gemini's stream without events)."""
        if not body or body[:1] not in b"{[" or (b"\\" not in body and body[:1] != b"["):
            return
        try:
            tree = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return
        before = sum(self.found.values())
        if isinstance(tree, list):
            changed = self._together(tree, at)
            tree = [changed.get(i, one) for i, one in enumerate(tree)]
        made = tree if self._clean(tree) else self.tree(tree, at)
        if sum(self.found.values()) > before:
            yield 0, len(body), msgspec.json.encode(made)

    def _clean(self, tree: Any) -> bool:
        """Whether no text of a tree holds a secret; one look at all of them together."""
        return not secrets.find("\n\0".join(text for _, text in _leaves(tree)), self.known)

    def _stream(self, body: bytes, at: str) -> Iterator[Edit]:
        events = sse.events(body)
        trees = [event.json() for event in events]
        changed = self._together(trees, at)
        for i, event in enumerate(events):
            tree = changed.get(i, trees[i])
            found = event.payload()
            if tree is None or found is None:
                continue
            before = sum(self.found.values())
            made = self.tree(tree, at) if b"\\" in found[2] and not self._clean(tree) else tree
            if i in changed or sum(self.found.values()) > before:
                yield event.start + found[0], event.start + found[1], msgspec.json.encode(made)

    def _together(self, trees: Sequence[Any], at: str) -> dict[int, Any]:
        """Texts that belong together scrubbed as one: number of the tree → the tree, where it changed."""
        groups: dict[Any, list[tuple[int, tuple[Any, ...], str]]] = {}
        for i, tree in enumerate(trees):
            if isinstance(tree, dict | list):
                told = tuple(marks(tree))
                for path, text in _leaves(tree):
                    groups.setdefault((path, told), []).append((i, path, text))
        changed: dict[int, Any] = {}
        for pieces in groups.values():
            if len(pieces) < 2:
                continue
            whole = "".join(text for _, _, text in pieces)
            spans = secrets.find(whole, self.known)
            if not spans:
                continue
            self._count(spans, at)
            for (i, path, text), new in zip(pieces, _dealt([len(p[2]) for p in pieces], whole, spans), strict=True):
                if new != text:
                    changed[i] = _put(changed.get(i, trees[i]), path, new)
        return changed

    def _messages(self, frames: tuple[Frame, ...], at: str) -> tuple[Frame, ...]:
        """Messages of a WebSocket, each way scrubbed as one."""
        made = list(frames)
        for side in ("sent", "received"):
            places = [i for i, frame in enumerate(made) if getattr(frame, side) is not None]
            trees = [_decoded(getattr(made[i], side)) for i in places]
            changed = self._together(trees, at)
            for n, i in enumerate(places):
                value: Any = getattr(made[i], side)
                if n in changed:
                    value = msgspec.json.encode(changed[n]).decode()
                new: Any = self.body(value.encode() if isinstance(value, str) else value, None, f"{at}[{i}]")[0]
                new = new.decode("utf-8", "replace") if isinstance(value, str) else new
                if new != getattr(made[i], side):
                    made[i] = msgspec.structs.replace(made[i], **{side: new})
        return tuple(made)

    def _count(self, spans: Iterable[secrets.Span], at: str) -> None:
        for span in spans:
            self.found[span.kind, at] += 1

    def report(self) -> list[dict[str, Any]]:
        """[{what, where, times}], as the cassette says it under `claw: scrubbed:`."""
        return [{"what": kind, "where": at, "times": n} for (kind, at), n in self.found.items()]


def scrub(cassette: Cassette) -> Cassette:
    """The cassette without secrets; `claw.scrubbed` lists what was found, after what was found before."""
    scrubber = Scrubber()
    for exchange in cassette.exchanges:
        scrubber.learn(exchange)
    exchanges = [scrubber.exchange(one, f"interactions[{i}]") for i, one in enumerate(cassette.exchanges)]
    claw = scrubber.tree({key: value for key, value in cassette.claw.items() if key != "scrubbed"}, "claw")
    extra = scrubber.tree(cassette.extra, "")
    before = cassette.claw.get("scrubbed")
    listed = [*(before if isinstance(before, list) else []), *scrubber.report()]
    claw |= {"scrubbed": listed} if listed else {}
    return Cassette(exchanges=exchanges, claw=claw, extra=extra, source=cassette.source)


def _edited(body: bytes, edits: Sequence[Edit]) -> bytes:
    if not edits:
        return body
    parts, at = list[bytes](), 0
    for start, end, new in edits:
        parts += (body[at:start], new)
        at = end
    return b"".join((*parts, body[at:]))


def moved(frames: tuple[Frame, ...], edits: Sequence[Edit]) -> tuple[Frame, ...]:
    """Frames whose sizes fit the edited body: a border within a secret moves to its end."""
    if not edits:
        return frames
    made, before, after = [], 0, 0
    for frame in frames:
        if frame.size:
            before += frame.size
            border = _shifted(before, edits)
            made.append(msgspec.structs.replace(frame, size=border - after))
            after = border
        else:
            made.append(frame)
    return tuple(made)


def _shifted(offset: int, edits: Sequence[Edit]) -> int:
    shift = 0
    for start, end, new in edits:
        if offset >= end:
            shift += len(new) - (end - start)
        elif offset > start:
            return start + shift + round(len(new) * (offset - start) / (end - start))
        else:
            break
    return offset + shift


def _leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from _leaves(value, (*path, i))


def marks(tree: Any) -> Iterator[Any]:
    """What tells which of several texts an event goes on with: indexes and ids of items."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("item_id", "index") or key.endswith("_index"):
                yield key, value if isinstance(value, int | str) else None
            elif isinstance(value, dict | list):
                yield from marks(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from marks(value)


def _dealt(sizes: Sequence[int], whole: str, spans: Sequence[secrets.Span]) -> list[str]:
    """The scrubbed whole dealt out over pieces of these sizes: a replacement goes where the secret began."""
    made, start = [], 0
    for size in sizes:
        end, at, parts = start + size, start, list[str]()
        for span in spans:
            if span.end <= start or span.start >= end:
                continue
            if span.start >= start:
                parts += (whole[at : span.start], span.instead)
            at = min(span.end, end)
        made.append("".join((*parts, whole[at:end])))
        start = end
    return made


def _put(tree: Any, path: tuple[Any, ...], value: str) -> Any:
    if not path:
        return value
    made = dict(tree) if isinstance(tree, dict) else list(tree)
    made[path[0]] = _put(tree[path[0]], path[1:], value)
    return made


def _decoded(value: Any) -> Any:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None
