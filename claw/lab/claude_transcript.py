"""A transcript of Claude Code for a conversation that took place before: rows as the CLI writes and reads them."""

from collections.abc import Callable, Sequence

from claw.ports import Ids
from simulators.cli.claude.rows import chained, envelope
from simulators.cli.claude.session import Row, dump, folder
from simulators.cli.claude.versions import DEFAULT, VERSIONS
from simulators.shells.virtual_time import EPOCH


def transcript(
    turns: Sequence[tuple[str, str]],
    *,
    session: str,
    home: str,
    cwd: str,
    version: str | None,
    model: str,
    count: Callable[[str], int],
    ids: Ids,
) -> tuple[str, bytes]:
    """(path, bytes) of the session's file. Each answer carries the usage of a call whose prompt was all before it."""
    release = VERSIONS[version or DEFAULT]
    common = envelope(release, session=session, cwd=cwd)
    rows: list[Row] = []
    parent: str | None = None
    tokens = 0

    def add(kind: str, **body: object) -> None:
        nonlocal parent
        row = chained(kind, parent=parent, uuid=ids.session(), now=EPOCH, **common, **body)
        rows.append(row)
        parent = row["uuid"]

    for n, (asked, told) in enumerate(turns):
        add("user", message={"role": "user", "content": asked})
        tokens += count(asked)
        usage = {
            "input_tokens": tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": count(told),
        }
        message = {
            "id": f"msg_before{n:04d}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": told}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        add("assistant", message=message)
        tokens += count(told)
    return f"{folder(home, cwd)}/{session}.jsonl", "".join(dump(row) + "\n" for row in rows).encode()
