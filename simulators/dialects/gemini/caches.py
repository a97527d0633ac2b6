"""`cachedContents`: prompts that the customer has the service keep, for a price by the hour.

Documented: bound to one model, kept for `ttl` (an hour unless said) or until `expireTime`, of which only these can be
changed later; what a request sends is appended to what is kept. Storage costs 1 USD a million tokens and hour (4.50 for
Pro models; the provider's price page), booked ahead for the whole lifetime; making one costs its tokens as input.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from simulators.core.ids import identifier
from simulators.core.store import Desk
from simulators.core.turn import ModelCall, ModelInfo
from simulators.dialects.gemini.catalogue import Page, paged
from simulators.dialects.gemini.gates import gates
from simulators.dialects.gemini.notes import Notes
from simulators.dialects.gemini.refusal import refuse, refuse_field
from simulators.dialects.gemini.render import declared_tools, last_words, render, text_of

SHELF = "cachedContents"
_HOUR = 3600.0
_GONE = "CachedContent not found (or permission denied)"
_DURATION = re.compile(r"(-?\d+(?:\.\d{1,9})?)s\Z")
_STORAGE_USD = {"pro": 4.5, "": 1.0}  # a million tokens and hour
_MUTABLE = frozenset({"ttl", "expireTime", "expire_time"})
_MOVED = ("systemInstruction", "tools", "toolConfig")


class Cached(msgspec.Struct, frozen=True, kw_only=True):
    """One cached content: `body` has the contents, instructions and tools; times in Unix seconds."""

    name: str
    model: str
    display_name: str | None
    body: Mapping[str, Any]
    tokens: int
    created: float
    updated: float
    expires: float


def check_creation(body: Mapping[str, Any]) -> None:
    """What does not depend on what is kept."""
    if not body.get("model"):
        refuse_field("model", "model is not specified", message="CreateCachedContentRequest.cached_content")
    contents = body.get("contents") or ()
    if contents and contents[-1].get("role") == "model":
        refuse("Cached content must not end with a model turn.")


def create(call: ModelCall, desk: Desk) -> dict[str, Any]:
    """Keep a new one. `call` has its blocks."""
    notes: Notes = call.private
    body, info = notes.body, notes.model
    tokens = sum(desk.count(call.blocks, info))
    if tokens < info.min_cacheable_tokens:
        refuse(
            f"Cached content is too small. total_token_count={tokens}, "
            f"min_total_token_count={info.min_cacheable_tokens}"
        )
    if tokens > info.context_window:
        refuse("", kind="context_overflow", tokens=tokens, limit=info.context_window)
    made = Cached(
        name=f"{SHELF}/{identifier(0, 0, desk.stamp.message_id, 40).lower()}",
        model=f"models/{info.id}",
        display_name=body.get("displayName"),
        body={name: body[name] for name in ("contents", *_MOVED) if name in body},
        tokens=tokens,
        created=desk.now,
        updated=desk.now,
        expires=_expiry(body, desk.now) or desk.now + _HOUR,
    )
    desk.store.put(SHELF, made.name, made, expires=made.expires)
    desk.charge(tokens * info.input / 1e6 + _storage(info, tokens, made.expires - desk.now))
    return shown(made)


def change(name: str, body: Mapping[str, Any], mask: str, info: Mapping[str, ModelInfo], desk: Desk) -> dict[str, Any]:
    """Another lifetime for one that is kept."""
    old = find(name, desk)
    fields = [field for field in mask.split(",") if field] or [name for name in body if name not in ("name", "model")]
    if wrong := next((field for field in fields if field.rpartition(".")[2] not in _MUTABLE), None):
        refuse(f"Only the expiration of a CachedContent can be updated, not `{wrong}`.")
    expires = _expiry(body, desk.now)
    if expires is None:
        refuse_field(
            "cached_content.expiration", "ttl or expire_time must be set", message="UpdateCachedContentRequest"
        )
    new = msgspec.structs.replace(old, expires=expires, updated=desk.now)
    desk.store.put(SHELF, name, new, expires=expires)
    model = info.get(old.model.removeprefix("models/"))
    if model is not None and expires > old.expires:
        desk.charge(_storage(model, old.tokens, expires - old.expires))
    return shown(new)


def find(name: str, desk: Desk) -> Cached:
    """The one of a name. Refuses what is not there, or not any more."""
    found = desk.store.get(SHELF, name, desk.now)
    if not isinstance(found, Cached):
        refuse(_GONE, kind="session_expired")
    return found


def remove(name: str, desk: Desk) -> dict[str, Any]:
    """Keep it no longer."""
    find(name, desk)
    desk.store.drop(SHELF, name, desk.now)
    return {}


def listing(page: Page, desk: Desk) -> dict[str, Any]:
    """All that are kept, the latest first."""
    kept = [shown(cached) for _, cached in desk.store.items(SHELF, desk.now)]
    return paged(page, "cachedContents", kept[::-1])


def shown(cached: Cached) -> dict[str, Any]:
    """One as the API shows it: without what is in it."""
    return {
        "name": cached.name,
        "model": cached.model,
        "createTime": timestamp(cached.created),
        "updateTime": timestamp(cached.updated),
        "expireTime": timestamp(cached.expires),
        "displayName": cached.display_name or "",
        "usageMetadata": {"totalTokenCount": cached.tokens},
    }


def unfold(call: ModelCall, desk: Desk) -> ModelCall:
    """A call that names a cached content, with that before what it sends itself."""
    notes: Notes = call.private
    name = notes.body.get("cachedContent")
    if not name:
        return call
    cached = find(name, desk)
    if cached.model != f"models/{notes.model.id}":
        refuse(
            f"Model used by GenerateContent request (models/{notes.model.id}) and CachedContent ({cached.model}) has "
            "to be the same."
        )
    if any(notes.body.get(field) for field in _MOVED):
        refuse(
            "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
            "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."
        )
    can = gates(notes.model)
    kept = render(cached.body, can)
    contents = [*(cached.body.get("contents") or ()), *(notes.body.get("contents") or ())]
    whole = render({**cached.body, "contents": contents}, can)
    tools = cached.body.get("tools") or ()
    last_user, results = last_words(contents)
    return msgspec.structs.replace(
        call,
        blocks=whole.blocks,
        held=len(kept.blocks),
        system=text_of(cached.body.get("systemInstruction")),
        tools=declared_tools(tools),
        last_user=last_user,
        tool_results=results,
        private=msgspec.structs.replace(
            notes, media=whole.media, cached_media=kept.media, functions=bool(declared_tools(tools))
        ),
    )


def _expiry(body: Mapping[str, Any], now: float) -> float | None:
    """Until when: `ttl` from now, or `expireTime`; None if neither is said."""
    ttl, until = body.get("ttl"), body.get("expireTime")
    if ttl and until:
        refuse("Invalid value at 'cached_content' (oneof), oneof field 'expiration' is already set. Cannot set 'ttl'")
    if ttl:
        found = _DURATION.match(ttl)
        if found is None:
            refuse(
                "Invalid value at 'cached_content.ttl' (type.googleapis.com/google.protobuf.Duration), Field 'ttl', "
                f"Illegal duration format; duration must end with 's': {msgspec.json.encode(ttl).decode()}"
            )
        seconds = float(found[1])
        if seconds <= 0:
            refuse("CachedContent ttl must be positive.")
        return now + seconds
    if not until:
        return None
    try:
        at = datetime.fromisoformat(until)
        expires = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        refuse(
            "Invalid value at 'cached_content.expire_time' (type.googleapis.com/google.protobuf.Timestamp), Field "
            f"'expireTime', Invalid time format: {msgspec.json.encode(until).decode()}"
        )
    if expires <= now:
        refuse("CachedContent expire_time must be in the future.")
    return expires


def _storage(info: ModelInfo, tokens: int, seconds: float) -> float:
    """USD for keeping so many tokens so long; models without a price (`sim-…`) store for nothing."""
    if not info.input:
        return 0.0
    price = float(info.features.get("cache_storage", _STORAGE_USD["pro" if "-pro" in info.id else ""]))
    return tokens * price / 1e6 * seconds / _HOUR


def timestamp(at: float) -> str:
    """A Unix time as `2026-01-01T00:00:07.250000Z`."""
    micro = round((at - math.floor(at)) * 1e6)
    whole = datetime.fromtimestamp(math.floor(at) + micro // 1_000_000, UTC).replace(tzinfo=None)
    return f"{whole.isoformat()}.{micro % 1_000_000:06d}Z"
