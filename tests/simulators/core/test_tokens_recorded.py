"""Real usage judges the token counts: what Anthropic counted in recorded requests, and what we count.

`python -m pytest tests/simulators/core/test_tokens_recorded.py -s` prints the table of docs/tokens.md.
"""

import json
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from simulators.core.models import catalogue
from simulators.core.tokens import Counter, family
from simulators.core.turn import Refused
from simulators.core.wire import Request
from simulators.dialects.anthropic import DIALECT
from simulators.shells import vocabulary
from tests.gates.markdown import ROOT, table
from tests.simulators.dialects.anthropic.test_recorded import FOLDER, recordings

MEDIA = ('"image"', '"document"')
WHOLE_TURN = ("thinking", "output_config", "output_format", "context_management", "mcp_servers", "container")


def content(body: Mapping[str, Any]) -> str:
    """What kind of prompt it is: the estimate is good for some and poor for others."""
    tools = body.get("tools") or []
    if any(tool.get("type", "custom") != "custom" or tool.get("defer_loading") for tool in tools):
        return "tools that the provider runs or holds back"
    if any(mark in json.dumps(body["messages"]) for mark in MEDIA):
        return "images and documents"
    if any(body.get(key) for key in WHOLE_TURN) or (body.get("tool_choice") or {}).get("type", "auto") != "auto":
        return "thinking, structured output, a forced tool"
    return "text and tools" if tools else "text"


def counted() -> Iterator[tuple[str, str, int, int]]:
    """(family, kind of content, what we count, what Anthropic counted) of every recorded request that has a figure."""
    counter, models = Counter("default", vocabulary.count), catalogue()
    for _, exchange in recordings():
        asked, said = exchange["request"], _said(exchange)
        target = urlsplit(asked["uri"])
        request = Request(
            method=asked["method"],
            path=target.path,
            query=tuple(parse_qsl(target.query)),
            body=json.dumps(asked.get("parsed_body")).encode(),
        )
        operation = DIALECT.route(request)
        if not said or operation is None:
            continue
        try:
            call = DIALECT.parse(request, operation, models)
        except Refused:
            continue
        model = models[call.model]
        yield family("anthropic", model.id), content(call.body), sum(counter.prompt(call.blocks, model)), said


def _said(exchange: Mapping[str, Any]) -> int | None:
    """The whole prompt: the three disjoint figures of usage, or the answer of count_tokens."""
    body = exchange["response"].get("parsed_body") or {}
    usage = body.get("usage")
    if not usage:
        return body.get("input_tokens") if exchange["response"]["status"]["code"] == 200 else None
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


def rows() -> list[list[str]]:
    """The table: family, content, requests, median error, requests within a tenth."""
    errors: dict[tuple[str, str], list[float]] = {}
    for name, kind, got, said in counted():
        errors.setdefault((name, kind), []).append(abs(got - said) / said)
    return [
        [name, kind, str(len(found)), f"{median(found):.0%}", f"{sum(error <= 0.1 for error in found)}"]
        for (name, kind), found in sorted(errors.items())
    ]


def test_the_figures_of_the_page_are_those_of_recorded_requests() -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): the figures were not measured")
    made = rows()
    print("".join(f"\n| {' | '.join(row)} |" for row in made))
    assert table((ROOT / "docs" / "tokens.md").read_text(), "How near it is") == made
