"""Identifiers as this vendor writes them, drawn from the stamp of the call."""

from hashlib import blake2b

from simulators.core.turn import Stamp

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def hexadecimal(stamp: Stamp, purpose: str, length: int = 50) -> str:
    """`length` (up to 64) hexadecimal digits; the first is 0, as it is on the wire."""
    return "0" + blake2b(f"{stamp.message_id}:{purpose}".encode(), digest_size=32).hexdigest()[: length - 1]


def letters(stamp: Stamp, purpose: str, length: int = 24) -> str:
    """`length` (up to 64) letters and digits."""
    drawn = blake2b(f"{stamp.message_id}:{purpose}".encode(), digest_size=length).digest()
    return "".join([_LETTERS[byte % 62] for byte in drawn])


def call_id(stamp: Stamp, number: int) -> str:
    return f"call_{letters(stamp, f'call:{number}')}"


def padding(stamp: Stamp, number: int, used: int) -> str:
    """The `obfuscation` of a delta: with the text it has a multiple of 16 characters."""
    return letters(stamp, f"pad:{number}", 16)[: 16 - used % 16]
