"""A thread on disk: one JSON line for each thing that happened, and what can be told from them on resume.

`$CODEX_HOME/sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl`. Lines that cannot be read are skipped, so a file that a
kill or a full disk cut off in the middle still opens.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from simulators.cli.codex.toml_words import merged
from simulators.cli.codex.usage import NOTHING, Usage, of_record
from simulators.cli.effects import Effect, ListFiles, Now, ReadFile, WriteFile

Item = dict[str, Any]
Steps = Generator[Effect, Any, None]
PASSTHROUGH = "internal_chat_message_metadata_passthrough"
_CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


def stamp(now: float) -> str:
    """Unix seconds as a line's timestamp."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Thread:
    """A conversation. `items` is what the model is told after the base instructions; `world` what it was told of its
    surroundings, by subject; `context_tokens` the size that codex goes by when it decides to condense."""

    id: str
    path: str
    cwd: str
    base: str = ""
    base_source: dict[str, Any] = field(default_factory=dict)
    window_uuid: str = ""
    window_number: int = 0
    ordinal: int = 0
    items: list[Item] = field(default_factory=list)
    notes: list[Item] = field(default_factory=list)  # what the file says of each item
    sampled: int = 0  # the number of the last item that the model has answered to
    next_order: int = 0  # of what was said, by either side
    info: Item | None = None  # the figures last noted
    first_window: str = ""
    world: dict[str, Any] = field(default_factory=dict)
    totals: Usage = NOTHING
    spent: Usage = NOTHING  # of the whole thread, never reset
    context_tokens: int = 0
    model: str | None = None
    sequence: int = 0
    persist: bool = True
    origin: str = "new"  # or cold_resume, cold_fork
    forked_from: tuple[str, int] | None = None  # thread, ordinal
    write_error: str | None = None
    source: str = "exec"
    created: float = 0.0
    preview: str = ""
    torn: bool = False  # the file does not end with a newline

    def record(self, kind: str, payload: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> Steps:
        """Write one line."""
        now = yield Now()
        row: Item = {"timestamp": stamp(now), "ordinal": self.ordinal, "type": kind, "payload": payload}
        if metadata is not None:
            row["metadata"] = metadata
        self.ordinal += 1
        if not self.persist:
            return
        data = json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        if self.torn:
            data, self.torn = b"\n" + data, False
        problem = yield WriteFile(self.path, data, append=True)
        if problem is not None:
            self.write_error = str(problem)

    def event(self, kind: str, **payload: Any) -> Steps:
        """An `event_msg` line."""
        yield from self.record("event_msg", {"type": kind, **payload})

    def note(self, *, ordered: bool = False, attributed: bool = False, **more: Any) -> Item:
        """What the file says of the next item: its number, its place in what was said, whose it is."""
        self.sequence += 1
        said: Item = {"history_sequence": self.sequence, "sampled_through_sequence": self.sampled}
        said |= {**more, "client_authored": False}
        if ordered:
            said["user_input_order"] = self.next_order
            self.next_order += 1
        if attributed:
            said["mcp_attribution"] = {"status": "none"}
        return {**said, "model_search_state": "unused"}

    def add(self, item: Item, **note: Any) -> Steps:
        """An item of the conversation: remembered and written."""
        said = self.note(**note)
        self.items.append(item)
        self.notes.append(said)
        yield from self.record("response_item", item, said)

    def wire(self, *, tagged: bool) -> list[Item]:
        """The items as a request has them; `tagged` keeps what each says of itself. A call that was never answered
        (the process died) gets an answer."""
        found: list[Item] = []
        answered = {item.get("call_id") for item in self.items if str(item["type"]).endswith("_output")}
        for item in self.items:
            found.append(_wired(item, tagged))
            output = _CALLS.get(item["type"])
            if output and item["call_id"] not in answered:
                found.append({"type": output, "call_id": item["call_id"], "output": "aborted"})
        return found


def _wired(item: Item, tagged: bool) -> Item:
    if PASSTHROUGH not in item:
        return item
    if not tagged:
        return {k: v for k, v in item.items() if k != PASSTHROUGH}
    kept = ("turn_id", "create_time", "content_item_kinds")
    return {**item, PASSTHROUGH: {k: v for k, v in item[PASSTHROUGH].items() if k in kept}}


def begin(thread: Thread, *, originator: str, version: str, provider: str, now: float, source: str) -> Steps:
    """The first line of a file."""
    meta: Item = {"account_scoped": True, "session_id": thread.id, "id": thread.id}
    if thread.forked_from is not None:
        meta |= {"forked_from_id": thread.forked_from[0], "forked_from_ordinal_exclusive": thread.forked_from[1]}
    meta |= {
        "timestamp": stamp(now),
        "cwd": thread.cwd,
        "runtime_workspace_roots": [thread.cwd],
        "originator": originator,
        "cli_version": version,
        "source": source,
    }
    if source == "exec":
        meta["thread_source"] = "user"
    meta |= {
        "model_provider": provider,
        "base_instructions": {"text": thread.base, "provenance": thread.base_source},
        "history_mode": "paginated",
    }
    if thread.forked_from is not None:
        base, ordinal = thread.forked_from
        meta["history_base"] = {"thread_id": base, "end_ordinal_exclusive": ordinal}
        meta["multi_agent_version"] = "v1"
    meta["context_window"] = {"window_id": thread.window_uuid}
    thread.created = now
    yield from thread.record("session_meta", meta)


def path_of(home: str, thread: str, now: float) -> str:
    """Where a new thread's file goes."""
    at = datetime.fromtimestamp(now, UTC)
    return f"{home}/sessions/{at:%Y/%m/%d}/rollout-{at:%Y-%m-%dT%H-%M-%S}-{thread}.jsonl"


def all_paths(home: str) -> Generator[Effect, Any, list[str]]:
    """Every thread's file, oldest first."""
    folders = [f"{home}/sessions"]
    for _ in range(3):
        deeper = []
        for folder in folders:
            names = yield ListFiles(folder)
            deeper += [f"{folder}/{name}" for name in names]
        folders = deeper
    found = []
    for folder in folders:
        names = yield ListFiles(folder)
        found += [f"{folder}/{name}" for name in names if name.startswith("rollout-") and name.endswith(".jsonl")]
    return sorted(found, key=lambda path: path.rpartition("/")[2])


def find(home: str, thread: str) -> Generator[Effect, Any, str | None]:
    """The file of a thread, None if there is none."""
    paths = yield from all_paths(home)
    return next((path for path in paths if path.endswith(f"-{thread}.jsonl")), None)


def newest(home: str, cwd: str | None) -> Generator[Effect, Any, str | None]:
    """The file that was written to last, of the threads of a folder (None: of any)."""
    paths = yield from all_paths(home)
    best: tuple[str, str] | None = None
    for path in paths:
        rows = yield from read_rows(path)
        if rows and (cwd is None or rows[0]["payload"].get("cwd") == cwd):
            best = max(best or ("", ""), (str(rows[-1].get("timestamp", "")), path))
    return best[1] if best else None


def read_rows(path: str) -> Generator[Effect, Any, list[Item]]:
    """The readable lines of a file, [] if there is none or its first line is not a thread's."""
    data = yield ReadFile(path)
    rows = []
    for line in (data or b"").split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("payload"), dict):
            rows.append(row)
    return rows if rows and rows[0].get("type") == "session_meta" else []


def load(path: str, home: str) -> Generator[Effect, Any, Thread | None]:
    """Read a thread; None where the file holds none."""
    rows = yield from read_rows(path)
    if not rows:
        return None
    data = yield ReadFile(path)
    meta = rows[0]["payload"]
    thread = Thread(str(meta["id"]), path, str(meta.get("cwd", "")), origin="cold_resume")
    thread.torn = bool(data) and not data.endswith(b"\n")
    thread.base = str((meta.get("base_instructions") or {}).get("text", ""))
    thread.base_source = dict((meta.get("base_instructions") or {}).get("provenance") or {})
    thread.window_uuid = thread.first_window = str((meta.get("context_window") or {}).get("window_id", ""))
    if meta.get("history_base"):
        yield from _inherit(thread, home, meta["history_base"])
    _replay(thread, rows[1:])
    thread.ordinal = max(int(row.get("ordinal", 0)) for row in rows) + 1
    return thread


def _inherit(thread: Thread, home: str, base: Mapping[str, Any]) -> Steps:
    """A fork begins with what the other thread held when it was forked."""
    path = yield from find(home, str(base["thread_id"]))
    if path is None:
        return
    rows = yield from read_rows(path)
    if rows and rows[0]["payload"].get("history_base"):
        yield from _inherit(thread, home, rows[0]["payload"]["history_base"])
    end = int(base.get("end_ordinal_exclusive", 0))
    _replay(thread, [row for row in rows[1:] if int(row.get("ordinal", 0)) < end])


def _replay(thread: Thread, rows: Sequence[Item]) -> None:
    for row in rows:
        kind, payload = row.get("type"), row["payload"]
        if kind == "response_item" and not (row.get("metadata") or {}).get("compaction_output"):
            thread.items.append(payload)
            _noted(thread, [row.get("metadata") or {}])
        elif kind == "compacted":
            thread.items = list(payload.get("replacement_history") or [])
            thread.notes = []
            _noted(thread, payload.get("replacement_history_metadata") or [])
            thread.window_number += 1
            thread.window_uuid = payload.get("window_id") or thread.window_uuid
        elif kind == "world_state":
            state = payload.get("state") or {}
            thread.world = state if payload.get("full") else merged(thread.world, state)
        elif kind == "turn_context":
            thread.model = payload.get("model")
        elif kind == "token_usage_record":
            thread.spent = of_record(payload.get("thread_token_usage") or {})
        elif kind == "event_msg":
            _replay_event(thread, payload)


def _noted(thread: Thread, notes: Sequence[Item]) -> None:
    for note in notes:
        thread.notes.append(note)
        thread.sequence = max(thread.sequence, int(note.get("history_sequence", 0)))
        thread.sampled = max(thread.sampled, int(note.get("sampled_through_sequence", 0)))
        thread.next_order = max(thread.next_order, int(note.get("user_input_order", -1)) + 1)


def _replay_event(thread: Thread, payload: Mapping[str, Any]) -> None:
    if payload.get("type") == "token_count" and payload.get("info"):
        thread.info = payload["info"]
        thread.totals = of_record(payload["info"]["total_token_usage"])
        thread.context_tokens = of_record(payload["info"]["last_token_usage"]).total
    elif payload.get("type") == "item_completed":
        item = payload.get("item") or {}
        if item.get("type") == "UserMessage" and not thread.preview:
            thread.preview = "".join(str(part.get("text", "")) for part in item.get("content") or [])
