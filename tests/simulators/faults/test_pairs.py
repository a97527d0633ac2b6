"""Faults combine: any two of them on one call give an answer that a client can end, and a consistent account."""

from typing import Any

import pytest

from simulators import Simulator
from simulators.core.wire import Abort, Chunk, Head, Wait
from simulators.shells.virtual_time import VirtualClock
from tests.simulators.dialects.anthropic.asking import body, request, user
from tests.simulators.faults.trouble import FAULTS

NAMES = sorted(FAULTS)
TURN = {"text": "one two three four", "tool_calls": [{"name": "read", "input": {"path": "notes.md"}}]}


def struck(*faults: dict[str, Any], stream: bool, on: Simulator | None = None) -> tuple[list[Any], Simulator]:
    """The events of one call with these faults on the account, up to a break or an endless wait."""
    simulator = on or Simulator(seed=7, clock=VirtualClock())
    simulator.account("sk-test").load({"turns": [TURN] * 3, "unused": "allow", "faults": list(faults)})
    answer = simulator.handle(request(body(user("hi"), stream=stream)))
    events = []
    for event in answer:
        events.append(event)
        if isinstance(event, Wait) and event.seconds == float("inf"):
            break  # hangs until the client leaves
        if isinstance(event, Abort):
            break
    answer.close(0, "client_gone")
    return events, simulator


@pytest.mark.parametrize("stream", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["stream", "body"])
@pytest.mark.parametrize("one", NAMES)
def test_any_two_faults_on_one_call(one: str, stream: bool) -> None:
    simulator = Simulator(seed=7, clock=VirtualClock())
    for other in NAMES[NAMES.index(one) :]:
        events, _ = struck({"kind": one}, {"kind": other}, stream=stream, on=simulator)
        place = f"{one} + {other}"
        assert events, place
        assert all(isinstance(event, Head | Chunk | Wait | Abort) for event in events), place
        assert sum(isinstance(event, Head) and event.status >= 200 for event in events) <= 1, place
        (exchange,) = simulator.account("sk-test").journal.exchanges
        assert exchange.faults and set(exchange.faults) <= {one, other}, place
        assert exchange.ended is not None, place
        assert simulator.account("sk-test").state(0)["limits"]["concurrency"]["open"] == 0, place


def test_both_of_a_pair_act_on_an_answer() -> None:
    events, simulator = struck({"kind": "usage_zero"}, {"kind": "comments"}, stream=True)
    sent = b"".join(event.data for event in events if isinstance(event, Chunk))
    assert b'"output_tokens":0' in sent and sent.startswith(b":")
    assert simulator.account("sk-test").journal.exchanges[0].faults == ["usage_zero", "comments"]


@pytest.mark.parametrize(
    ("on", "acts"),
    [
        ({"model": "claude-sonnet-*"}, True),
        ({"model": "claude-opus-*"}, False),
        ({"path": "/v1/messages"}, True),
        ({"path": "/v1/responses*"}, False),
        ({"model": "claude-sonnet-*", "call": 2}, False),
        ({"probability": 0.0}, False),
        ({"probability": 1.0, "path": "/v1/*"}, True),
    ],
)
def test_the_calls_that_a_fault_is_meant_for(on: dict[str, Any], acts: bool) -> None:
    _, simulator = struck({"kind": "overloaded", "on": on}, stream=False)
    assert simulator.account("sk-test").journal.exchanges[0].status == (529 if acts else 200)


def test_chance_is_the_seeds() -> None:
    def statuses() -> list[int | None]:
        simulator = Simulator(seed=11, clock=VirtualClock())
        account = simulator.account("sk-test")
        account.load({"responder": "echo", "faults": [{"kind": "overloaded", "on": {"probability": 0.5}}]})
        for _ in range(30):
            answer = simulator.handle(request(body(user("hi"))))
            list(answer)
            answer.close(0, "complete")
        return [exchange.status for exchange in account.journal.exchanges]

    assert statuses() == statuses()
    assert 5 < statuses().count(529) < 25
