"""What a turn costs: of a conversation whose beginning was seen only the end is read and counted; memory has bounds."""

import gc
import time
import tracemalloc

import msgspec
import pytest

from simulators import Simulator
from simulators.core.journal import MAX_EXCHANGES
from simulators.core.wire import Request
from simulators.shells.virtual_time import VirtualClock

HEADERS = (("x-api-key", "k"), ("anthropic-version", "2023-06-01"))
SCRIPT = (
    "turns: [{text: one two three}]\notherwise: repeat\nunused: allow\n"
    "models: {claude-sonnet-4-5: {context_window: 2000000}}\n"
)


def conversation(turns: int, size: int) -> list[dict[str, object]]:
    """Messages of `size` characters each, none like another, the last one marked for the cache."""
    messages: list[dict[str, object]] = []
    for n in range(turns):
        block: dict[str, object] = {"type": "text", "text": f"{n} " + "lorem ipsum dolor " * (size // 18)}
        if n == turns - 1:
            block["cache_control"] = {"type": "ephemeral"}
        messages.append({"role": ("user", "assistant")[n % 2], "content": [block]})
    return messages


def ask(sim: Simulator, messages: list[dict[str, object]], **fields: object) -> None:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages, **fields}
    request = Request(method="POST", path="/v1/messages", headers=HEADERS, body=msgspec.json.encode(body))
    answer = sim.handle(request)
    for _ in answer:
        pass
    answer.close(sim.now(), "complete")


def test_a_turn_counts_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of 201 messages, then two more: two are counted, whatever tokenizer counts them."""
    sim = Simulator(clock=VirtualClock(), script=SCRIPT)
    counter = sim.engine._counter("default")
    counted: list[str] = []
    monkeypatch.setattr(counter, "_vocabulary", lambda text: counted.append(text) or len(text) // 4)  # type: ignore[func-returns-value]
    ask(sim, conversation(201, 5000))
    assert len(counted) >= 201
    counted.clear()
    ask(sim, conversation(203, 5000))
    assert sum(text[:1].isdigit() for text in counted) == 2
    exchange = sim.account("k").journal.exchanges[-1]
    assert exchange.tokens is not None
    assert exchange.tokens.cache_read > 200_000


@pytest.mark.slow
def test_a_turn_of_a_megabyte_costs_at_most_ten_milliseconds() -> None:
    """Of CPU, the best of some: everything from the bytes of the request to those of the answer."""
    sim = Simulator(clock=VirtualClock(), script="tokenizer: chars4\n" + SCRIPT)
    ask(sim, conversation(201, 5000))
    bodies = [conversation(201 + 2 * n, 5000) for n in range(1, 12)]
    spent = []
    for messages in bodies:
        body = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages}
        request = Request(method="POST", path="/v1/messages", headers=HEADERS, body=msgspec.json.encode(body))
        began = time.process_time()
        answer = sim.handle(request)
        list(answer)
        answer.close(sim.now(), "complete")
        spent.append(time.process_time() - began)
    assert {e.status for e in sim.account("k").journal.exchanges} == {200}
    print(f"{min(spent) * 1000:.1f} ms of CPU at best, {sorted(spent)[len(spent) // 2] * 1000:.1f} in the middle")
    assert min(spent) < 0.010


@pytest.mark.slow
def test_memory_has_bounds() -> None:
    """Twenty thousand requests, none like another: what the second half leaves is what journal and cache may keep."""
    sim = Simulator(clock=VirtualClock(), script="tokenizer: chars4\n" + SCRIPT)

    def press(first: int, count: int) -> None:
        for n in range(first, first + count):
            ask(sim, [{"role": "user", "content": f"request {n} " + "x" * 200}], stream=n % 2 == 0)
            if n % 100 == 0:
                sim.advance(60)

    press(0, 10_000)
    gc.collect()
    tracemalloc.start()
    try:
        press(10_000, 10_000)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(sim.account("k").journal) == MAX_EXCHANGES
    print(f"{grown / 2**20:.1f} MiB held of what the second ten thousand made")
    assert grown < 40 * 2**20
