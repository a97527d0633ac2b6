"""What a fake is told besides its command line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """`auto_compact_window` in tokens; `alone`: the fake's own simulator answers, nobody asks for a key."""

    version: str
    auto_compact_window: int | None = None
    alone: bool = False
