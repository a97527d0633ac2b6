"""Credentials: order, rotation, rests, and those that claw keeps itself."""

from claw.auth.book import Book, Credential, Rest, cooldown, load, save
from claw.auth.keys import Keyring, Stored, load_keys, ranked, save_keys

__all__ = [
    "Book",
    "Credential",
    "Keyring",
    "Rest",
    "Stored",
    "cooldown",
    "load",
    "load_keys",
    "ranked",
    "save",
    "save_keys",
]
