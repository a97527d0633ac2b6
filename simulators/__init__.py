"""Simulated model providers and CLI fakes. Never imports `claw`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulators.shells.simulator import Simulator

__all__ = ["Simulator"]


def __getattr__(name: str) -> Any:
    """`Simulator` is imported when it is first asked for."""
    if name != "Simulator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from simulators.shells.simulator import Simulator

    return Simulator
