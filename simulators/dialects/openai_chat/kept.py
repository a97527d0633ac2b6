"""Completions that the account keeps (`store: true`): show one, list, change its metadata, remove it, its messages."""

from collections.abc import Callable
from typing import Any

import msgspec

from simulators.core.store import Desk, Served
from simulators.core.turn import Failure, ModelCall, ModelTurn, Refused, Tokens
from simulators.core.wire import Chunk
from simulators.dialects._openai.pages import page
from simulators.dialects._openai.refusal import refuse
from simulators.dialects.openai_chat import encode

_SHELF = "chat.completions"
_PATH = "/v1/chat/completions"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request about something stored."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


def keep(call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk) -> None:
    """Put a completion by, if the request says so."""
    if not call.body.get("store"):
        return
    made = encode.completion(call, turn, tokens, desk.stamp)
    body = call.body
    made |= {"metadata": body.get("metadata") or {}, "request_id": desk.stamp.request_id}
    for name in ("tools", "tool_choice", "temperature", "top_p", "seed", "response_format"):
        made[name] = body.get(name)
    messages = [{"id": f"{made['id']}-{at}", **message} for at, message in enumerate(body["messages"])]
    desk.store.put(_SHELF, made["id"], {"completion": made, "messages": messages})


def serve(asked: Asked, desk: Desk) -> Served:
    """Answer one request."""
    rest = asked.path.rstrip("/").removeprefix(_PATH).strip("/").split("/")
    name = rest[0]
    if not name:
        if asked.method != "GET":
            raise Refused(Failure(kind="method_not_allowed", details={"method": asked.method, "path": asked.path}))
        every = [kept["completion"] for _, kept in desk.store.items(_SHELF, desk.now)]
        wanted = dict(asked.query)
        if "model" in wanted:
            every = [made for made in every if made["model"] == wanted["model"]]
        return _json(page(every, wanted))
    kept = desk.store.get(_SHELF, name, desk.now)
    if kept is None:
        refuse(f"Chat completion with id '{name}' not found.", kind="not_found")
    if len(rest) > 1:
        if rest[1] != "messages" or asked.method != "GET":
            raise Refused(Failure(kind="not_found", details={"method": asked.method, "path": asked.path}))
        return _json(page(kept["messages"], dict(asked.query)))
    verbs: dict[str, Callable[[], Any]] = {
        "GET": lambda: kept["completion"],
        "POST": lambda: _change(kept["completion"], asked.body),
        "DELETE": lambda: _remove(name, desk),
    }
    if asked.method not in verbs:
        raise Refused(Failure(kind="method_not_allowed", details={"method": asked.method, "path": asked.path}))
    return _json(verbs[asked.method]())


def _change(made: dict[str, Any], body: bytes) -> dict[str, Any]:
    try:
        given = msgspec.json.decode(body or b"{}")
    except msgspec.DecodeError:
        given = {}
    if isinstance(given, dict) and isinstance(given.get("metadata"), dict):
        made["metadata"] = given["metadata"]
    return made


def _remove(name: str, desk: Desk) -> dict[str, Any]:
    desk.store.drop(_SHELF, name, desk.now)
    return {"object": "chat.completion.deleted", "id": name, "deleted": True}


def _json(value: Any) -> Served:
    return Served(chunks=(Chunk(msgspec.json.encode(value)),))
