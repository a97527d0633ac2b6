"""Messages of a WebSocket (RFC 6455) out of its bytes, and back: enough to record a conversation and to replay it."""

import base64
import hashlib
import struct
from collections.abc import Iterator

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def accept(key: str) -> str:
    """The `sec-websocket-accept` for a client's key."""
    return base64.b64encode(hashlib.sha1(key.strip().encode() + _MAGIC).digest()).decode()


class Messages:
    """Reads one direction. `feed` gives (opcode, content) of every message and control frame that is complete.

    Compressed frames are not read: whoever sits between must have taken the extension out of the handshake.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._parts: list[bytes] = []
        self._opcode = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        self._buffer += data
        while (frame := self._frame()) is not None:
            final, opcode, content = frame
            if opcode >= CLOSE:
                yield opcode, content
                continue
            if opcode:
                self._opcode, self._parts = opcode, []
            self._parts.append(content)
            if final:
                yield self._opcode, b"".join(self._parts)
                self._parts = []

    def _frame(self) -> tuple[bool, int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second, at = buffer[0], buffer[1], 2
        length = second & 127
        if length >= 126:
            size = 2 if length == 126 else 8
            if len(buffer) < at + size:
                return None
            length = int.from_bytes(buffer[at : at + size], "big")
            at += size
        mask = b""
        if second & 128:
            if len(buffer) < at + 4:
                return None
            mask = bytes(buffer[at : at + 4])
            at += 4
        if len(buffer) < at + length:
            return None
        content = bytes(buffer[at : at + length])
        del buffer[: at + length]
        if mask and content:
            whole = mask * (length // 4 + 1)
            content = (int.from_bytes(content, "big") ^ int.from_bytes(whole[:length], "big")).to_bytes(length, "big")
        return bool(first & 128), first & 15, content


def frame(opcode: int, content: bytes) -> bytes:
    """A frame as a server sends it: whole, without a mask."""
    length = len(content)
    if length < 126:
        head = struct.pack("!BB", 128 | opcode, length)
    elif length < 65536:
        head = struct.pack("!BBH", 128 | opcode, 126, length)
    else:
        head = struct.pack("!BBQ", 128 | opcode, 127, length)
    return head + content


def close_frame(code: int, reason: str = "") -> bytes:
    return frame(CLOSE, struct.pack("!H", code) + reason.encode()[:120])
