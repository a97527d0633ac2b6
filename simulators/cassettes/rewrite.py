"""Takes every word out of a cassette and leaves all else: the same tokens, prefixes, sizes, structure, and failures.

Text is found by `slots`, other words by `wording`; bodies are edited in place, as each string keeps its length. Texts
that come in pieces (deltas of a stream) are rewritten as one and dealt out again. What providers say of errors stays,
as clients read it.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from simulators.cassettes import sse
from simulators.cassettes.blobs import veiled, veiled_text
from simulators.cassettes.format import Cassette, Exchange, Frame, header, packed, unpacked
from simulators.cassettes.scrub import marks, moved
from simulators.cassettes.slots import Slot, served_names, slots
from simulators.cassettes.vcr import fixed_lengths
from simulators.cassettes.wording import Vocabulary, Wording
from simulators.core.wire import Headers

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_UNIT = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.\-]*:(?://)?|#/(?:\$defs|definitions)/)?")
_EXTENSION = re.compile(r"[A-Za-z0-9]{1,5}(?:\?.*)?")  # by which the API tells kinds of files


class _Place:
    """One string of a body that can change: its place among the raw characters."""

    __slots__ = ("end", "slot", "start")

    def __init__(self, slot: Slot, start: int, end: int) -> None:
        self.slot, self.start, self.end = slot, start, end


class _Text:
    """A text that is rewritten as one: its pieces in order, each a place in a body."""

    __slots__ = ("json", "keys", "kind", "pieces")

    def __init__(self, kind: str, keys: bool) -> None:
        self.kind, self.keys, self.json = kind, keys, kind == "json"
        self.pieces: list[_Place] = []

    @property
    def whole(self) -> str:
        return "".join(piece.slot.text for piece in self.pieces)


class _Body:
    """A body, opened: its characters, and the texts in it."""

    def __init__(self, raw: str, texts: list[_Text]) -> None:
        self.raw, self.texts = raw, texts

    def rewritten(self, wording: Wording, salt: bytes) -> str:
        edits: list[tuple[int, int, str]] = []
        for text in self.texts:
            new = _reworded(text, wording, salt)
            at = 0
            for piece in text.pieces:
                size = len(piece.slot.text)
                if (part := new[at : at + size]) != piece.slot.text:
                    edits.append((piece.start, piece.end, _spelled(self.raw[piece.start : piece.end], part)))
                at += size
        parts, at = list[str](), 0
        for start, end, part in sorted(edits):
            parts += (self.raw[at:start], part)
            at = end
        return "".join((*parts, self.raw[at:]))


def rewritten(cassette: Cassette, vocabulary: Vocabulary, *, seed: str | None = None) -> Cassette:
    """The cassette in other words. `seed` repeats the choice; without one nobody can.

    Scrub it first. `claw.rewritten` says that it is not what was said.
    """
    salt = os.urandom(32) if seed is None else f"claw:{seed}".encode()
    served = frozenset[str]().union(*(served_names(_decoded(e.plain_request())) for e in cassette.exchanges), _NONE)
    opened = [_open(exchange, served) for exchange in cassette.exchanges]
    texts = [text.whole for bodies in opened for body in bodies for text in body.texts if text.kind != "blob"]
    wording = Wording(texts, vocabulary, salt)
    exchanges = [
        _made(exchange, bodies, wording, salt) for exchange, bodies in zip(cassette.exchanges, opened, strict=True)
    ]
    claw = {**cassette.claw, "rewritten": True}
    return Cassette(exchanges=exchanges, claw=claw, extra=cassette.extra, source=cassette.source)


_NONE = served_names(None)


def _open(exchange: Exchange, served: frozenset[str]) -> list[_Body]:
    """Request, answer, and each message of a WebSocket."""
    asked = _body(exchange.plain_request(), header(exchange.request_headers, "content-type"), served)
    said = _body(exchange.plain_body(), exchange.header("content-type"), served, failed=exchange.status >= 400)
    messages = [_body(data, None, served) for data in _messages(exchange.frames or ())]
    return [asked, said, *messages]


def _messages(frames: Sequence[Frame]) -> Iterator[bytes]:
    for frame in frames:
        for value in (frame.sent, frame.received):
            if value is not None:
                yield value.encode() if isinstance(value, str) else value


def _made(exchange: Exchange, bodies: Sequence[_Body], wording: Wording, salt: bytes) -> Exchange:
    new = [body.rewritten(wording, salt) for body in bodies]
    asked = _closed(new[0], exchange.request_body, exchange.request_headers, salt)
    said = _closed(new[1], exchange.body, exchange.headers, salt)
    frames = exchange.frames
    if frames is not None and len(said) != len(exchange.body):
        frames = moved(frames, [(0, len(exchange.body), said)])
    if frames is not None and len(new) > 2:
        rest = iter(new[2:])
        frames = tuple(
            replace(
                frame,
                sent=frame.sent if frame.sent is None else _as(frame.sent, next(rest), salt),
                received=frame.received if frame.received is None else _as(frame.received, next(rest), salt),
            )
            for frame in frames
        )
    return fixed_lengths(replace(exchange, request_body=asked, body=said, frames=frames))


def _as(old: Any, new: str, salt: bytes) -> Any:
    return new if isinstance(old, str) else _bytes(new, old, salt)


def _closed(new: str, body: bytes, headers: Headers, salt: bytes) -> bytes:
    encoding = header(headers, "content-encoding")
    plain = unpacked(body, encoding)
    made = _bytes(new, plain, salt)
    return made if plain == body else packed(made, encoding)


def _bytes(new: str, old: bytes, salt: bytes) -> bytes:
    """Characters as bytes; what was no text is veiled."""
    try:
        old.decode("utf-8")
    except UnicodeDecodeError:
        return veiled(old, salt)
    return new.encode("utf-8")


def _body(data: bytes, content_type: str | None, served: frozenset[str], *, failed: bool = False) -> _Body:
    try:
        raw = data.decode("utf-8")
    except UnicodeDecodeError:
        return _Body("", [])
    if failed or not raw:
        return _Body(raw, [])
    if sse.is_stream(data, content_type):
        return _Body(raw, _of_stream(data, raw, served))
    tree = _decoded(data)
    if tree is None:
        return _Body(raw, [_single(Slot(raw, "text", ()), 0, len(raw))])
    if isinstance(tree, list):  # Gemini's stream without events: one text in several elements
        return _Body(raw, _grouped([(tree, _placed(tree, raw, 0, served))], split=True))
    return _Body(raw, [_text_of(place) for place in _placed(tree, raw, 0, served)])


def _of_stream(data: bytes, raw: str, served: frozenset[str]) -> list[_Text]:
    found: list[tuple[Any, list[_Place]]] = []
    names: dict[Any, str] = {}
    at = 0
    for event in sse.events(data):
        text = event.data.decode("utf-8")
        payload, tree = event.payload(), event.json()
        if payload is not None and isinstance(tree, dict | list):
            start = at + len(event.data[: payload[0]].decode("utf-8"))
            end = at + len(event.data[: payload[1]].decode("utf-8"))
            places = _placed(tree, raw[:end], start, served)
            if isinstance(tree, dict):
                _of_served(tree, places, names, served)
            found.append((tree, places))
        at += len(text)
    return _grouped(found)


def _of_served(tree: dict[str, Any], places: list[_Place], names: dict[Any, str], served: frozenset[str]) -> None:
    """Deltas of a call to a vendor's own tool: the keys in them are the vendor's."""
    block = tree.get("content_block")
    if isinstance(block, dict) and isinstance(block.get("name"), str):
        names[tree.get("index")] = block["name"]
    if names.get(tree.get("index")) in served:
        for place in places:
            if place.slot.kind == "json":
                place.slot = place.slot._replace(keys=False)


def _grouped(found: Sequence[tuple[Any, list[_Place]]], *, split: bool = False) -> list[_Text]:
    """Places of several events that go on with one another, as texts."""
    groups: dict[Any, _Text] = {}
    for tree, places in found:
        told = () if split else tuple(marks(tree))
        for place in places:
            path = place.slot.path[1:] if split else place.slot.path
            whole = place.slot.kind in ("url", "blob") or path[-1:] == ("key",)
            key = (id(place),) if whole else (path, told, place.slot.kind == "json")
            text = groups.get(key)
            if text is None:
                text = groups[key] = _Text(place.slot.kind, place.slot.keys)
            text.pieces.append(place)
    return list(groups.values())


def _text_of(place: _Place) -> _Text:
    text = _Text(place.slot.kind, place.slot.keys)
    text.pieces.append(place)
    return text


def _single(slot: Slot, start: int, end: int) -> _Text:
    return _text_of(_Place(slot, start, end))


def _placed(tree: Any, raw: str, start: int, served: frozenset[str]) -> list[_Place]:
    """The strings of a JSON text that can change, with their places (without quotes)."""
    strings = list(_STRING.finditer(raw, start))
    told = list(slots(tree, served))
    if len(strings) != len(told):  # a key twice in one object: who can say what was meant
        return []
    return [
        _Place(slot, match.start() + 1, match.end() - 1)
        for slot, match in zip(told, strings, strict=True)
        if slot.kind != "kept" and slot.text
    ]


def _reworded(text: _Text, wording: Wording, salt: bytes) -> str:
    whole = text.whole
    if text.kind == "blob":
        return veiled_text(whole, salt)
    if text.kind == "url":
        scheme = _SCHEME.match(whole)
        kept = scheme.end() if scheme else 0
        name, _, ending = whole[kept:].rpartition(".")
        if not name or not _EXTENSION.fullmatch(ending):
            name, ending = whole[kept:], ""
        return whole[:kept] + wording(name) + whole[kept + len(name) :]
    if text.json and text.keys and whole.lstrip()[:1] in ("{", "[") and _decoded(whole.encode()) is None:
        return wording(whole) if len(text.pieces) == 1 and '"' not in whole else wording(whole, json=True)
    return wording(whole, json=text.json, keys=text.keys)


def _spelled(old: str, new: str) -> str:
    """New characters spelled as the old ones were: an escape stays an escape."""
    units = _UNIT.findall(old)
    if len(units) != len(new):
        return msgspec.json.encode(new).decode()[1:-1]
    made = []
    for unit, char in zip(units, new, strict=True):
        if len(unit) == 1:
            made.append(char)
        elif unit[1] == "u" and len(unit) == 6:
            made.append(unit if chr(int(unit[2:], 16)) == char else f"\\u{ord(char):04x}")
        else:
            made.append(unit)  # what is escaped otherwise is no letter
    return "".join(made)


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
