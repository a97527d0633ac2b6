"""Thought signatures: opaque bytes on a part, by which a model finds its thoughts again.

Ours bear a mark and a checksum, so that a damaged one is told from a whole one; what bears no mark is a stranger's and
taken as genuine, as are the words by which clients ask not to be checked. A signature is as long as the thoughts that
it seals (measured on recorded ones: some 90 bytes and 3.44 for each token), and 3.x models read as many tokens again.
"""

import base64
import binascii
from hashlib import blake2b

_MARK = b"claw-sim"
_CHECK = 8
_FIXED, _PER_TOKEN = 90, 3.44  # bytes
_LONGEST = 32 * 1024
CORRUPTED = "Corrupted thought signature."


def sign(seed: str, thoughts: int) -> str:
    """A signature over so many tokens of thoughts; the same for the same `seed`."""
    size = min(_LONGEST, round(_FIXED + _PER_TOKEN * thoughts))
    body = _MARK + _stretch(seed.encode(), size - len(_MARK) - _CHECK)
    return base64.b64encode(body + _checksum(body)).decode("ascii")


def intact(signature: str) -> bool:
    """False for one of ours that was changed on the way."""
    data = decoded(signature)
    if not data.startswith(_MARK):
        return True
    return _checksum(data[:-_CHECK]) == data[-_CHECK:]


def sealed_tokens(signature: str) -> int:
    """How many tokens of thoughts a signature stands for."""
    size = len(signature) * 3 // 4
    return max(0, round((size - _FIXED) / _PER_TOKEN))


def decoded(signature: str) -> bytes:
    """The bytes of a signature, which may come in either alphabet of base64; none if it is neither."""
    try:
        plain = signature.strip().rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""


def _stretch(seed: bytes, size: int) -> bytes:
    made = b"".join(blake2b(seed + i.to_bytes(4, "big")).digest() for i in range(size // 64 + 1))
    return made[:size]


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECK).digest()
