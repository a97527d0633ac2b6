"""The transcript on disk: JSON lines in $HOME/.claude/projects/<working directory>/<session>.jsonl.

Rows form a chain by `parentUuid`; what the model is sent is read off the chain's end, back to its root or to the last
compaction. Keys and row types as observed (the delta-coded request log of 2.1.332 is left out).
"""

import json
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from simulators.cli.effects import Effect, ListFiles, ReadFile, WriteFile

Row = dict[str, Any]
Steps = Generator[Effect, Any, Any]


def folder(home: str, cwd: str) -> str:
    """Where the transcripts of a working directory lie."""
    return f"{home}/.claude/projects/{re.sub('[^A-Za-z0-9]', '-', cwd)}"


def dump(value: Any) -> str:
    """JSON as the CLI writes it: one line, no spaces, text unescaped."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class DiskFull(Exception):
    """A row could not be written; the text is the system's."""


class Session:
    """A conversation: its rows so far (those on disk included) and the file that new ones are added to."""

    def __init__(
        self,
        *,
        id: str,
        path: str,
        rows: Sequence[Row] = (),
        persist: bool = True,
        bridges: bool = True,
        torn: bool = False,
    ) -> None:
        self._torn = torn  # the file's last line has no end: whoever wrote it was killed, or the disk was full
        self.id, self.path, self.persist, self.bridges = id, path, persist, bridges
        self.rows: list[Row] = list(rows)
        self.leaf: str | None = next((r["uuid"] for r in reversed(self.rows) if _chained(r)), None)
        self.write_error: str | None = None

    def append(self, *rows: Row) -> Steps:
        """Add rows, in memory and on disk. A disk that is full is remembered, not raised: the CLI goes on."""
        for row in rows:
            self.rows.append(row)
            if _chained(row):
                self.leaf = row["uuid"]
        if self.persist:
            data = "".join(dump(row) + "\n" for row in rows).encode("utf-8", "surrogatepass")
            problem = yield WriteFile(self.path, b"\n" + data if self._torn else data, append=True)
            self._torn = problem is not None
            if problem is not None:
                self.write_error = str(problem)

    def retract(self, uuid: str) -> None:
        """Take the last row of the chain back: the next one hangs on its parent. It stays on disk."""
        row = next((r for r in reversed(self.rows) if r.get("uuid") == uuid), None)
        if row is not None and self.leaf == uuid:
            self.leaf = row.get("parentUuid")

    def chain(self) -> list[Row]:
        """The rows that count, oldest first, from the root or the last compaction on; kept rows behind its summary."""
        by_id = {r["uuid"]: (i, r) for i, r in enumerate(self.rows) if _chained(r)}
        chain: list[Row] = []
        at = self.leaf
        while at is not None and at in by_id:
            index, row = by_id[at]
            chain.append(row)
            if row.get("subtype") == "compact_boundary":
                break
            parent = row.get("parentUuid")
            if parent is not None and parent not in by_id and self.bridges:
                parent = next((r["uuid"] for r in reversed(self.rows[:index]) if _chained(r)), None)
            at = parent
        chain.reverse()
        return _with_kept(chain, by_id)

    def last(self, kind: str) -> Row | None:
        """The newest row of a type."""
        return next((r for r in reversed(self.rows) if r.get("type") == kind), None)


def _chained(row: Mapping[str, Any]) -> bool:
    return (
        row.get("type") in ("user", "assistant", "attachment", "system")
        and isinstance(row.get("uuid"), str)
        and not row.get("isSidechain")
    )


def _with_kept(chain: list[Row], by_id: Mapping[str, tuple[int, Row]]) -> list[Row]:
    if not chain or chain[0].get("subtype") != "compact_boundary":
        return chain
    kept = (chain[0].get("compactMetadata") or {}).get("preservedMessages") or {}
    rows = [by_id[u][1] for u in kept.get("uuids", ()) if u in by_id]
    at = next((i for i, r in enumerate(chain) if r.get("uuid") == kept.get("anchorUuid")), None)
    return chain if at is None else [*chain[: at + 1], *rows, *chain[at + 1 :]]


def parse(data: bytes, *, recover_glued: bool) -> list[Row]:
    """The rows of a file. Damaged lines are skipped; two objects on one line are both read with `recover_glued`."""
    rows: list[Row] = []
    for line in data.decode("utf-8", "replace").split("\n"):
        text = line.strip().strip("\0").strip()
        if not text:
            continue
        rows += _objects(text, recover_glued=recover_glued)
    return rows


def _objects(text: str, *, recover_glued: bool) -> list[Row]:
    decoder = json.JSONDecoder()
    try:
        value, end = decoder.raw_decode(text)
    except ValueError:
        return []
    found = [value] if isinstance(value, dict) else []
    rest = text[end:].strip()
    if not rest:
        return found
    return found + _objects(rest, recover_glued=True) if recover_glued else []


def load(home: str, cwd: str, id: str) -> Generator[Effect, Any, bytes | None]:
    """The bytes of a session's file, or None if there is none (an empty one is none)."""
    if not re.fullmatch(r"[0-9a-fA-F-]{36}", id):
        return None
    data = yield ReadFile(f"{folder(home, cwd)}/{id}.jsonl")
    return data or None


def newest(home: str, cwd: str) -> Generator[Effect, Any, str | None]:
    """The id of the session of this directory with the latest timestamp in it, or None."""
    base = folder(home, cwd)
    best: tuple[str, str] | None = None
    names = yield ListFiles(base)
    for name in names:
        if not name.endswith(".jsonl"):
            continue
        data = yield ReadFile(f"{base}/{name}")
        stamps = re.findall(rb'"timestamp":"([0-9TZ:.-]+)"', data or b"")
        if stamps:
            best = max(best or ("", ""), (max(stamps).decode(), name.removesuffix(".jsonl")))
    return best[1] if best else None
