"""The checks of `cache_control` that look at all markers together, in the recorded order.

Recorded against the API on 2026-09-30: count, with the automatic marker, over 4; an explicit 1h after an explicit 5m;
an automatic marker whose TTL differs from that of the explicit one on the same block; an automatic 1h after an
explicit 5m. Token counting makes the same checks.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from simulators.dialects.anthropic.refusal import refuse

Ttl = Literal["5m", "1h"]
_UNMARKABLE = ("thinking", "redacted_thinking")


class Marker(msgspec.Struct, frozen=True):
    path: str  # of the block, dotted: "messages.0.content.4"
    ttl: Ttl
    block: int  # position of its block in render order


def ttl_of(control: Any) -> Ttl | None:
    """The TTL that a `cache_control` value asks for (5m unless it says so), None for no marker."""
    if not control:
        return None
    return "1h" if control.get("ttl") == "1h" else "5m"


def check_markers(body: dict[str, Any]) -> None:
    """Refuse what breaks the rules above, or a marker on an empty text block."""
    automatic = ttl_of(body.get("cache_control"))
    if automatic is None and not _mentioned(body):
        return
    explicit: list[Marker] = []
    last_cacheable = -1
    for position, (path, block) in enumerate(_blocks(body)):
        ttl = ttl_of(block.get("cache_control"))
        empty = block.get("type") == "text" and not block["text"]
        if ttl is not None:
            if empty:
                refuse(f"{path}.text: cache_control cannot be set for empty text blocks")
            if block.get("defer_loading"):
                name = block.get("name", "")
                refuse(
                    f"Tool '{name}' cannot have both defer_loading=true and cache_control set. Tools with "
                    "defer_loading cannot use prompt caching."
                )
            explicit.append(Marker(path, ttl, position))
        if not empty and block.get("type") not in _UNMARKABLE and not block.get("defer_loading"):
            last_cacheable = position
    count = len(explicit) + (automatic is not None)
    if count > 4:
        refuse(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    _check_order(explicit)
    if automatic is None:
        return
    for marker in explicit:
        if marker.block == last_cacheable and marker.ttl != automatic:
            refuse(
                f"Top-level cache_control has ttl='{automatic}' but the target block already has cache_control with "
                f"ttl='{marker.ttl}'. When both are specified on the same block, they must have matching TTLs."
            )
    if automatic == "1h" and any(marker.ttl == "5m" for marker in explicit):
        _refuse_order("cache_control")


def _check_order(explicit: list[Marker]) -> None:
    short_seen = False
    for marker in explicit:
        if marker.ttl == "1h" and short_seen:
            _refuse_order(f"{marker.path}.cache_control.ttl")
        short_seen = short_seen or marker.ttl == "5m"


def _refuse_order(path: str) -> None:
    refuse(
        f"{path}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks "
        "are processed in the following order: `tools`, `system`, `messages`."
    )


def _mentioned(body: dict[str, Any]) -> bool:
    """Whether any block carries a marker at all: most requests stop here."""
    if any("cache_control" in tool for tool in body.get("tools") or ()):
        return True
    system = body.get("system")
    if type(system) is list and any("cache_control" in block for block in system):
        return True
    for message in body["messages"]:
        content = message["content"]
        if type(content) is list:
            for block in content:
                if "cache_control" in block:
                    return True
    return False


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every block that may carry a marker, in render order, with its dotted path."""
    for index, tool in enumerate(body.get("tools") or ()):
        yield f"tools.{index}", tool
    system = body.get("system") or ()
    if type(system) is str:
        yield "system.0", {"type": "text", "text": system}
    else:
        for index, block in enumerate(system):
            yield f"system.{index}", block
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        if type(content) is str:
            yield f"messages.{number}.content.0", {"type": "text", "text": content}
        else:
            for index, block in enumerate(content):
                yield f"messages.{number}.content.{index}", block
