"""Plumbing of these tests: ask the dialect, and read what it refuses."""

from typing import Any

import msgspec

from simulators.core.models import catalogue
from simulators.core.turn import ModelCall, Refused, Stamp
from simulators.core.wire import Request
from simulators.dialects.anthropic import DIALECT

STAMP = Stamp(
    request_id="CurECQsEwi33Z1nKmxwMTm",
    message_id="8pSWtUBRqhT2h2RyoM5YFi",
    now=1_767_225_600.0,
    tool_ids=("o3xJ9RiNQjxCXC1Hsspc8E", "p3xJ9RiNQjxCXC1Hsspc8E"),
    organization="9d64558d-d4a4-441a-a150-3156b22289c1",
)
OLD, NEW = "2023-06-01", "2026-10-21"
EPHEMERAL: dict[str, Any] = {"type": "ephemeral"}
HOUR: dict[str, Any] = {"type": "ephemeral", "ttl": "1h"}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(call_id: str, name: str = "read", given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {}}


def result(call_id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "input_schema": {"type": "object"}, **more}


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A small right request with these changes; a field given as None is left out."""
    whole = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": list(messages) or [user("hi")], **fields}
    return {name: value for name, value in whole.items() if value is not None}


def request(
    given: dict[str, Any] | bytes, *, path: str = "/v1/messages", version: str = OLD, **headers: str
) -> Request:
    sent = {"x-api-key": "sk-test", "anthropic-version": version} | {n.replace("_", "-"): v for n, v in headers.items()}
    raw = given if isinstance(given, bytes) else msgspec.json.encode(given)
    return Request(method="POST", path=path, headers=tuple(sent.items()), body=raw)


def parse(asked: Request) -> ModelCall:
    operation = DIALECT.route(asked)
    assert operation is not None
    return DIALECT.parse(asked, operation, catalogue())


def accepted(*messages: dict[str, Any], version: str = OLD, **fields: Any) -> ModelCall:
    """The call that a request becomes."""
    return parse(request(body(*messages, **fields), version=version))


def refused(*messages: dict[str, Any], version: str = OLD, **fields: Any) -> str:
    """The message of the 400 (or `404 …`) that a request gets, "accepted" if it gets none."""
    return refusal_of(request(body(*messages, **fields), version=version))


def refusal_of(asked: Request) -> str:
    try:
        parse(asked)
    except Refused as refusal:
        status, _, raw = DIALECT.encode_failure(refusal.failure, STAMP)
        error = msgspec.json.decode(raw)["error"]
        return error["message"] if status == 400 else f"{status} {error['type']}: {error['message']}"
    return "accepted"
