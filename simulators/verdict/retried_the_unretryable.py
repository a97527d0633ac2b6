"""A request was refused for what it is - its content, its key, the money - and sent again as it was.

Nothing changes by asking again: the body is the same, and so is the account. A change that only headers show counts as
one where the journal has headers (Claude Code tries a refused request again with fewer beta features).
"""

from simulators.verdict._reading import Journal, Seen, Verdict

STATUSES = frozenset({400, 401, 402, 403, 404, 405, 413, 422})
KINDS = frozenset({"auth", "billing", "bad_request", "poisoned_history", "model_not_found"})


def look(journal: Journal) -> Verdict:
    refused = [call for call in journal.calls if _final(call)]
    if not refused:
        return "not_checked", (), "nothing was refused for good"
    for call in refused:
        again = [o for o in journal.calls if o.n > call.n and o.key == call.key and o.same == call.same]
        if again:
            what = call.error.get("kind") or f"status {call.status}"
            count = f"{len(again)} more time{'s' if len(again) > 1 else ''}"
            why = f"request {call.n} was refused for good ({what}) and the same was sent {count}"
            return "bad", (call.n, *(other.n for other in again)), why
    return "ok", [call.n for call in refused], f"{len(refused)} refused for good, none sent again as it was"


def _final(call: Seen) -> bool:
    """Sizes have a check of their own; a request that the script did not foresee is the script's fault."""
    if call.status == 200 or call.overflowed or call.raw.get("answered_by") == "unmatched":
        return False
    return call.error.get("kind") in KINDS or (call.status in STATUSES and call.error.get("kind") is None)
