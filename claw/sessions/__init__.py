"""Sessions: an append-only JSONL tree each."""

from claw.sessions.store import Header, Session, SessionInfo, SessionStore, iso

__all__ = ["Header", "Session", "SessionInfo", "SessionStore", "iso"]
