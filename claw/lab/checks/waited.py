"""`waited: ">= 7s"` - the time between a refused request and the next one; every such wait must satisfy it."""

from claw.lab.checks._params import compared
from claw.lab.compare import Value
from claw.lab.evidence import Evidence, Exchange, Finding, Which, join, nothing

STEP: Which = "all"
Params = Value


def look(params: Value, evidence: Evidence, step: Which) -> Finding:
    """Within a step, over requests of the same account (a second account need not wait)."""
    waits = [wait for played in evidence.select(step) for wait in _waits(played.exchanges)]
    if not waits:
        return nothing("no refused request was followed by another")
    return join([compared(f"seconds between request {first} and {second}", params, s) for first, second, s in waits])


def _waits(exchanges: list[Exchange]) -> list[tuple[int, int, float]]:
    last: dict[object, Exchange] = {}
    waits = []
    for exchange in exchanges:
        before = last.get(exchange.get("key"))
        if before is not None and before["status"] >= 400:
            waits.append((before["n"], exchange["n"], round(exchange["at"] - before["at"], 6)))
        last[exchange.get("key")] = exchange
    return waits
