"""What the account keeps of its responses: put by, found again, shown, cancelled, removed."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.store import Desk, Served
from simulators.core.turn import Failure, ModelCall, ModelTurn, Refused, Tokens
from simulators.core.wire import Chunk
from simulators.dialects._openai.ids import hexadecimal
from simulators.dialects._openai.pages import page
from simulators.dialects._openai.refusal import refuse
from simulators.dialects.openai_responses import conversations, response
from simulators.dialects.openai_responses.notes import Asked, Item, Kept, Notes

SHELF = "responses"
LINKS = "responses.links"  # id of an item → id of the reasoning that it was made with
LOST = "responses.lost"  # ids of items that were not stored
_LIFETIME = 30 * 86_400.0
_PATH = "/v1/responses"


def put_by(call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk, *, takes: float, events: bytes) -> None:
    """Keep a response, unless the request says otherwise; on a WebSocket it lives as long as the connection at least.

    `takes` is how long a background response works, `events` what it streams.
    """
    notes: Notes = call.private
    made = response.finished(call, turn, tokens, desk.stamp)
    output: list[Item] = made["output"]
    stored = call.body.get("store") is not False
    _link(output, desk, stored=stored)
    background = bool(call.body.get("background"))
    kept = Kept(
        response=made,
        new=[_named(item, desk, at) for at, item in enumerate(notes.new)],
        items=[*notes.items, *output],
        seen={
            "model": call.model,
            "key": call.cache.key if call.cache else None,
            "depends": dict(call.cache.depends) if call.cache else {},
            "digests": [block.digest for block in call.blocks],
            "levels": [block.level for block in call.blocks],
            "compacted": any(item.get("type") == "compaction" for item in notes.items),
            "reusable": tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h or _automatic(call, tokens),
        },
        ready_at=desk.now + takes if background else 0.0,
        stream=events if background else b"",
    )
    if stored or background:
        desk.store.put(SHELF, made["id"], kept, expires=desk.now + _LIFETIME)
    elif notes.connection is not None:
        desk.store.put(f"{SHELF}@{notes.connection}", made["id"], kept, expires=desk.now + _LIFETIME)
    if notes.conversation is not None:
        conversations.append(notes.conversation, [*kept.new, *output], desk)


def _automatic(call: ModelCall, tokens: Tokens) -> int:
    if call.cache is None or call.cache.regime != "automatic" or tokens.prompt < call.cache.minimum:
        return 0
    return tokens.prompt - tokens.prompt % call.cache.step


def _link(output: Sequence[Item], desk: Desk, *, stored: bool) -> None:
    """Remember which reasoning each item was made with."""
    reasoning = next((item["id"] for item in output if item["type"] == "reasoning"), None)
    for item in output:
        if not stored:
            desk.store.put(LOST, item["id"], True, expires=desk.now + _LIFETIME)
        if reasoning is not None and item["type"] in ("function_call", "custom_tool_call", "message"):
            desk.store.put(LINKS, item["id"], reasoning, expires=desk.now + _LIFETIME)


def _named(item: Item, desk: Desk, at: int) -> Item:
    """An item of the input as lists show it: with an id, a message with parts."""
    kind = item.get("type") or "message"
    prefix = {"message": "msg", "function_call": "fc", "function_call_output": "fco"}.get(kind, "it")
    made = {"id": item.get("id") or f"{prefix}_{hexadecimal(desk.stamp, f'input:{at}')}", "type": kind, **item}
    if kind == "message" and isinstance(item.get("content"), str):
        part = "output_text" if item.get("role") == "assistant" else "input_text"
        made["content"] = [{"type": part, "text": item["content"]}]
        if part == "output_text":
            made["content"][0]["annotations"] = []
    if kind in ("message", "function_call", "function_call_output"):
        made.setdefault("status", "completed")
    return made


def find(name: str, notes: Notes, desk: Desk) -> Kept | None:
    """The response of that name, stored or of the same connection."""
    found = desk.store.get(SHELF, name, desk.now)
    if found is None and notes.connection is not None:
        found = desk.store.get(f"{SHELF}@{notes.connection}", name, desk.now)
    return found if isinstance(found, Kept) else None


def previous(name: str, notes: Notes, desk: Desk) -> Kept:
    """The response that a request goes on from; refused if it is unknown or unfinished."""
    found = find(name, notes, desk)
    if found is None:
        refuse("", kind="session_expired", param="previous_response_id", code="previous_response_not_found", id=name)
    return found


def referred(item: Item, desk: Desk) -> Item:
    """The item that a reference names; refused if nothing of it was kept."""
    name = str(item.get("id"))
    for _, kept in desk.store.items(SHELF, desk.now):
        for known in kept.items:
            if known.get("id") == name:
                return dict(known)
        for known in kept.new:
            if known.get("id") == name:
                return dict(known)
    _lost(name)
    raise AssertionError


def _lost(name: str) -> None:
    refuse(
        f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input.",
        kind="not_found",
        param="input",
    )


def check_lost(items: Sequence[Item], desk: Desk) -> None:
    """Reasoning that was not stored must bring its encrypted content."""
    for item in items:
        name = str(item.get("id"))
        if (
            item.get("type") == "reasoning"
            and not item.get("encrypted_content")
            and desk.store.get(LOST, name, desk.now)
        ):
            _lost(name)


def compare(call: ModelCall, name: str, desk: Desk) -> dict[str, Any]:
    """What changed since a response that the request wants to be compared with: {type, reason, reusable}."""
    kept = find(name, call.private, desk)
    if kept is None:
        return {"type": "comparison_response_not_found"}
    seen = kept.seen
    ask = call.cache
    reason = None
    now = dict(ask.depends) if ask else {}
    digests = [block.digest for block in call.blocks]
    place = next(
        (at for at, pair in enumerate(zip(seen["digests"], digests, strict=False)) if pair[0] != pair[1]), None
    )
    if seen["model"] != call.model:
        reason = "model_changed"
    elif seen["key"] != (ask.key if ask else None):
        reason = "prompt_cache_key_changed"
    elif _tools(seen["digests"], seen["levels"]) != _tools(digests, [block.level for block in call.blocks]):
        reason = "tools_changed"
    else:
        for setting in ("text_format", "reasoning_effort", "verbosity", "service_tier"):
            if seen["depends"].get(setting) != now.get(setting):
                reason = f"{setting}_changed"
                break
    if reason is None and (place is not None or len(digests) < len(seen["digests"])):
        compacted = any(item.get("type") == "compaction" for item in call.private.items)
        reason = "context_compacted" if compacted and not seen["compacted"] else "input_changed"
    return {"type": "compared", "reason": reason, "reusable": seen["reusable"]}


def _tools(digests: Sequence[bytes], levels: Sequence[str]) -> list[bytes]:
    return [one for one, level in zip(digests, levels, strict=False) if level == "tools"]


def serve(asked: Asked, desk: Desk) -> Served:
    """Answer a request about one kept response."""
    name, _, verb = asked.path.rstrip("/").removeprefix(f"{_PATH}/").partition("/")
    kept = desk.store.get(SHELF, name, desk.now)
    if not isinstance(kept, Kept):
        refuse(f"Response with id '{name}' not found.", kind="not_found")
    key = (asked.method, verb)
    if key == ("GET", ""):
        return _show(kept, dict(asked.query), desk.now)
    if key == ("GET", "input_items"):
        return _json(page(kept.new, dict(asked.query), newest_first=True))
    if key == ("DELETE", ""):
        desk.store.drop(SHELF, name, desk.now)
        return _json({"id": name, "object": "response", "deleted": True})
    if key == ("POST", "cancel"):
        return _cancel(kept, desk.now)
    kind = "method_not_allowed" if verb in ("", "input_items", "cancel") else "not_found"
    raise Refused(Failure(kind=kind, details={"method": asked.method, "path": asked.path}))


def state_of(kept: Kept, now: float) -> Mapping[str, Any]:
    """The response as it stands at `now`: a background one is not ready at once."""
    if kept.cancelled or now < kept.ready_at:
        status = "cancelled" if kept.cancelled else "in_progress"
        return {**kept.response, "status": status, "output": [], "usage": None, "completed_at": None}
    if kept.ready_at and kept.response.get("completed_at"):
        return {**kept.response, "completed_at": int(kept.ready_at)}
    return kept.response


def _show(kept: Kept, query: Mapping[str, str], now: float) -> Served:
    if query.get("stream") != "true":
        return _json({"billing": {"payer": "developer"}, **state_of(kept, now)})
    if not kept.stream:
        refuse(
            "This response cannot be streamed because it was not created with both 'background' and 'stream' enabled."
        )
    after = query.get("starting_after", "")
    first = int(after) + 1 if after.isdecimal() else 0
    events = kept.stream.split(b"\n\n")[:-1]
    return Served(chunks=[_event(event) for event in events[first:]], stream=True)


def _event(data: bytes) -> Chunk:
    name = data.partition(b"\n")[0].removeprefix(b"event: ").decode()
    return Chunk(data + b"\n\n", name)


def _cancel(kept: Kept, now: float) -> Served:
    if not kept.response["background"]:
        refuse("Cannot cancel a synchronous response.")
    kept.cancelled = kept.cancelled or now < kept.ready_at  # what is finished is shown as it is
    return _json(state_of(kept, now))


def _json(value: Any) -> Served:
    return Served(chunks=(Chunk(msgspec.json.encode(value)),))
