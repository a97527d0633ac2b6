"""A failing request was sent again and again, too often or without a pause.

The official SDKs try three times, Claude Code eleven, each with growing pauses; layers of retries on top of each other
multiply. More than that, or five attempts within two seconds, helps nobody and is what providers ban.
"""

from simulators.verdict._reading import Journal, Seen, Verdict

MAX_ATTEMPTS = 15
BURST, BURST_S = 5, 2.0  # so many attempts must take at least so long


def look(journal: Journal) -> Verdict:
    runs = [run for group in journal.attempts() for run in _failing(group)]
    if not runs:
        return "not_checked", (), "no failed request was sent again"
    for run in runs:
        listed = [call.n for call in run]
        took = run[-1].at - run[0].at
        if len(run) > MAX_ATTEMPTS:
            return "bad", listed, f"the request first sent as {run[0].n} was tried {len(run)} times in {took:.1f} s"
        for first, last in zip(run, run[BURST - 1 :], strict=False):
            if last.at - first.at < BURST_S:
                why = f"the request first sent as {run[0].n} was tried {BURST} times within {last.at - first.at:.2f} s"
                return "bad", listed, why
    most = max(map(len, runs))
    return "ok", [call.n for run in runs for call in run], f"at most {most} attempts at one request"


def _failing(group: list[Seen]) -> list[list[Seen]]:
    """Runs of attempts that followed failures which may pass; the last of a run may have succeeded."""
    runs: list[list[Seen]] = [[]]
    for call in group:
        runs[-1].append(call)
        if not call.may_be_retried:
            runs.append([])
    return [run for run in runs if len(run) > 1]
