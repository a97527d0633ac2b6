"""Conversations: made, shown, changed, removed, and their items. Responses append to them what came in and went out."""

from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

from simulators.core.store import Desk, Served
from simulators.core.turn import Failure, Refused
from simulators.core.wire import Chunk
from simulators.dialects._openai.ids import hexadecimal
from simulators.dialects._openai.pages import page
from simulators.dialects._openai.refusal import refuse
from simulators.dialects.openai_responses.notes import Asked, Item
from simulators.dialects.openai_responses.shape import item as check_item

_SHELF = "conversations"
_PATH = "/v1/conversations"


class Conversation(msgspec.Struct, kw_only=True):
    id: str
    created_at: int
    metadata: dict[str, Any]
    items: list[Item]

    def shown(self) -> dict[str, Any]:
        return {"id": self.id, "object": "conversation", "created_at": self.created_at, "metadata": self.metadata}


def items_of(name: str, desk: Desk) -> list[Item]:
    """Everything that a conversation holds, oldest first."""
    return list(_find(name, desk).items)


def append(name: str, items: Sequence[Item], desk: Desk) -> None:
    """More items at the end, if the conversation still exists."""
    found = desk.store.get(_SHELF, name, desk.now)
    if found is not None:
        found.items += items


def serve(asked: Asked, desk: Desk) -> Served:
    """Answer one request."""
    name, _, rest = asked.path.rstrip("/").removeprefix(_PATH).strip("/").partition("/")
    body = _body(asked)
    if not name:
        if asked.method != "POST":
            _not_allowed(asked)
        made = Conversation(
            id=f"conv_{hexadecimal(desk.stamp, 'conversation')}",
            created_at=int(desk.now),
            metadata=body.get("metadata") or {},
            items=_new_items(body, desk),
        )
        desk.store.put(_SHELF, made.id, made)
        return _json(made.shown())
    found = _find(name, desk)
    if rest.startswith("items"):
        return _json(_items(found, rest.removeprefix("items").strip("/"), asked, body, desk))
    if rest:
        raise Refused(Failure(kind="not_found", details={"method": asked.method, "path": asked.path}))
    if asked.method == "DELETE":
        desk.store.drop(_SHELF, name, desk.now)
        return _json({"id": name, "object": "conversation.deleted", "deleted": True})
    if asked.method == "POST":
        found.metadata = body.get("metadata") or {}
    elif asked.method != "GET":
        _not_allowed(asked)
    return _json(found.shown())


def _items(found: Conversation, name: str, asked: Asked, body: dict[str, Any], desk: Desk) -> Any:
    if not name:
        if asked.method == "POST":
            new = _new_items(body, desk)
            found.items += new
            return page(new, {"limit": "100"})
        if asked.method == "GET":
            return page(found.items, dict(asked.query), newest_first=True)
        _not_allowed(asked)
    item = next((item for item in found.items if item.get("id") == name), None)
    if item is None:
        refuse(f"Item with id '{name}' not found.", kind="not_found")
    if asked.method == "GET":
        return item
    if asked.method != "DELETE":
        _not_allowed(asked)
    found.items.remove(item)
    return found.shown()


def _new_items(body: dict[str, Any], desk: Desk) -> list[Item]:
    made = []
    for at, given in enumerate(body.get("items") or ()):
        check_item(given, f"items[{at}]")
        kind = given.get("type") or "message"
        content = given.get("content")
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        item = {"id": f"msg_{hexadecimal(desk.stamp, f'item:{at}')}", "type": kind, **given}
        if kind == "message":
            item |= {"content": parts, "status": given.get("status") or "completed"}
        made.append(item)
    return made


def _find(name: str, desk: Desk) -> Conversation:
    found = desk.store.get(_SHELF, name, desk.now)
    if not isinstance(found, Conversation):
        refuse(f"Conversation with id '{name}' not found.", kind="not_found", param="conversation")
    return found


def _body(asked: Asked) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(asked.body) if asked.body else {}
    except msgspec.DecodeError:
        found = {}
    return found if isinstance(found, dict) else {}


def _not_allowed(asked: Asked) -> NoReturn:
    raise Refused(Failure(kind="method_not_allowed", details={"method": asked.method, "path": asked.path}))


def _json(value: Any) -> Served:
    return Served(chunks=(Chunk(msgspec.json.encode(value)),))
