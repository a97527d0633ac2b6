"""Prose that stands where the vendors' prompts stand: our own words, as long as the real ones.

Only the length and the constancy of those texts matter to a provider (tokens, cache prefixes), so each is made from
a seed word; the same name and length give the same text for ever.
"""

from functools import lru_cache
from hashlib import sha256

_SOURCE = """
the assistant reads each file before it changes one and says plainly what was done and what was left open
a task that is unclear is asked about once and then carried out with care small steps are checked by running
what can be run names paths and commands are quoted exactly as they stand in the project long output is cut
to the part that matters nothing outside the folder is touched without need and no secret is ever printed
when a step fails the reason is looked for first and the same step is not tried again unchanged
"""
_WORDS = tuple(_SOURCE.split())


@lru_cache(maxsize=64)
def prose(name: str, length: int) -> str:
    """Sentences of exactly `length` characters, always the same for a name."""
    if length <= 0:
        return ""
    digest = sha256(name.encode()).digest()
    position, step = digest[0] % len(_WORDS), 1 + digest[1] % 7
    parts: list[str] = []
    size = 0
    while size <= length:
        words = []
        for _ in range(9 + (position + size) % 7):
            words.append(_WORDS[position])
            position = (position + step) % len(_WORDS)
        sentence = " ".join(words).capitalize() + ". "
        parts.append(sentence)
        size += len(sentence)
    return "".join(parts)[: length - 1] + "."
