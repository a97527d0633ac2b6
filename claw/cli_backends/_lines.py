"""Cuts a CLI's stdout into JSON objects, whatever the pipe did to it.

Reads may be cut anywhere, several objects may be glued on one line, an object may be spread over lines, a log line may
stand between them, bytes may be no UTF-8, and a line may be far too long. What cannot be read is counted, never raised.
"""

import re
from typing import Any

import msgspec

MAX_LINE = 8 * 1024 * 1024  # bytes of one line; a longer one is dropped (OpenClaw's bound, too)
_RESTARTS, _RESTART_BYTES = 16, 2_000_000  # how often, and over how much, reading begins anew in one damaged line
_OBJECT = re.compile(rb'\{\s*"')
_TOKEN = re.compile(rb'["{}]')
_STRING_END = re.compile(rb'\\.|"', re.DOTALL)


class JsonLines:
    """Feed it bytes; each `feed` gives the objects that became complete. `damaged` counts what was lost."""

    def __init__(self, *, max_line: int = MAX_LINE) -> None:
        self.damaged = 0
        self.noise: list[bytes] = []  # the first lines that held no object, for a failure's message
        self._max = max_line
        self._pieces: list[bytes] = []  # of the line that is not finished yet
        self._size = 0
        self._skipping = False
        self._torn = b""  # the beginning of an object whose line ended too early

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._add(line)
            found += self._end_line()
        self._add(rest)
        return found

    def close(self) -> list[dict[str, Any]]:
        """The process is gone: a last line without its newline counts as a line."""
        found = self._end_line()
        if self._torn:
            self.damaged += 1
            self._torn = b""
        return found

    def _add(self, piece: bytes) -> None:
        if self._skipping or not piece:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._max:
            self._pieces.clear()
            self._skipping = True

    def _end_line(self) -> list[dict[str, Any]]:
        line = b"".join(self._pieces).strip(b" \t\r\0")
        skipped, self._skipping = self._skipping, False
        self._pieces.clear()
        self._size = 0
        if skipped:
            self.damaged += 1
            return []
        return self._objects(line) if line else []

    def _objects(self, line: bytes) -> list[dict[str, Any]]:
        whole = _decode(line)
        if whole is not None:
            self._drop_torn()
            return whole
        if self._torn:
            joined = _decode(self._torn + line)
            if joined is not None:
                self._torn = b""
                return joined
        found, left = _scan(line)
        if found:
            self._drop_torn()
            self.damaged += bool(left)
        elif self._torn and len(self._torn) + len(line) <= self._max:
            self._torn += line
        elif line.startswith(b"{"):
            self._drop_torn()
            self._torn = line
        else:
            self._note(line)
        return found

    def _drop_torn(self) -> None:
        if self._torn:
            self.damaged += 1
            self._torn = b""

    def _note(self, line: bytes) -> None:
        self.damaged += 1
        if len(self.noise) < 5:
            self.noise.append(line[:500])


def _decode(text: bytes) -> list[dict[str, Any]] | None:
    """One object, or the objects of an array (`--output-format json --verbose` prints one); None if it is neither."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            value = msgspec.json.decode(text.decode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return None
    except RecursionError:
        return None
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return value
    return None


def _scan(line: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Objects glued on one line or amid other text, by balanced braces; and whether something was left over."""
    found: list[dict[str, Any]] = []
    allowed = min(_RESTARTS, 1 + _RESTART_BYTES // len(line))
    at = _next(line, 0)
    left = at != 0
    while at >= 0 and allowed:
        end = _balanced(line, at)
        value = _decode(line[at:end]) if end else None
        if value is None:
            left = True
            allowed -= 1
            at = _next(line, at + 1)
            continue
        found += value
        following = _next(line, end)
        left = left or bool(line[end : following if following >= 0 else len(line)].strip())
        at = following
    return found, left


def _next(line: bytes, start: int) -> int:
    found = _OBJECT.search(line, start)
    return found.start() if found else -1


def _balanced(line: bytes, start: int) -> int:
    """Where the object that begins at `start` ends; 0 if it does not."""
    depth = 0
    at = start
    while token := _TOKEN.search(line, at):
        at = token.end()
        match token.group():
            case b"{":
                depth += 1
            case b"}":
                depth -= 1
                if depth == 0:
                    return at
            case _:
                while (mark := _STRING_END.search(line, at)) and mark.group() != b'"':
                    at = mark.end()
                if mark is None:
                    return 0
                at = mark.end()
    return 0
