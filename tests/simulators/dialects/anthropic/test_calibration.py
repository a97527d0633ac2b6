"""Counting against what the provider counted: text-only requests, tools and system prompt included.

The sum of the three input counters is compared, by family of tokenizer. The two halves of the recordings (by file name)
are judged apart as well: a fit to single files would show there. Figures: docs/tokens.md.
"""

from collections.abc import Iterator
from hashlib import blake2b
from statistics import median
from typing import Any

import pytest

from simulators.core.models import catalogue
from simulators.core.tokens import Counter, family
from simulators.dialects.anthropic import DIALECT
from simulators.shells.simulator import parts
from tests.simulators.dialects.anthropic.test_recorded import FOLDER, Real, asked, recordings

TEXT = {"text", "tool_use", "tool_result", "thinking", "redacted_thinking"}
MEDIAN, NINTH = 0.08, 0.20  # errors that are allowed


def text_only(body: dict[str, Any]) -> bool:
    """Nothing but text and tools of the client's own."""
    if body.get("mcp_servers") or any(tool.get("type") not in (None, "custom") for tool in body.get("tools") or ()):
        return False
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            inner = block.get("content")
            if block["type"] not in TEXT or (isinstance(inner, list) and any(part["type"] != "text" for part in inner)):
                return False
    return True


def counted() -> Iterator[tuple[str, str, float]]:
    """(file, family, relative error) of every text-only request."""
    counter = Counter("default", parts().count_default)
    for name, exchange in recordings():
        real, body = Real(exchange), exchange["request"].get("parsed_body")
        if real.status != 200 or not body or "messages" not in body or not text_only(body):
            continue
        usage = real.events[0][1]["message"]["usage"] if real.events else real.body.get("usage", real.body)
        true = sum(
            usage.get(key, 0) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        request = asked(exchange)
        operation = DIALECT.route(request)
        assert operation is not None
        call = DIALECT.parse(request, operation, catalogue())
        model = catalogue()[call.model]
        ours = sum(counter.prompt(call.blocks, model))
        yield name.partition("[")[0], family(model.provider, model.id), abs(ours - true) / true


def ninth(errors: list[float]) -> float:
    """The 90th percentile, of few values the one next above it."""
    return sorted(errors)[-(-9 * len(errors) // 10) - 1]


def half(file: str) -> int:
    return blake2b(file.encode(), digest_size=1).digest()[0] % 2


def test_counts_are_those_of_the_provider(capsys: pytest.CaptureFixture[str]) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"recordings of real answers are not here ({FOLDER}): nothing was measured")
    errors: dict[str, list[float]] = {}
    halves: dict[int, list[float]] = {}
    for file, name, error in counted():
        errors.setdefault(name, []).append(error)
        halves.setdefault(half(file), []).append(error)
    lines = [
        f"{name}: {len(found)} requests, median {median(found):.1%}, 90th percentile {ninth(found):.1%}"
        for name, found in sorted(errors.items())
    ]
    with capsys.disabled():
        print(f" [{'; '.join(lines)}]", end="")
    assert set(errors) == {"claude-4", "claude-4.7"}
    for found in errors.values():
        assert len(found) > 10
        assert median(found) <= MEDIAN
        assert ninth(found) <= NINTH
    for found in halves.values():
        assert len(found) > 10
        assert median(found) <= MEDIAN
