"""Makes transcript rows."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from simulators.cli.claude.models import Model
from simulators.cli.claude.session import Row
from simulators.cli.claude.texts import prose, reminder
from simulators.cli.claude.versions import Version


def stamp(now: float) -> str:
    """Unix seconds as the CLI writes times."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(now * 1000) % 1000:03d}Z"


def envelope(version: Version, *, session: str, cwd: str) -> Row:
    """What every chained row carries."""
    made: Row = {"userType": "external", "cwd": cwd, "sessionId": session, "version": version.name, "gitBranch": ""}
    if version.rich_events:
        made = {"userType": "external", "entrypoint": "sdk-cli", **made, "gitBranch": "HEAD"}
    return made


def chained(kind: str, *, parent: str | None, uuid: str, now: float, **body: Any) -> Row:
    """A row of the chain."""
    return {"parentUuid": parent, "isSidechain": False, "type": kind, **body, "uuid": uuid, "timestamp": stamp(now)}


def environment_text(cwd: str) -> str:
    """What the conversation is told of its surroundings; grows with the path, as the real one does."""
    return f"Working directory: {cwd}\n{prose('environment', 745)}"


def announcements(
    version: Version, *, model: Model, cwd: str, bridged: Sequence[str] = ()
) -> Sequence[tuple[str, Row, str]]:
    """(kind, attachment, rendered text) of what a conversation is told when it begins or was compacted."""
    names = list(version.deferred_tools)
    host = {"workingDirectory": cwd, "isGitRepo": False, "platform": "linux", "shell": "bash"}
    identity = {"modelId": model.id, "marketingName": model.title}
    runs_on = f"This conversation runs on {model.title} ({model.id}). {prose('model', 70)}"
    inline = model.form == "inline"  # these are told a little more
    deferred = prose("deferred tools", (405 if inline else 366) - sum(len(n) + 1 for n in names))
    deferred += "\n" + "\n".join([*names, *bridged])
    agents = prose("agents", 1843 if inline else 1636)
    return (
        ("environment", {"snapshot": host}, environment_text(cwd)),
        ("model", {"identity": identity}, runs_on),
        ("deferred_tools_delta", {"addedNames": [*names, *bridged], "removedNames": []}, deferred),
        ("agent_listing_delta", {"addedTypes": ["general-purpose"], "isInitial": True}, agents),
        ("skill_listing", {"skillCount": 13, "isInitial": True}, prose("skills", 6275)),
    )


def attachment(kind: str, body: Row, text: str | None, role: str = "system") -> Row:
    """The body of an attachment row: what it is, and how it is shown to the model (if it is)."""
    made: Row = {"attachment": {"type": kind, **body}}
    if text is not None:
        made["rendered"] = [{"content": reminder(text)}]
        made["renderedRole"] = role
    return made


REMOTE_NOTE = prose("remote session", 542)
