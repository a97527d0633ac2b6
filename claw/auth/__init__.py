"""Credentials: order, rotation, rests."""

from claw.auth.book import Book, Credential, Rest, load, save

__all__ = ["Book", "Credential", "Rest", "load", "save"]
