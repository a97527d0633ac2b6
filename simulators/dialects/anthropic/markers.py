"""The checks of `cache_control` that look at all markers together, in the recorded order.

Recorded against the API on 2026-09-30: count, with the automatic marker, over 4; an explicit 1h after an explicit 5m;
an automatic marker whose TTL differs from that of the explicit one on the same block; an automatic 1h after an
explicit 5m. Token counting makes the same checks.
"""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from simulators.dialects.anthropic.refusal import refuse

Ttl = Literal["5m", "1h"]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A marker: the dotted path of its block (`messages.0.content.4`), its TTL, whether it is on an empty text."""

    path: str
    ttl: Ttl
    empty_text: bool = False


def ttl_of(control: Any) -> Ttl | None:
    """The TTL that a `cache_control` value asks for (5m unless it says so), None for no marker."""
    if not control:
        return None
    return "1h" if control.get("ttl") == "1h" else "5m"


def leading_marks(body: dict[str, Any]) -> tuple[list[Mark], str | None]:
    """The markers of tools and system, and the path of the last block there that one may land on."""
    marks: list[Mark] = []
    last: str | None = None
    for index, tool in enumerate(body.get("tools") or ()):
        ttl = ttl_of(tool.get("cache_control"))
        if tool.get("defer_loading"):
            if ttl is not None:
                refuse(
                    f"Tool '{tool.get('name', '')}' cannot have both defer_loading=true and cache_control set. Tools "
                    "with defer_loading cannot use prompt caching."
                )
            continue
        last = f"tools.{index}"
        if ttl is not None:
            marks.append(Mark(path=last, ttl=ttl))
    system = body.get("system") or ()
    for index, block in enumerate([{"text": system}] if type(system) is str else system):
        path = f"system.{index}"
        ttl = ttl_of(block.get("cache_control"))
        if ttl is not None:
            marks.append(Mark(path=path, ttl=ttl, empty_text=not block["text"]))
        if block["text"]:
            last = path
    return marks, last


def check_markers(explicit: Iterable[Mark], automatic: Ttl | None, last_cacheable: str | None) -> None:
    """Refuse what breaks the rules above, or a marker on an empty text block. `explicit` in render order."""
    marks = list(explicit)
    for mark in marks:
        if mark.empty_text:
            refuse(f"{mark.path}.text: cache_control cannot be set for empty text blocks")
    count = len(marks) + (automatic is not None)
    if count > 4:
        refuse(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    short_seen = False
    for mark in marks:
        if mark.ttl == "1h" and short_seen:
            _refuse_order(f"{mark.path}.cache_control.ttl")
        short_seen = short_seen or mark.ttl == "5m"
    for mark in marks:
        if automatic is not None and mark.path == last_cacheable and mark.ttl != automatic:
            refuse(
                f"Top-level cache_control has ttl='{automatic}' but the target block already has cache_control with "
                f"ttl='{mark.ttl}'. When both are specified on the same block, they must have matching TTLs."
            )
    if automatic == "1h" and short_seen:
        _refuse_order("cache_control")


def _refuse_order(path: str) -> None:
    refuse(
        f"{path}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks "
        "are processed in the following order: `tools`, `system`, `messages`."
    )
