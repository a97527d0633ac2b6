"""Chance without a generator: every draw is a hash of (seed, number of the request, purpose).

So one more draw shifts no other, and the same seed gives the same bytes. The account's key takes no part: two accounts
with the same document and seed that are asked the same get the same answers.
"""

from hashlib import blake2b

_UNIT = 1 / (1 << 64)


def digest(seed: int, n: int, purpose: str, size: int = 8) -> bytes:
    """`size` bytes (up to 64) that depend on seed, request number and purpose alone."""
    return blake2b(b"%d:%d:%s" % (seed, n, purpose.encode()), digest_size=size).digest()


def draw(seed: int, n: int, purpose: str) -> float:
    """A number in [0, 1)."""
    return int.from_bytes(digest(seed, n, purpose), "big") * _UNIT


class Chance:
    """The draws of one request: `chance("jitter:3")` is in [0, 1) and always the same."""

    __slots__ = ("n", "seed")

    def __init__(self, seed: int, n: int) -> None:
        self.seed, self.n = seed, n

    def __call__(self, purpose: str) -> float:
        return draw(self.seed, self.n, purpose)
