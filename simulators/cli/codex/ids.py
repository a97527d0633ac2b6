"""Ids as codex makes them: UUIDs of version 7 that carry the time, and one of version 5 that is a thread's own."""

from hashlib import sha1, sha256

from simulators.cli.ids import SeededIds


def uuid7(ids: SeededIds, now: float) -> str:
    """Sorted by time; the rest repeats for a seed."""
    stamp = f"{int(now * 1000) & 0xFFFFFFFFFFFF:012x}"
    rest = ids.hex(19)
    return f"{stamp[:8]}-{stamp[8:]}-7{rest[:3]}-9{rest[4:7]}-{rest[7:19]}"


def base_id(thread: str) -> str:
    """The id of a thread's first item: the same on every resume, another after a fork."""
    h = sha256(f"base {thread}".encode()).hexdigest()
    return f"msg_{h[:8]}-{h[8:12]}-5{h[13:16]}-a{h[17:20]}-{h[20:32]}"


def blob(text: str) -> str:
    """A hash of 40 hex digits, as the world state has them."""
    return sha1(text.encode(), usedforsecurity=False).hexdigest()
