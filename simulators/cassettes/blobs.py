"""Replaces the content of images, documents and other binary data: same size, same header, nothing to be seen."""

import base64
import binascii
import hashlib
import re

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}|[A-Za-z0-9_\-]+={0,2}")
_KEPT = ((b"\x89PNG", 33), (b"GIF8", 13), (b"RIFF", 44), (b"%PDF", 0), (b"\xff\xd8", 0))  # magic, bytes of header
_PDF_PARTS = re.compile(rb"(?<=stream)\r?\n.*?(?=endstream)|\((?:[^()\\]|\\.)*\)", re.DOTALL)


def is_base64(text: str) -> bool:
    """Whether a text is binary data: long enough, and nothing but its alphabet."""
    return len(text) >= 64 and _BASE64.fullmatch(text) is not None


def veiled_text(text: str, salt: bytes) -> str:
    """Base64 of the same length for other content; a data URL keeps what stands before its comma."""
    head, comma, rest = text.partition(",") if text.startswith("data:") else ("", "", text)
    try:
        data = base64.b64decode(rest.translate(str.maketrans("-_", "+/")) + "=" * (-len(rest) % 4))
    except (binascii.Error, ValueError):
        return text
    made = base64.b64encode(veiled(data, salt)).decode()
    if "-" in rest or "_" in rest:
        made = made.translate(str.maketrans("+/", "-_"))
    made = made.rstrip("=") if not rest.endswith("=") else made
    return f"{head}{comma}{made}" if len(made) == len(rest) else text


def veiled(data: bytes, salt: bytes) -> bytes:
    """Bytes of the same length; what tells kind, size and pages is kept."""
    noise = _noise(data, salt)
    if data.startswith(b"%PDF"):
        return _PDF_PARTS.sub(lambda m: _within(m[0], noise[m.start() : m.end()]), data)
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data, noise)
    kept = next((size for magic, size in _KEPT if data.startswith(magic)), min(16, len(data)))
    return data[:kept] + noise[kept:]


def _within(part: bytes, noise: bytes) -> bytes:
    """Noise between the marks of a PDF's string or stream, of bytes that are none."""
    letters = bytes(97 + byte % 26 for byte in noise)
    return part[:1] + letters[1:-1] + part[-1:] if len(part) > 2 else part


def _jpeg(data: bytes, noise: bytes) -> bytes:
    """Segments stay up to the one with the size; what is in comments and thumbnails, and the picture, does not."""
    made, at = bytearray(noise), 2
    made[:2] = data[:2]
    while at + 4 <= len(data) and data[at] == 0xFF:
        kind, size = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        keeps = kind < 0xE0 and kind != 0xDA
        made[at : at + (2 + size if keeps else 4)] = data[at : at + (2 + size if keeps else 4)]
        at += 2 + size
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            break
    return bytes(made[: len(data)])


def _noise(data: bytes, salt: bytes) -> bytes:
    seed = hashlib.blake2b(data, key=salt[:64], digest_size=32).digest()
    return hashlib.shake_256(seed).digest(len(data))
