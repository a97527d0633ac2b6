"""Encrypted content: what only the provider can read, given to the client to carry.

The simulator's own bears a mark and a check sum and holds its text, so that a later request can be counted; content
with another beginning is a real provider's and taken as genuine. Its length says roughly how much is in it.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from hashlib import blake2b
from zlib import compress, decompress
from zlib import error as zlib_error

_LOOK = "gAAAAAB"  # how every real one begins
_MARK = "claw"
_SUM = 9  # bytes of the check sum: no padding inside
# Recorded: how long a sealed text is against the tokens that it stands for (characters beside them, characters each).
_REASONING, _SUMMARY = (800, 6.0), (400, 9.0)


def seal(text: str, salt: str) -> str:
    """`text` as encrypted content; `salt` makes two of the same text differ."""
    body = compress(salt.encode() + b"\0" + text.encode(), 9)
    return f"{_LOOK}{_MARK}{urlsafe_b64encode(_sum(body) + body).decode()}"


def opened(content: str) -> str | None:
    """The text of the simulator's own content; "" of a foreign one. None: ours, and spoilt."""
    if not content.startswith(_LOOK + _MARK):
        return ""
    try:
        data = urlsafe_b64decode(content[len(_LOOK + _MARK) :])
        if _sum(data[_SUM:]) != data[:_SUM]:
            return None
        return decompress(data[_SUM:]).partition(b"\0")[2].decode()
    except (Error, zlib_error, UnicodeDecodeError, ValueError):
        return None


def foreign_tokens(content: str, *, summary: bool = False) -> int:
    """How many tokens a real provider's reasoning or summary stands for, roughly; 0 of the simulator's own."""
    if content.startswith(_LOOK + _MARK):
        return 0
    beside, each = _SUMMARY if summary else _REASONING
    return round(max(0, len(content) - beside) / each)


def _sum(body: bytes) -> bytes:
    return blake2b(body, digest_size=_SUM, key=b"simulated").digest()
