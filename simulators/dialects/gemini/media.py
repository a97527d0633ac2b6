"""What stands in a prompt beside text: its modality and its tokens.

Documented: 258 tokens for an image or a page up to 2.5 (larger images come in tiles, which are not told apart here), 32
a second of audio, 263 a second of video. From 3.x on an image or a page has 1,092 (recorded). Nothing is fetched: what
a URI points to counts as one page, one image, 5 seconds of sound or one of film; inline sound and film go by size.
"""

from collections.abc import Mapping
from typing import Any

from simulators.dialects.gemini.gates import Gates

_IMAGE, _IMAGE_3 = 258, 1092
_AUDIO_PER_S, _VIDEO_PER_S = 32, 263
_AUDIO_BYTES_PER_S, _VIDEO_BYTES_PER_S = 12_000, 250_000
_UNKNOWN_S = {"AUDIO": 5, "VIDEO": 1}


def modality(mime: str, gates: Gates) -> str:
    """`TEXT`, `IMAGE`, `AUDIO`, `VIDEO` or `DOCUMENT`; 3.x reads a document as images of its pages."""
    kind = mime.partition("/")[0]
    if kind in ("image", "audio", "video"):
        return kind.upper()
    if mime == "application/pdf":
        return "IMAGE" if gates.version >= (3, 0) else "DOCUMENT"
    return "TEXT"


def inline_tokens(blob: Mapping[str, Any], gates: Gates) -> int:
    """Tokens of inline data that is no text."""
    size = len(blob.get("data") or "") * 3 // 4
    match modality(str(blob.get("mimeType") or ""), gates):
        case "AUDIO":
            return max(1, round(_AUDIO_PER_S * size / _AUDIO_BYTES_PER_S))
        case "VIDEO":
            return max(_VIDEO_PER_S, round(_VIDEO_PER_S * size / _VIDEO_BYTES_PER_S))
    return _picture(gates)


def file_tokens(file: Mapping[str, Any], gates: Gates) -> int:
    """Tokens of something behind a URI."""
    kind = modality(str(file.get("mimeType") or ""), gates)
    if kind in _UNKNOWN_S:
        return _UNKNOWN_S[kind] * (_AUDIO_PER_S if kind == "AUDIO" else _VIDEO_PER_S)
    return _picture(gates)


def _picture(gates: Gates) -> int:
    return _IMAGE_3 if gates.version >= (3, 0) else _IMAGE
