"""Images and documents: their size in pixels, pages and tokens, read from the bytes alone.

Rules: 8,000 pixels a side, 10 MB an image; an image costs ceil(w/28)·ceil(h/28) tokens after it was scaled down to the
edge of its model, and no more than that model's cap (vision page of the provider's documentation).
"""

import base64
import binascii
import struct
from typing import Any

from simulators.dialects.anthropic.gates import Gates

_MAX_SIDE = 8000
MANY, MANY_SIDE = 20, 2000  # with more images than that, each may have fewer pixels a side
_MAX_BYTES = 10 * 1024 * 1024
_HEADER = 64 * 1024  # base64 characters that surely hold the size of an image
_UNKNOWN_EDGE = 1024  # an image behind a URL or a file id, which is never fetched
_PAGE_TOKENS = 2000  # a page of a PDF: its text and its picture


def image_problem(block: dict[str, Any], path: str) -> str | None:
    """Why the API would not take this image block, None if it would."""
    source = block["source"]
    if source["type"] != "base64":
        return None
    data = source["data"]
    size = len(data) * 3 // 4
    if size > _MAX_BYTES:
        return (
            f"{path}.image.source.base64: image exceeds {_MAX_BYTES // 2**20} MB maximum: {size} bytes > "
            f"{_MAX_BYTES} bytes"
        )
    width, height = image_size(data) or (0, 0)
    if max(width, height) > _MAX_SIDE:
        return (
            f"{path}.image.source.base64.data: At least one of the image dimensions exceed max allowed size: "
            f"{_MAX_SIDE} pixels"
        )
    return None


def is_large(block: dict[str, Any]) -> bool:
    """Whether this image is too large for a request with many of them."""
    source = block["source"]
    return source["type"] == "base64" and max(image_size(source["data"]) or (0, 0)) > MANY_SIDE


def image_tokens(source: dict[str, Any], gates: Gates) -> int:
    """What the image of an `image` block costs; one that cannot be read counts as 1,024 pixels square."""
    size = image_size(source["data"]) if source["type"] == "base64" else None
    width, height = size or (_UNKNOWN_EDGE, _UNKNOWN_EDGE)
    edge = max(width, height)
    if edge > gates.image_edge:
        width, height = width * gates.image_edge // edge, height * gates.image_edge // edge
    return min(gates.image_cap, max(1, -(-width // 28) * -(-height // 28)))


def document_tokens(source: dict[str, Any]) -> int:
    """What a document costs besides its text: pages of a PDF; one that is not at hand counts as one page."""
    if source["type"] != "base64":
        return 0 if source["type"] in ("text", "content") else _PAGE_TOKENS
    try:
        data = base64.b64decode(source["data"])
    except (binascii.Error, ValueError):
        return _PAGE_TOKENS
    pages = data.count(b"/Type /Page") + data.count(b"/Type/Page") - data.count(b"/Pages")
    return _PAGE_TOKENS * max(1, pages)


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height of a base64 PNG, GIF, JPEG or WebP, None if it is none of them."""
    try:
        head = base64.b64decode(data[:_HEADER] + "=" * (-len(data[:_HEADER]) % 4))
    except (binascii.Error, ValueError):
        return None
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        width, height = struct.unpack(">II", head[16:24])
        return width, height
    if head[:4] == b"GIF8" and len(head) >= 10:
        width, height = struct.unpack("<HH", head[6:10])
        return width, height
    if head[:2] == b"\xff\xd8":
        return _jpeg_size(head)
    if head[:4] == b"RIFF" and head[8:16] == b"WEBPVP8X" and len(head) >= 30:
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, length = head[at + 1], int.from_bytes(head[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
