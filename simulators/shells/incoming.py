"""HTTP/1.1 as a proxy reads and writes it: heads and bodies on asyncio's streams, byte for byte, whatever follows."""

import asyncio
from collections.abc import Iterable
from http import HTTPStatus

from simulators.core.wire import Headers

HEAD_LIMIT = 256 * 1024  # bytes
BODY_LIMIT = 256 * 2**20


class Malformed(Exception):
    """What came is no HTTP/1.1 that can be passed on."""


class Incoming:
    """What a client sends, or an upstream after an upgrade: a stream that can be read ahead."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._ahead = bytearray()

    async def head(self) -> tuple[list[str], Headers] | None:
        """The words of the first line, and the headers; None when nothing more comes."""
        while (end := self._ahead.find(b"\r\n\r\n")) < 0:
            if len(self._ahead) > HEAD_LIMIT:
                raise Malformed("the head is too long")
            if not await self._more():
                return None
        lines = bytes(self._ahead[:end]).decode("latin-1").split("\r\n")
        del self._ahead[: end + 4]
        pairs = []
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise Malformed("a header without a colon")
            pairs.append((name.strip(), value.strip()))
        return lines[0].split(" ", 2), tuple(pairs)

    async def body(self, headers: Headers) -> bytes | None:
        """The body that the headers announce; None when the other side left before its end."""
        coding = value_of(headers, "transfer-encoding")
        if coding is not None and coding.lower() != "identity":
            return await self._chunked()
        try:
            length = int(value_of(headers, "content-length") or 0)
        except ValueError:
            raise Malformed("content-length is no number") from None
        if not 0 <= length <= BODY_LIMIT:
            raise Malformed("the body is too long")
        return await self._exactly(length)

    async def _chunked(self) -> bytes | None:
        parts, size = list[bytes](), 0
        while (line := await self._line()) is not None:
            try:
                length = int(line.split(b";", 1)[0], 16)
            except ValueError:
                raise Malformed("a chunk without a size") from None
            size += length
            if size > BODY_LIMIT:
                raise Malformed("the body is too long")
            if not length:
                while (line := await self._line()) not in (b"", None):
                    pass  # trailers
                return b"".join(parts)
            data = await self._exactly(length)
            if data is None or await self._line() is None:
                return None
            parts.append(data)
        return None

    async def _line(self) -> bytes | None:
        while (end := self._ahead.find(b"\r\n")) < 0:
            if not await self._more():
                return None
        line = bytes(self._ahead[:end])
        del self._ahead[: end + 2]
        return line

    async def _exactly(self, length: int) -> bytes | None:
        while len(self._ahead) < length:
            if not await self._more():
                return None
        data = bytes(self._ahead[:length])
        del self._ahead[:length]
        return data

    async def some(self) -> bytes:
        """Whatever comes next; b"" at the end."""
        if not self._ahead and not await self._more():
            return b""
        data = bytes(self._ahead)
        self._ahead.clear()
        return data

    async def gone(self) -> None:
        """Returns when the other side has left; what it sends meanwhile is kept."""
        while await self._more():
            pass

    async def _more(self) -> bool:
        try:
            data = await self._reader.read(65536)
        except (ConnectionError, OSError):
            return False
        self._ahead += data
        return bool(data)


def value_of(headers: Headers, name: str) -> str | None:
    """The first value of a header, whatever its case."""
    return next((value for key, value in headers if key.lower() == name), None)


def has_token(headers: Headers, name: str, token: str) -> bool:
    """Whether a header that lists words has this one."""
    return any(token in [w.strip().lower() for w in v.split(",")] for k, v in headers if k.lower() == name)


def head_bytes(first: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """A head as it is written; line ends within values are taken out."""
    lines = [line.replace("\r", "").replace("\n", "") for line in (first, *(f"{n}: {v}" for n, v in headers))]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1", "replace")


def status_line(status: int, message: str = "") -> str:
    if not message:
        try:
            message = HTTPStatus(status).phrase
        except ValueError:
            message = ""
    return f"HTTP/1.1 {status} {message}"
