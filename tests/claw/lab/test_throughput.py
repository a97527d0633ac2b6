"""The benchmark of speed: both servers answer, figures are ratios, and a server that fails is told."""

import asyncio
import json

import msgspec
import pytest

from claw.core.errors import ClawError
from claw.lab import throughput
from claw.lab.load import Load, press
from simulators import Simulator
from simulators.shells.serving import RealClock, ServedOnThread


@pytest.mark.slow
def test_both_servers_are_measured_in_both_modes_and_at_a_pace() -> None:
    found = throughput.run(rounds=1, seconds=0.4, streams=20, clients=(1, 4))
    assert [(rate.mode, rate.clients) for rate in found.results] == [
        ("plain", 1),
        ("plain", 4),
        ("stream", 1),
        ("stream", 4),
    ]
    assert all(rate.requests_per_s > 50 and rate.bare_requests_per_s > 50 and rate.ratio > 0 for rate in found.results)
    assert found.requests > 100
    pace = found.slow_streams
    assert pace is not None
    assert min(pace.p99_ms, pace.bare_p99_ms) >= pace.asked_ms * 0.9
    decoded = msgspec.json.decode(throughput.to_json(found))
    assert set(decoded) == {"results", "slow_streams", "memory_mib", "requests"}
    assert len(list(throughput.table(found))) == 7


@pytest.mark.slow
def test_errors_under_load_are_no_throughput() -> None:
    body = json.dumps({"model": "sim-a", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}).encode()
    simulator = Simulator(clock=RealClock(), script="otherwise: repeat\nturns: [{error: {kind: overloaded}}]")
    with ServedOnThread(simulator.app()) as served:
        load = asyncio.run(press(served.url, body, clients=2, seconds=0.5, warmup=0.5))
        assert load.failed > 0
        with pytest.raises(ClawError, match="failed under load"):
            throughput._press(served.url, "plain", clients=1, seconds=0.5)


def test_the_gap_that_most_keep() -> None:
    load = Load(requests=10, failed=0, seconds=2.0, gaps=tuple(n / 100 for n in range(100)))
    assert (load.per_s, load.gap(0.99), load.gap(0.5)) == (5.0, 0.99, 0.5)
    assert Load(requests=0, failed=0, seconds=1.0).gap(0.99) == 0.0


def test_a_server_that_does_not_start_is_told() -> None:
    with (
        pytest.raises(ClawError, match=r"did not start: .*nothing of the sort"),
        throughput._serving("-c", "raise SystemExit('nothing of the sort')"),
    ):
        pass
