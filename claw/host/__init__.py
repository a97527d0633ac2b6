"""The real ports: this machine's clock, files, processes and randomness, and the vendors' SDKs."""

from typing import Any

from claw.host.clock import LoopClock
from claw.host.files import HostFiles
from claw.host.ids import HostIds, SeededIds
from claw.host.models import HostModels
from claw.host.processes import HostProcess, HostProcesses
from claw.host.providers import SdkProviders
from claw.ports import Ports

__all__ = [
    "HostFiles",
    "HostIds",
    "HostModels",
    "HostProcess",
    "HostProcesses",
    "LoopClock",
    "SdkProviders",
    "SeededIds",
    "ports",
]


def ports(
    *, transport: Any = None, epoch: float | None = None, seed: int | str | None = None, **overrides: Any
) -> Ports:
    """Everything a runtime needs of the world.

    `transport`: stands in for the network under the SDKs; `epoch`: wall time at loop time 0, for virtual time; `seed`:
    ids and jitter that repeat; `overrides`: any port by its name in `claw.ports.Ports`.
    """
    models = overrides.get("models") or HostModels()
    made: dict[str, Any] = {
        "clock": LoopClock(epoch),
        "files": HostFiles(),
        "processes": HostProcesses(),
        "ids": HostIds() if seed is None else SeededIds(seed),
        "models": models,
        "providers": SdkProviders(transport, models=models),
    }
    return Ports(**(made | overrides))
