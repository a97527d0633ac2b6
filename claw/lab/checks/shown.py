"""`shown: {context_tokens: true_value, cost_usd: …}` - what the runtime shows, against what the simulator knows.

`true_value` stands for the simulator's own figure: the prompt of the last answered main request of that prompt, and
the cost of all its requests.
"""

import msgspec

from claw.lab.checks._params import Figure, Figures, compared
from claw.lab.evidence import Evidence, Finding, Played, Which, join, nothing, unknown

STEP: Which = "last"
TRUE_VALUE = "true_value"
PROMPT_COUNTERS = ("input", "cache_read", "cache_write_5m", "cache_write_1h")


class Params(Figures, frozen=True):
    context_tokens: Figure = msgspec.UNSET
    context_percent: Figure = msgspec.UNSET
    cost_usd: Figure = msgspec.UNSET


def look(params: Params, evidence: Evidence, step: Which) -> Finding:
    """Each selected prompt's report. A figure that is not shown (null) proves nothing: use `usage` to expect null."""
    steps = evidence.prompts(step)
    if not steps:
        return nothing(f"no prompt was answered in step {step}")
    if not any(played.outcome and played.outcome.report is not None for played in steps):
        return unknown("this runtime shows no figures")
    return join([_one(name, params, played) for played in steps for name in params.given()])


def _one(name: str, params: Params, played: Played) -> Finding:
    report = (played.outcome and played.outcome.report) or {}
    usage = report.get("usage") or {}
    shown = report.get("cost_usd") if name == "cost_usd" else usage.get(name)
    if shown is None:
        told = "cost_usd" in report if name == "cost_usd" else name in usage
        return nothing(f"{name} is not shown") if told else unknown(f"this runtime never shows {name}")
    expected = getattr(params, name)
    if expected == TRUE_VALUE:
        expected = _true(name, played, usage.get("context_window"))
        if expected is None:
            return nothing("no main request was answered")
    return compared(name, expected, shown)


def _true(name: str, played: Played, window: int | None) -> float | None:
    if name == "cost_usd":
        return round(sum(call.get("cost_usd") or 0.0 for call in played.exchanges), 10)
    answered = [call for call in played.exchanges if call.get("kind") == "main" and call.get("status") == 200]
    if not answered:
        return None
    context: int = sum(answered[-1]["tokens"][counter] for counter in PROMPT_COUNTERS)
    if name == "context_tokens":
        return context
    return round(100 * context / window) if window else None
