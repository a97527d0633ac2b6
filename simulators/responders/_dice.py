"""A stream of draws out of one: long answers need more numbers than it is worth hashing for."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_MASK = (1 << 64) - 1


class Dice:
    """SplitMix64 from a number in [0, 1); equal seeds draw equal numbers, in every version of Python."""

    def __init__(self, seed: float) -> None:
        self._state = int(seed * (1 << 53))

    def _next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def roll(self) -> float:
        """A number in [0, 1)."""
        return (self._next() >> 11) / (1 << 53)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self._next() % (high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self._next() % len(options)]
