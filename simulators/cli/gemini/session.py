"""A conversation on disk: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`, lines of messages and `$set`s.

A resumed session begins anew in the same file: its head, what was said so far as one `$set`, then the new lines.
Lines that cannot be read are passed over.
"""

import json
import re
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from simulators.cli.effects import Effect, ListFiles, Now, ReadFile, WriteFile

Steps = Generator[Effect, Any, Any]
Message = dict[str, Any]


def stamp(now: float) -> str:
    """Unix seconds as a line's timestamp."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Session:
    """`messages` are what was said, as the file has it; `id` is a UUID."""

    id: str
    path: str
    cwd: str
    messages: list[Message] = field(default_factory=list)
    resumed: bool = False
    write_error: str | None = None

    def begin(self, context: Message) -> Steps:
        """The head of a run."""
        now = yield Now()
        at = stamp(now)
        digest = sha256(self.cwd.encode()).hexdigest()
        head = {"sessionId": self.id, "projectHash": digest, "startTime": at, "lastUpdated": at, "kind": "main"}
        yield from self._line(head)
        yield from self._line({"$set": {"messages": [context], "lastUpdated": at}})
        if self.resumed:
            yield from self._line({"$set": {"sessionId": self.id}})
            yield from self._line({"$set": {"messages": [context, *self.messages], "lastUpdated": at}})

    def add(self, message: Message) -> Steps:
        """Something that was said; a line with the same id stands for what it became."""
        known = next((i for i, old in enumerate(self.messages) if old["id"] == message["id"]), None)
        if known is None:
            self.messages.append(message)
        else:
            self.messages[known] = message
        yield from self._line(message)
        if "toolCalls" not in message:
            yield from self._line({"$set": {"lastUpdated": message["timestamp"]}})

    def _line(self, row: Message) -> Steps:
        data = json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        problem = yield WriteFile(self.path, data, append=True)
        if problem is not None:
            self.write_error = str(problem)


def project(home: str, cwd: str) -> Generator[Effect, Any, str]:
    """The short name of a folder, kept in projects.json; made when it is first used."""
    path = f"{home}/.gemini/projects.json"
    data = yield ReadFile(path)
    try:
        known = dict(json.loads(data or b"{}").get("projects") or {})
    except (ValueError, AttributeError):
        known = {}
    if cwd in known:
        return str(known[cwd])
    base = re.sub(r"[^a-z0-9]+", "-", cwd.rpartition("/")[2].lower()).strip("-") or "project"
    name, number = base, 0
    while name in known.values():
        number += 1
        name = f"{base}-{number}"
    known[cwd] = name
    yield WriteFile(path, json.dumps({"projects": known}, indent=2).encode())
    return name


def folder(home: str, name: str) -> str:
    """Where a project's sessions are."""
    return f"{home}/.gemini/tmp/{name}/chats"


def new_path(folder: str, id: str, now: float) -> str:
    """Where a new session goes."""
    return f"{folder}/session-{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H-%M}-{id[:8]}.jsonl"


def all_sessions(folder: str, cwd: str) -> Generator[Effect, Any, list[Session]]:
    """Every session of a project in which something was said, oldest first."""
    names = yield ListFiles(folder)
    found = []
    for name in names:
        if name.startswith("session-") and name.endswith(".jsonl"):
            session = yield from load(f"{folder}/{name}", cwd)
            if session is not None and session.messages:
                found.append(session)
    return found


def load(path: str, cwd: str) -> Generator[Effect, Any, Session | None]:
    """Read a session; None where the file holds none."""
    data = yield ReadFile(path)
    session: Session | None = None
    for line in (data or b"").split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        if "sessionId" in row:
            session = session or Session(str(row["sessionId"]), path, cwd, resumed=True)
        elif session is None:
            continue
        elif "$set" in row:
            messages = row["$set"].get("messages")
            if messages and len(messages) > 1:
                session.messages = list(messages[1:])
        elif "id" in row and "type" in row:
            known = next((i for i, old in enumerate(session.messages) if old["id"] == row["id"]), None)
            if known is None:
                session.messages.append(row)
            else:
                session.messages[known] = row
    return session


def contents(messages: list[Message]) -> list[Message]:
    """What was said as the API takes it; neighbours of one role are one content."""
    found: list[Message] = []
    for message in messages:
        role = "user" if message["type"] == "user" else "model"
        said = message.get("content") or []
        parts = [{"text": said}] if isinstance(said, str) and said else list(said) if isinstance(said, list) else []
        for index, call in enumerate(message.get("toolCalls") or []):
            id = str(call["id"]).removeprefix(f"{call['name']}__")
            part: Message = {"functionCall": {"id": id, "args": call["args"], "name": call["name"]}}
            if index == 0:
                part["thoughtSignature"] = call.get("thoughtSignature") or "skip_thought_signature_validator"
            parts.append(part)
        if not parts:
            continue
        if found and found[-1]["role"] == role:
            found[-1]["parts"] = [*found[-1]["parts"], *parts]
        else:
            found.append({"parts": parts, "role": role})
    return found
