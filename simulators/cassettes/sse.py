"""Server-sent events of a recorded body: where each begins and ends, and the JSON that it carries."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")


class Event(msgspec.Struct, frozen=True):
    """One event as bytes, its closing blank line included: `start` is its place in the body, `name` its `event:`."""

    start: int
    data: bytes
    name: str = ""

    def payload(self) -> tuple[int, int, bytes] | None:
        """(begin, end, bytes) of what stands behind `data:`, within the event; None without one, or with several."""
        found = None
        for line in _LINE.finditer(self.data):
            if line[0].startswith(b"data:"):
                if found is not None:
                    return None
                text = line[0].rstrip(b"\r\n")
                skip = 6 if text[5:6] == b" " else 5
                found = (line.start() + skip, line.start() + len(text), text[skip:])
        return found

    def json(self) -> Any:
        """The decoded payload, or None."""
        found = self.payload()
        if found is None:
            return None
        try:
            return msgspec.json.decode(found[2])
        except (msgspec.DecodeError, RecursionError):
            return None


def is_stream(body: bytes, content_type: str | None) -> bool:
    """Whether a body is a stream of events."""
    if content_type is not None and content_type.lower().startswith("text/event-stream"):
        return True
    return content_type is None and body.startswith((b"event:", b"data:"))


def events(body: bytes) -> list[Event]:
    """Every event; what follows the last blank line is one too (a stream that was cut)."""
    return list(_events(body))


def _events(body: bytes) -> Iterator[Event]:
    start = 0
    for end in _END.finditer(body):
        yield _event(body, start, end.end())
        start = end.end()
    if start < len(body):
        yield _event(body, start, len(body))


def _event(body: bytes, start: int, end: int) -> Event:
    data = body[start:end]
    at = 0 if data.startswith(b"event:") else data.find(b"\nevent:") + 1
    name = ""
    if data.startswith(b"event:", at):
        name = data[at + 6 :].split(b"\n", 1)[0].strip().decode("utf-8", "replace")
    return Event(start, data, name)
