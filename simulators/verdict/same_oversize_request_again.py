"""A request that was refused for its size was sent again no smaller.

Smaller is: fewer or shorter messages, fewer tools or instructions, or - where input and `max_tokens` together were too
much - a lower `max_tokens`. Another model may have a larger window.
"""

import msgspec

from simulators.verdict._reading import Journal, Seen, Verdict

NOTICEABLE = 0.98  # of the size of everything but the conversation: less than that is a remedy


def look(journal: Journal) -> Verdict:
    refused = [call for call in journal.calls if call.overflowed and call.items]
    if not refused:
        return "not_checked", (), "no request was refused for its size"
    for call in refused:
        again = [
            other
            for other in journal.calls
            if other.n > call.n
            and (other.key, other.kind, other.model, other.whole) == (call.key, call.kind, call.model, call.whole)
            and _as_large(call, other)
        ]
        if again:
            why = f"request {call.n} was refused for its size and sent again unchanged {_times(len(again))}"
            return "bad", (call.n, *(other.n for other in again)), f"{why} (request {again[0].n} first)"
    return "ok", [call.n for call in refused], f"{len(refused)} refused for their size, none sent again as it was"


def _as_large(call: Seen, other: Seen) -> bool:
    if _around(other) < NOTICEABLE * _around(call):
        return False
    return call.max_tokens is None or other.max_tokens is None or other.max_tokens >= call.max_tokens


def _around(call: Seen) -> int:
    """Size of instructions and tools, in bytes of JSON."""
    return len(msgspec.json.encode([call.instructions, call.body.get("tools")]))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
