"""The list of models and single models, as `models.list` and `models.get` answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simulators.core.models import ANY
from simulators.core.turn import ModelInfo
from simulators.dialects.gemini.gates import gates
from simulators.dialects.gemini.refusal import refuse

_PAGE, _MOST = 50, 1000
_METHODS = ["generateContent", "countTokens", "createCachedContent", "batchGenerateContent"]


class Page(msgspec.Struct, frozen=True):
    """What part of a list is asked for."""

    size: int = _PAGE
    start: int = 0


def read_page(query: Sequence[tuple[str, str]]) -> Page:
    """`pageSize` and `pageToken` of a query, which may be written in snake_case."""
    given = dict(query)
    size = given.get("pageSize", given.get("page_size", ""))
    token = given.get("pageToken", given.get("page_token", ""))
    if token and not token.isdecimal():
        refuse("Page token is invalid.")
    try:
        number = int(size or 0)
    except ValueError:
        refuse(f"Invalid value at 'page_size' (TYPE_INT32), \"{size}\"")
    if number < 0:
        refuse("page_size must not be negative.")
    return Page(min(number, _MOST) or _PAGE, int(token or 0))


def paged(page: Page, name: str, items: Sequence[Any]) -> dict[str, Any]:
    """One page of a list; an empty one says nothing."""
    shown = items[page.start : page.start + page.size]
    found: dict[str, Any] = {name: shown} if shown else {}
    if page.start + page.size < len(items):
        found["nextPageToken"] = str(page.start + page.size)
    return found


def served(info: ModelInfo) -> bool:
    """Whether this vendor has the model."""
    return info.provider in ("gemini", ANY)


def listed(models: Mapping[str, ModelInfo]) -> list[dict[str, Any]]:
    """All models of this vendor."""
    return [describe(models[name]) for name in models if served(models[name])]


def describe(info: ModelInfo) -> dict[str, Any]:
    """One model as the API shows it."""
    can = gates(info)
    shown: dict[str, Any] = {
        "name": f"models/{info.id}",
        "version": ".".join(str(part) for part in can.version),
        "displayName": info.id.replace("-", " ").title(),
        "inputTokenLimit": info.context_window,
        "outputTokenLimit": info.max_output,
        "supportedGenerationMethods": _METHODS,
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxTemperature": 2,
    }
    if can.budget is not None:
        shown["thinking"] = True
    return shown
