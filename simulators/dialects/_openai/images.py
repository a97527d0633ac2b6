"""What images and files cost in tokens, by the provider's documentation of vision pricing."""

import base64
import binascii
import re
import struct
from collections.abc import Mapping
from math import ceil, sqrt
from typing import Any

# base and tile of the tile-based models; the others pay by patches of 32 pixels.
_TILES = {
    "gpt-4o-mini": (2833, 5667),
    "gpt-4o": (85, 170),
    "gpt-4.1": (85, 170),
    "gpt-4.5": (85, 170),
    "o1": (75, 150),
    "o3": (75, 150),
    "gpt-5-chat": (70, 140),
}
_PATCHES = {"gpt-4.1-mini": 1.62, "gpt-4.1-nano": 2.46, "o4-mini": 1.72, "gpt-5-mini": 1.62, "gpt-5-nano": 2.46}
_MOST_PATCHES = 1536
_PAGE = re.compile(rb"/Type ?/Page[^s]")
_UNKNOWN = (336, 336)
_PDF_PAGE, _CHAT_FILE = 25, 215  # recorded


def image_tokens(source: str, detail: str, model: str) -> int:
    """Tokens of one image; its size is read out of a data URL, any other is taken as 336 pixels square (recorded)."""
    width, height = size_of(source) or _UNKNOWN
    factor = next((value for name, value in _PATCHES.items() if model.startswith(name)), None)
    tiles = next((value for name, value in _TILES.items() if model.startswith(name)), None)
    if factor is None and tiles is not None:
        base, tile = tiles
        if detail == "low":
            return base
        scale = min(1.0, 2048 / max(width, height))
        scale *= min(1.0, 768 / (min(width, height) * scale))
        return base + tile * ceil(width * scale / 512) * ceil(height * scale / 512)
    patches = ceil(width / 32) * ceil(height / 32)
    if patches > _MOST_PATCHES:
        shrink = sqrt(_MOST_PATCHES * 32 * 32 / (width * height))
        patches = min(_MOST_PATCHES, ceil(width * shrink / 32) * ceil(height * shrink / 32))
    return round(patches * (factor or 1.0))


def file_tokens(file: Mapping[str, Any], *, chat: bool) -> int:
    """Tokens of a file: of text in it a quarter of its bytes, of a PDF by its pages, of a reference one page."""
    data = file.get("file_data")
    beside = _CHAT_FILE if chat else 0
    if not isinstance(data, str):
        return beside + _PDF_PAGE
    raw = _decoded(data)
    if raw.startswith(b"%PDF"):
        pages = len(_PAGE.findall(raw))
        return beside + _PDF_PAGE * max(1, pages)
    return beside + max(1, len(raw) // 4)


def size_of(source: str) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF or JPEG in a data URL."""
    if not source.startswith("data:"):
        return None
    raw = _decoded(source)
    if raw[:8] == b"\x89PNG\r\n\x1a\n" and len(raw) >= 24:
        width, height = struct.unpack(">II", raw[16:24])
        return (int(width), int(height)) if width and height else None
    if raw[:3] == b"GIF" and len(raw) >= 10:
        width, height = struct.unpack("<HH", raw[6:10])
        return (int(width), int(height)) if width and height else None
    return _jpeg(raw) if raw[:2] == b"\xff\xd8" else None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(raw) and raw[at] == 0xFF:
        if 0xC0 <= raw[at + 1] <= 0xCF and raw[at + 1] not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return (int(width), int(height)) if width and height else None
        at += 2 + int(struct.unpack(">H", raw[at + 2 : at + 4])[0])
    return None


def _decoded(source: str) -> bytes:
    data = source.partition(",")[2] if source.startswith("data:") else source
    try:
        return base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return b""
