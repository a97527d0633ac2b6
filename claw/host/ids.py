"""Names and chance: from the system, or from a seed."""

import hashlib
import random
import secrets
import uuid
from collections import Counter


class HostIds:
    """`claw.ports.Ids` from the system's randomness."""

    def entry(self) -> str:
        return secrets.token_hex(4)

    def session(self) -> str:
        return str(uuid.uuid4())

    def fraction(self) -> float:
        return random.random()


class SeededIds:
    """`claw.ports.Ids` that repeat: the n-th id of a kind is a hash of (seed, kind, n), so kinds do not disturb
    each other."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._drawn: Counter[str] = Counter()

    def entry(self) -> str:
        return self._draw("entry")[:4].hex()

    def session(self) -> str:
        return str(uuid.UUID(bytes=self._draw("session")[:16], version=4))

    def fraction(self) -> float:
        return int.from_bytes(self._draw("fraction")[:6], "big") / 2**48

    def _draw(self, kind: str) -> bytes:
        n = self._drawn[kind]
        self._drawn[kind] += 1
        return hashlib.sha256(f"{self._seed}/{kind}/{n}".encode()).digest()
