"""Identifiers that look like a vendor's and repeat: letters and digits out of (seed, request number, purpose).

They carry no prefix: a dialect writes `msg_`, `toolu_`, `req_` before them as its vendor does.
"""

from simulators.core.chance import digest

_ALPHABET = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_TABLE = bytes(_ALPHABET[i % len(_ALPHABET)] for i in range(256))


def identifier(seed: int, n: int, purpose: str, length: int = 22) -> str:
    """`length` (up to 64) letters and digits, none of them easily mistaken for another."""
    return digest(seed, n, purpose, length).translate(_TABLE).decode("ascii")


def uuid(seed: int, n: int, purpose: str) -> str:
    """A UUID (version 4 in form)."""
    h = digest(seed, n, purpose, 16).hex()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"
