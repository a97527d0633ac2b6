"""Reads a stream of server-sent events from bytes cut anywhere."""

import json
from typing import Any


class SseError(ValueError):
    """Data that is not JSON. `data` is what stood there, `lines` the lines of its event."""

    def __init__(self, data: str, lines: list[str]) -> None:
        super().__init__(data)
        self.data, self.lines = data, lines


class SseReader:
    """Feed it chunks, get whole events: (name, decoded data). An event without its blank line is never given."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []
        self._lines: list[str] = []

    def feed(self, chunk: bytes) -> list[tuple[str, Any]]:
        """The events that `chunk` completes. Raises `SseError`."""
        events = []
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for raw in lines:
            line = raw.removesuffix(b"\r").decode("utf-8", "replace")
            if line:
                self._field(line)
            elif self._data:
                data = "\n".join(self._data)
                try:
                    events.append((self._name, json.loads(data)))
                except ValueError:
                    raise SseError(data, self._lines) from None
                self._reset()
            else:
                self._reset()
        return events

    def _field(self, line: str) -> None:
        self._lines.append(line)
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)

    def _reset(self) -> None:
        self._name, self._data, self._lines = "", [], []
