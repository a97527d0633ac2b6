"""`request: {n, …}` - one request: the n-th of the selected steps, from 1 (of `kind`, when said)."""

from claw.lab.checks._request import Conditions, outcomes
from claw.lab.evidence import Evidence, Finding, Which, found, join, nothing

STEP: Which = "all"


class Params(Conditions, frozen=True):
    n: int = 1

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"`n` counts requests from 1, not {self.n}")
        super().__post_init__()

    def given(self) -> list[str]:
        return [name for name in super().given() if name != "n"]


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """All conditions must hold for that request."""
    calls = evidence.calls(step, params.wanted("all"))
    if len(calls) < params.n:
        return nothing(f"there are {len(calls)} requests, and none is number {params.n}")
    exchange = calls[params.n - 1]
    return join([found(ok, f"request {exchange.get('n')}: {saw}") for ok, saw in outcomes(params, exchange)])
