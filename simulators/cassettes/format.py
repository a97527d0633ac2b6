"""Recorded traffic as values: a `Cassette` of `Exchange`s of timed `Frame`s.

The file form is vcrpy's (`vcr`): what vcrpy knows stands in `request` and `response`, what it does not know (timing,
cuts, messages of a WebSocket) in `frames:` beside them, which it leaves alone.
"""

import gzip
import zlib
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from simulators.core.wire import Headers

Origin = Literal["simulated", "recorded", "imported"]
VERSION = 1  # of what stands under `claw:`
HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip


class CassetteError(ValueError):
    """A cassette, or what was to become one, cannot be used. The message names file, place and remedy."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One thing that arrived, `at` seconds after the request was sent.

    `head`: status and headers. `size`: that many bytes of the response's body (those as they crossed the wire, still
    compressed if they were). `cut`: the connection ended there, closed in the middle (`fin`) or reset; `gone`: the
    client left there. `sent` and `received`: a message of a WebSocket from or to the client, text or binary.
    """

    at: float
    head: bool = False
    size: int = 0
    cut: Literal["fin", "reset"] | None = None
    gone: bool = False
    sent: Any = None  # str or bytes
    received: Any = None


class Exchange(msgspec.Struct, kw_only=True):
    """One request and its answer. Header names are as recorded; bodies are the bytes of the wire.

    `at` is when it was sent, in Unix seconds, where somebody noted it. `frames` is None where nobody measured (vcrpy
    itself, imports); `extra` holds keys beside `request` and `response` that others put there, kept on writing.
    """

    method: str
    uri: str
    request_headers: Headers = ()
    request_body: bytes = b""
    status: int = 200
    message: str = ""
    headers: Headers = ()
    body: bytes = b""
    frames: tuple[Frame, ...] | None = None
    at: float | None = None
    extra: Mapping[str, Any] = {}

    @property
    def path(self) -> str:
        """Decoded, without query."""
        return unquote(urlsplit(self.uri).path) or "/"

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        return tuple(parse_qsl(urlsplit(self.uri).query, keep_blank_values=True))

    @property
    def cut(self) -> Literal["fin", "reset"] | None:
        """How the connection broke, or None."""
        return next((frame.cut for frame in self.frames or () if frame.cut), None)

    @property
    def is_websocket(self) -> bool:
        return self.status == 101

    def header(self, name: str) -> str | None:
        """The first value of a response header, whatever its case."""
        return header(self.headers, name)

    def plain_body(self) -> bytes:
        """The response's body without its compression, of a cut one what is whole; as it is where that cannot be."""
        return unpacked(self.body, self.header("content-encoding"))

    def plain_request(self) -> bytes:
        return unpacked(self.request_body, header(self.request_headers, "content-encoding"))

    def wire_headers(self) -> Headers:
        """The response's headers as they can be sent again: lower case, nothing that belongs to the old connection, no
        length or encoding that the body does not have."""
        kept = []
        for name, value in self.headers:
            low = name.lower()
            if low in HOP_BY_HOP or low == "content-length":
                continue
            if low == "content-encoding" and not is_packed(self.body, value):
                continue
            kept.append((low, value))
        if not self.cut and self.header("content-length") is not None:
            kept.append(("content-length", str(len(self.body))))
        return tuple(kept)


class Cassette(msgspec.Struct, kw_only=True):
    """Exchanges in the order in which they began. `claw` is the top-level mapping of that name: `origin`, where it came
    from, and what was scrubbed; `extra` other top-level keys."""

    exchanges: list[Exchange] = []
    claw: dict[str, Any] = {}
    extra: Mapping[str, Any] = {}
    source: str = "<cassette>"

    @property
    def origin(self) -> str | None:
        return self.claw.get("origin")


def header(headers: Headers, name: str) -> str | None:
    """The first value of a header, whatever its case."""
    return next((value for key, value in headers if key.lower() == name), None)


def is_packed(body: bytes, encoding: str) -> bool:
    """Whether a body really has the encoding that its header names; recorders like to store it unpacked."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip":
            return body[:2] == b"\x1f\x8b"
        case "deflate":
            return _inflate(body) is not None
        case "identity" | "":
            return False
        case _:
            return bool(body) and body.lstrip()[:1] not in b'{["' and not body.startswith((b"data:", b"event:"))


def unpacked(body: bytes, encoding: str | None) -> bytes:
    """A body without `gzip` or `deflate`; other encodings stay."""
    if not encoding or not body:
        return body
    if encoding.strip().lower() in ("gzip", "x-gzip") and body[:2] == b"\x1f\x8b":
        try:
            return gzip.decompress(body)
        except (OSError, EOFError, zlib.error):
            return _partly(body, 31)
    if encoding.strip().lower() == "deflate":
        found = _inflate(body)
        return body if found is None else found
    return body


def packed(body: bytes, encoding: str | None) -> bytes:
    """The reverse of `unpacked`, for bodies that were changed; same bytes for the same body."""
    if encoding and encoding.strip().lower() in ("gzip", "x-gzip"):
        return gzip.compress(body, mtime=0)
    if encoding and encoding.strip().lower() == "deflate":
        return zlib.compress(body)
    return body


def _partly(body: bytes, bits: int) -> bytes:
    reader = zlib.decompressobj(bits)
    try:
        return reader.decompress(body)
    except zlib.error:
        return b""


def _inflate(body: bytes) -> bytes | None:
    for bits in (15, -15):
        try:
            return zlib.decompress(body, bits)
        except zlib.error:
            continue
    return None
