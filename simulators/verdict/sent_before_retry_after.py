"""The client was told how long to wait and asked again sooner.

The wait counts from the arrival of the refused request, which is earlier than the client learned of it, so a client
that waits is never caught. Another conversation or another model is not the refused one; nor is another account.
"""

from simulators.verdict._reading import Journal, Seen, Verdict

SLACK_S = 0.05  # what a clock and a timer may differ by
DATE_SLACK_S = 1.0  # a wait given as a date has whole seconds


def look(journal: Journal) -> Verdict:
    told = [(call, wait) for call in journal.calls if (wait := _wait(call)) is not None]
    if not told:
        return "not_checked", (), "no answer said how long to wait"
    for call, wait in told:
        for again in journal.later(call):
            if again.at >= call.at + wait - (DATE_SLACK_S if call.error.get("retry_at") else SLACK_S):
                break
            if again.model == call.model and call.whole in again.chain:
                after = again.at - call.at
                why = f"request {call.n} was told to wait {wait:g} s"
                return "bad", (call.n, again.n), f"{why} and request {again.n} asked again after {after:.2f} s"
    return "ok", [call.n for call, _ in told], f"{len(told)} waits were kept"


def _wait(call: Seen) -> float | None:
    wait = call.error.get("retry_after")
    return float(wait) if isinstance(wait, int | float) and wait > 0 and call.status != 200 else None
