"""`GET /v1/models` and `/v1/models/{id}`: models with their capabilities, page by page."""

from collections.abc import Mapping
from typing import Any

import msgspec

from simulators.core.turn import ModelInfo
from simulators.dialects.anthropic.gates import Gates, family, gates
from simulators.dialects.anthropic.refusal import refuse

_encode = msgspec.json.Encoder().encode


class Page(msgspec.Struct, frozen=True):
    """What a list request asks for."""

    limit: int = 20
    after_id: str | None = None
    before_id: str | None = None


def read_page(query: tuple[tuple[str, str], ...]) -> Page:
    """The page that a query string asks for (1 to 1,000 models, 20 unless it says so)."""
    said = dict(query)
    try:
        limit = int(said.get("limit", "20"))
    except ValueError:
        refuse("limit: Input should be a valid integer, unable to parse string as an integer")
    if not 1 <= limit <= 1000:
        bound = "greater than or equal to 1" if limit < 1 else "less than or equal to 1000"
        refuse(f"limit: Input should be {bound}")
    return Page(limit, said.get("after_id"), said.get("before_id"))


def encode_list(models: Mapping[str, ModelInfo], page: Page) -> bytes:
    """One page of the models that this vendor serves."""
    ids = [name for name, info in models.items() if served(info)]
    more = False
    if page.before_id in ids:
        ids = ids[: ids.index(page.before_id)]
        more, ids = len(ids) > page.limit, ids[-page.limit :]
    else:
        if page.after_id in ids:
            ids = ids[ids.index(page.after_id) + 1 :]
        more, ids = len(ids) > page.limit, ids[: page.limit]
    data = [describe(models[name]) for name in ids]
    return _encode(
        {
            "data": data,
            "has_more": more,
            "first_id": data[0]["id"] if data else None,
            "last_id": data[-1]["id"] if data else None,
        }
    )


def served(info: ModelInfo) -> bool:
    """Whether this vendor answers for a model: its own, and those that an account made up."""
    return info.provider in ("anthropic", "sim")


def describe(info: ModelInfo) -> dict[str, Any]:
    """A model as the API describes it. An unknown release date is the epoch, as its documentation allows."""
    known = family(info.id)
    stamp = info.id.rpartition("-")[2]
    dated = len(stamp) == 8 and stamp.isdigit()
    retires = info.features.get("shutdown")
    return {
        "type": "model",
        "id": info.id,
        "display_name": _display_name(info.id),
        "created_at": f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:]}T00:00:00Z" if dated else "1970-01-01T00:00:00Z",
        "lifecycle": "deprecated" if retires else "active",
        "deprecated_at": None,
        "retires_at": f"{retires}T00:00:00Z" if retires else None,
        "line": known[0] if known else None,
        "max_input_tokens": info.context_window,
        "max_tokens": info.max_output,
        "capabilities": _capabilities(gates(info)),
    }


def _display_name(model: str) -> str:
    known = family(model)
    if known is None:
        return model
    line, (major, minor) = known
    return f"Claude {line.capitalize()} {major}.{minor}" if minor else f"Claude {line.capitalize()} {major}"


def _capabilities(can: Gates) -> dict[str, Any]:
    def said(supported: bool) -> dict[str, bool]:
        return {"supported": supported}

    yes = said(True)
    efforts = {name: said(name in can.efforts) for name in ("low", "medium", "high", "xhigh", "max")}
    return {
        "batch": yes,
        "citations": yes,
        "code_execution": yes,
        "context_management": {
            "supported": True,
            "clear_thinking_20251015": yes,
            "clear_tool_uses_20250919": yes,
            "compact_20260112": said(can.adaptive_thinking),
        },
        "effort": {"supported": bool(can.efforts), **efforts},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": True, "code_execution": yes, "web_search": yes},
        "structured_outputs": yes,
        "thinking": {
            "supported": can.manual_thinking or can.adaptive_thinking,
            "types": {
                "adaptive": said(can.adaptive_thinking),
                "between_tools": said(can.adaptive_thinking),
                "disabled": said(can.thinking_off),
                "enabled": said(can.manual_thinking),
            },
        },
    }
