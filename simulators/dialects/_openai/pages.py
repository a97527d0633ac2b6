"""Lists as the API pages them: `after`, `limit`, `order`."""

from collections.abc import Mapping, Sequence
from typing import Any


def page(items: Sequence[Mapping[str, Any]], query: Mapping[str, str], *, newest_first: bool = False) -> dict[str, Any]:
    """`{"object": "list", "data", "first_id", "last_id", "has_more"}` of items in the order in which they came."""
    order = query.get("order") or ("desc" if newest_first else "asc")
    ordered = list(reversed(items)) if order == "desc" else list(items)
    after = query.get("after")
    if after is not None:
        at = next((at for at, item in enumerate(ordered) if item.get("id") == after), -1)
        ordered = ordered[at + 1 :]
    text = query.get("limit", "20")
    limit = max(1, min(100, int(text))) if text.isdecimal() else 20
    shown = ordered[:limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(ordered) > limit,
    }
