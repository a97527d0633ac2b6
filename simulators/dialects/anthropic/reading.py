"""From bytes to a checked body and its messages, reading again only what is new.

A conversation grows by its end. What reading a message gave is kept by its bytes and position, so a hit is exactly
what reading again would give. Two generations bound the memory: when the young one is full it becomes the old one, and
what is still used moves over.
"""

import re
from typing import Any

import msgspec

from simulators.dialects.anthropic.messages import Known
from simulators.dialects.anthropic.refusal import refuse

_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_raw_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode = msgspec.json.Decoder().decode
_GENERATION = 32 * 1024 * 1024  # bytes of messages
_BYTE = re.compile(r" \(byte (\d+)\)$")
_DEEP = 200
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]')
_LONE_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")

Key = tuple[int, int, bytes]  # position, edge to which images are scaled, bytes


class Memo:
    """What reading a message gave."""

    def __init__(self, generation: int = _GENERATION) -> None:
        self._limit = generation
        self._young: dict[Key, Known] = {}
        self._old: dict[Key, Known] = {}
        self._size = 0

    def get(self, key: Key) -> Known | None:
        """What is known of a message, None if it is new."""
        known = self._young.get(key)
        if known is None and self._old:
            known = self._old.get(key)
            if known is not None:
                self.put(key, known)
        return known

    def put(self, key: Key, known: Known) -> None:
        """Remember a message."""
        self._size += len(key[2])
        if self._size > self._limit:
            self._old, self._young, self._size = self._young, {}, len(key[2])
        self._young[key] = known


def open_body(data: bytes) -> tuple[Any, list[bytes] | None]:
    """The body, and the bytes of each message where `messages` is a list: then `body["messages"]` is still None.

    Refuses what is no JSON, in the words of the API's parser: reason, line, column, character.
    """
    try:
        fields = _raw_fields(data)
        messages = fields.pop("messages", None)
        body: dict[str, Any] = {name: _decode(value) for name, value in fields.items()}
        if messages is None:
            return body, None
        try:
            raw = [bytes(item) for item in _raw_items(messages)]
        except msgspec.ValidationError:
            return {**body, "messages": _decode(messages)}, None
        return {**body, "messages": None}, raw
    except (msgspec.DecodeError, RecursionError):  # no object, or no JSON at all
        return _refuse_syntax(data), None


def decode_message(raw: bytes, data: bytes) -> Any:
    """One message; `data` is the whole body, for the place of a mistake."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _refuse_syntax(data)


def _refuse_syntax(data: bytes) -> Any:
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        said = str(error)
        if isinstance(error, RecursionError):
            reason, at = "recursion limit exceeded", _too_deep(data)
        elif lone := _LONE_SURROGATE.search(data):
            reason, at = "no low surrogate in string", lone.start()
        elif found := _BYTE.search(said):
            reason, at = said[: found.start()].removeprefix("JSON is malformed: "), int(found[1])
        else:
            reason, at = "unexpected end of data", len(data)
        line = data.count(b"\n", 0, at) + 1
        column = at - (data.rfind(b"\n", 0, at) + 1) + 1
        refuse(f"The request body is not valid JSON: {reason}: line {line} column {column} (char {at})")


def _too_deep(data: bytes) -> int:
    """Where the nesting passes the depth that is taken for sure."""
    depth = 0
    for found in _NESTING.finditer(data):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found[0], 0)
        if depth > _DEEP:
            return found.start()
    return len(data)
