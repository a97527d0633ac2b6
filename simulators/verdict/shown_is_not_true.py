"""What the client shows its user - context size, cost - is not what was spent. Needs the client's report."""

from collections.abc import Mapping
from typing import Any

from simulators.verdict._reading import Journal, Seen, Verdict

COUNTERS = ("input", "cache_read", "cache_write_5m", "cache_write_1h")
COST_SLACK = 0.01  # of the cost: figures are rounded for display


def look(journal: Journal) -> Verdict:
    report = journal.report or {}
    usage = report.get("usage")
    shown = usage.get("context_tokens") if isinstance(usage, Mapping) else None
    cost = report.get("cost_usd")
    answered = [call for call in journal.main if call.answered and call.raw.get("tokens")]
    if (shown is None and cost is None) or not answered:
        return "not_checked", (), "the client reports no figures" if answered else "no request was answered"
    last = answered[-1]
    if shown is not None and shown != (true := _prompt(last)):
        return (
            "bad",
            (last.n,),
            f"the context is shown as {shown:,} tokens; request {last.n}, the last one, has {true:,}",
        )
    spent = sum(call.raw.get("cost_usd") or 0.0 for call in journal.calls)
    if isinstance(cost, int | float) and abs(cost - spent) > COST_SLACK * max(spent, 0.0001):
        return (
            "bad",
            [call.n for call in journal.calls],
            f"the cost is shown as ${cost:.6f}; the requests cost ${spent:.6f}",
        )
    return "ok", (last.n,), "the figures shown are the true ones"


def _prompt(call: Seen) -> int:
    tokens: Mapping[str, Any] = call.raw["tokens"]
    return sum(tokens.get(counter) or 0 for counter in COUNTERS)
