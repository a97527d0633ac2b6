"""Every fault through every door: the same bytes, the same error for the client, the same entry in the journal."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import httpx2
import pytest
import respx

from simulators import Simulator
from simulators.shells.http import Listener
from simulators.shells.serving import RealClock, ServedOnThread
from simulators.shells.virtual_time import VirtualClock, run
from tests.simulators.faults.trouble import FAULTS

PATIENCE = 60.0  # seconds of the simulator's clock that a client waits for the next bytes
RATE = 120.0  # how much faster that clock is behind the socket
FRAMING = ("transfer-encoding", "connection", "content-length")  # the socket's own, and what no client sees alike
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
URL = "http://provider/v1/messages"

Outcome = dict[str, Any]
Ask = Callable[[Simulator, dict[str, Any]], Outcome]


def simulator(kind: str, clock: Any) -> Simulator:
    turn = "{thinking: hm, text: one two three four five six, tool_calls: [{name: read, input: {path: a.md}}]}"
    return Simulator(
        clock=clock, seed=5, script=f"tokenizer: words\nturns: [{turn}]\nunused: allow\nfaults: [{{kind: {kind}}}]"
    )


def body(stream: bool) -> dict[str, Any]:
    tool = {"name": "read", "input_schema": {"type": "object"}}
    messages = [{"role": "user", "content": "a b c"}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 90, "stream": stream, "messages": messages, "tools": [tool]}


def told(outcome: Outcome, response: Any) -> None:
    outcome["status"] = response.status_code
    outcome["headers"] = sorted((k, v) for k, v in response.headers.multi_items() if k not in FRAMING)


def sync(client: Any, asked: dict[str, Any], url: str = URL) -> Outcome:
    """Status, headers, every byte of the body, and the error at last if there was one."""
    outcome: Outcome = {"status": None, "headers": None, "body": b"", "error": None}
    try:
        with client, client.stream("POST", url, json=asked, headers=HEADERS) as response:
            told(outcome, response)
            for piece in response.iter_raw():
                outcome["body"] += piece
    except (httpx.TransportError, httpx2.TransportError) as error:
        outcome["error"] = type(error).__name__
    return outcome


async def in_loop(client: Any, asked: dict[str, Any]) -> Outcome:
    outcome: Outcome = {"status": None, "headers": None, "body": b"", "error": None}
    try:
        async with client, client.stream("POST", URL, json=asked, headers=HEADERS) as response:
            told(outcome, response)
            async for piece in response.aiter_raw():
                outcome["body"] += piece
    except (httpx.TransportError, httpx2.TransportError) as error:
        outcome["error"] = type(error).__name__
    return outcome


def through_respx(sim: Simulator, asked: dict[str, Any]) -> Outcome:
    with respx.mock(assert_all_called=False) as router:
        sim.respx(router)
        return sync(httpx.Client(timeout=PATIENCE), asked)


DOORS: dict[str, Ask] = {
    "httpx2": lambda sim, asked: sync(httpx2.Client(transport=sim.transport(), timeout=PATIENCE), asked),
    "httpx2 async": lambda sim, asked: run(
        in_loop(httpx2.AsyncClient(transport=sim.transport(), timeout=PATIENCE), asked)
    ),
    "httpx": lambda sim, asked: sync(httpx.Client(transport=sim.transport_httpx(), timeout=PATIENCE), asked),
    "httpx async": lambda sim, asked: run(
        in_loop(httpx.AsyncClient(transport=sim.transport_httpx(), timeout=PATIENCE), asked)
    ),
    "respx": through_respx,
}


def entry(sim: Simulator) -> dict[str, Any]:
    """What the journal and the account say of it, once they can; nothing is left open."""
    account = sim.account("k")
    until = time.monotonic() + 5
    while account.journal.exchanges[-1].ended is None and time.monotonic() < until:
        time.sleep(0.001)  # a server hears of a client's leaving a moment later
    (told,) = account.journal.to_dict()["exchanges"]
    state = account.state(0.0)
    assert state["limits"]["concurrency"]["open"] == 0
    assert told.pop("at") > 0
    told.pop("frames")  # how far an answer was made when its client left is the door's affair
    return {**told, "script": state["script"], "totals": state["totals"]}


def in_process(door: str, kind: str, stream: bool) -> tuple[Outcome, dict[str, Any]]:
    sim = simulator(kind, VirtualClock())
    return DOORS[door](sim, body(stream)), entry(sim)


@pytest.fixture(scope="module")
def reference() -> Callable[[str, bool], tuple[Outcome, dict[str, Any]]]:
    known: dict[tuple[str, bool], tuple[Outcome, dict[str, Any]]] = {}

    def of(kind: str, stream: bool) -> tuple[Outcome, dict[str, Any]]:
        if (kind, stream) not in known:
            known[kind, stream] = in_process("httpx2", kind, stream)
        return known[kind, stream]

    return of


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("door", [name for name in DOORS if name != "httpx2"])
@pytest.mark.parametrize("kind", FAULTS)
def test_in_process_doors_agree(kind: str, door: str, stream: bool, reference: Any) -> None:
    assert in_process(door, kind, stream) == reference(kind, stream)


@pytest.fixture(scope="module")
def socket_door() -> Iterator[Callable[[str, bool], tuple[Outcome, dict[str, Any]]]]:
    def through(kind: str, stream: bool) -> tuple[Outcome, dict[str, Any]]:
        sim = simulator(kind, RealClock(rate=RATE))
        with ServedOnThread(Listener(sim.app())) as served:
            client = httpx2.Client(timeout=PATIENCE / RATE, trust_env=False)
            return sync(client, body(stream), f"{served.url}/v1/messages"), entry(sim)

    yield through


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("kind", FAULTS)
def test_the_socket_agrees_with_them(kind: str, stream: bool, reference: Any, socket_door: Any) -> None:
    expected, seen = reference(kind, stream), socket_door(kind, stream)
    clock = ("anthropic-ratelimit", "date", "retry-after")  # say what time it is
    for outcome, _ in (expected, seen):
        if outcome["headers"] is not None:
            outcome["headers"] = [pair for pair in outcome["headers"] if not pair[0].startswith(clock[0])]
    assert seen == expected


ALL = """
from hashlib import sha256
from tests.simulators.faults.test_doors import FAULTS, in_process
seen = [in_process("httpx2", kind, stream) for kind in sorted(FAULTS) for stream in (True, False)]
print(len(seen), sha256(repr(seen).encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    command = [sys.executable, "-c", ALL]
    said = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(said) == 1
    assert said.pop().startswith(f"{2 * len(FAULTS)} ")
