"""Ids that repeat: the n-th id of a run is a hash of (seed, n), so the same seed gives the same bytes."""

from hashlib import sha256


class SeededIds:
    """Makes ids one after the other. Two runs with different seeds share none."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._made = 0

    def hex(self, digits: int) -> str:
        """Hex digits, up to 64."""
        self._made += 1
        return sha256(f"{self._seed}:{self._made}".encode()).hexdigest()[:digits]

    def uuid(self) -> str:
        """A UUID of version 4 in form."""
        h = self.hex(32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-8{h[17:20]}-{h[20:]}"

    def fraction(self) -> float:
        """A number in [0, 1), for jitter."""
        return int(self.hex(8), 16) / 0x100000000
