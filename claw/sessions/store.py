"""Sessions on disk: one JSONL file each, only ever added to.

`$CLAW_HOME/sessions/<id>.jsonl`: a header line `{type: "session", format: "claw", version: 1, id, timestamp, cwd}`,
then one entry a line (`claw/core/transcript.py`). An append is on disk when it returns. Reading forgives: a torn last
line is left out, a damaged line costs only itself, records glued together are told apart, and an entry whose parent is
lost hangs on the one before it. A file is never rewritten.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import msgspec

from claw.core.errors import ClawError
from claw.core.transcript import Entry, KnownEntry, MessageEntry, UnknownEntry, path
from claw.ports import Files

VERSION = 1
LOCK_WAIT_S = 60.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_decode_entry = msgspec.json.Decoder(KnownEntry).decode
_encode = msgspec.json.Encoder().encode


class Header(msgspec.Struct, frozen=True, kw_only=True, tag="session", tag_field="type"):
    """The first line."""

    id: str
    timestamp: str
    cwd: str = ""
    format: str = "claw"
    version: int = VERSION


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a list of sessions. `prompts` counts user messages; `first_prompt` is the first one's text."""

    id: str
    timestamp: str
    updated: str
    cwd: str
    entries: int
    prompts: int
    first_prompt: str
    damaged: int


class Session:
    """An open session: what the file holds, and the only way to add to it."""

    def __init__(self, files: Files, file: str, header: Header, *, exists: bool) -> None:
        self.file = file
        self.header = header
        self.entries: list[Entry] = []
        self.damaged = 0  # lines that could not be read
        self._files = files
        self._exists = exists
        self._torn = False  # the file does not end with a newline

    @property
    def id(self) -> str:
        return self.header.id

    def path(self) -> tuple[Entry, ...]:
        """The conversation: from the root to the last entry."""
        return path(self.entries)

    def append(self, entries: Sequence[KnownEntry], *, now: float) -> None:
        """Write entries at the end, synced. `now` (Unix seconds) becomes their timestamp. Raises `OSError`."""
        stamp = iso(now)
        stamped = [msgspec.structs.replace(entry, timestamp=stamp) for entry in entries]
        lines = [_encode(entry) for entry in stamped]
        if not self._exists:
            lines.insert(0, _encode(self.header))
        self._files.append(self.file, (b"\n" if self._torn else b"") + b"\n".join(lines) + b"\n")
        self._exists, self._torn = True, False
        self.entries += stamped

    def info(self) -> SessionInfo:
        prompts = [e for e in self.entries if isinstance(e, MessageEntry) and e.message.role == "user"]
        return SessionInfo(
            id=self.id,
            timestamp=self.header.timestamp,
            updated=self.entries[-1].timestamp if self.entries else self.header.timestamp,
            cwd=self.header.cwd,
            entries=len(self.entries),
            prompts=len(prompts),
            first_prompt=prompts[0].message.text if prompts else "",
            damaged=self.damaged,
        )

    def _load(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        self._torn = bool(rest)
        known: set[str] = set()
        header = False
        for number, line in enumerate([*lines, rest]):
            if not line.strip():
                continue
            found = list(_entries(line))
            self.damaged += not found and number < len(lines)
            for record in found:
                if isinstance(record, Header):
                    self.header = self.header if header else record
                    header = True
                elif record.id not in known:
                    self.entries.append(self._hung(record, known))
                    known.add(record.id)

    def _hung(self, entry: Entry, known: set[str]) -> Entry:
        if entry.parent_id is None or entry.parent_id in known or not self.entries:
            return entry
        return msgspec.structs.replace(entry, parent_id=self.entries[-1].id)


class SessionStore:
    """All sessions under one home."""

    def __init__(self, files: Files, home: str) -> None:
        self._files = files
        self._folder = f"{home}/sessions"

    def file(self, id: str) -> str:
        """Where a session lives. Raises `ClawError` for an id that cannot be a file name."""
        if not _NAME.fullmatch(id):
            raise ClawError(f"session `{id}`: an id is letters, digits, `.`, `_` and `-`, and begins with no sign")
        return f"{self._folder}/{id}.jsonl"

    def ids(self) -> tuple[str, ...]:
        names = self._files.listdir(self._folder)
        return tuple(name[: -len(".jsonl")] for name in names if name.endswith(".jsonl"))

    def open(self, id: str, *, workspace: str = "", now: float) -> Session:
        """The session, or a new one, of which nothing is on disk before its first entry."""
        file = self.file(id)
        if self._files.exists(file):
            return self._read(id, file)
        return Session(self._files, file, Header(id=id, timestamp=iso(now), cwd=workspace), exists=False)

    def load(self, id: str) -> Session:
        """An existing session. Raises `ClawError` naming the folder if there is none."""
        file = self.file(id)
        if not self._files.exists(file):
            raise ClawError(f"there is no session `{id}` in {self._folder}")
        return self._read(id, file)

    def list(self) -> tuple[SessionInfo, ...]:
        """Every session, the one used last first."""
        infos = [self.load(id).info() for id in self.ids()]
        return tuple(sorted(infos, key=lambda info: (info.updated, info.id), reverse=True))

    def lock(self, id: str, *, wait_s: float = LOCK_WAIT_S) -> AbstractAsyncContextManager[None]:
        """One run at a time on a session, between processes too. Raises `TimeoutError`."""
        return self._files.lock(self.file(id), wait_s=wait_s)

    def _read(self, id: str, file: str) -> Session:
        session = Session(self._files, file, Header(id=id, timestamp=""), exists=True)
        session._load(self._files.read(file))
        return session


def iso(now: float) -> str:
    """Unix seconds as ISO 8601 UTC with milliseconds."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _entries(line: bytes) -> Iterator[Entry | Header]:
    """The records of a line: one, or several that were glued together, or none that can be read."""
    try:
        yield _decode_entry(line)
        return
    except msgspec.DecodeError:
        pass
    for raw in _objects(line.decode("utf-8", "replace")):
        record = _record(raw)
        if record is not None:
            yield record


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that begins at the top level of the text, also behind something unreadable."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            value, at = None, at + 1
        if isinstance(value, dict) and "type" in value:
            yield value
        at = text.find('{"type"', at) if value is None else text.find("{", at)


def _record(raw: dict[str, Any]) -> Entry | Header | None:
    kind = raw.get("type")
    try:
        if kind == "session":
            return msgspec.convert(raw, Header)
        if kind in ("message", "compaction", "custom"):
            known: KnownEntry = msgspec.convert(raw, KnownEntry)
            return known
    except msgspec.ValidationError:
        return None
    if not isinstance(raw.get("id"), str):
        return None
    parent = raw.get("parentId")
    return UnknownEntry(id=raw["id"], parent_id=parent if isinstance(parent, str) else None, raw=raw)
