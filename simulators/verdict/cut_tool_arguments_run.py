"""A tool was run with arguments that had not arrived whole.

The answer with the call was cut, spoilt on the way, or ended by `max_tokens`; the next request brings a result for the
call that is no error. Where the vendor has no error flag, a result that speaks of the arguments counts as an error.
"""

import re

from simulators.verdict._items import Call, Result, first_turn
from simulators.verdict._reading import Journal, Seen, Verdict

SPOILT = frozenset({"partial_tool_json", "invalid_tool_json"})
_REFUSAL = re.compile(
    r"error|invalid|malformed|incomplete|truncated|cut off|not (run|executed|valid)|could not|failed|JSON", re.I
)


def look(journal: Journal) -> Verdict:
    broken = [call for call in journal.main if _what(call) and call.items]
    if not broken:
        return "not_checked", (), "no answer with a tool call was cut or spoilt"
    for call in broken:
        for other in journal.later(call):
            if call.whole not in other.chain:
                continue
            ran = _ran(call, other)
            if ran is not None:
                why = f"`{ran.name}` ran with {ran.arguments[:80]} though the answer to request {call.n} {_what(call)}"
                return "bad", (call.n, other.n), f"{why}; request {other.n} brings its result"
            break  # sent again, or refused in a proper way
    return "ok", [call.n for call in broken], f"{len(broken)} cut or spoilt answers, no call of theirs was run"


def _what(call: Seen) -> str | None:
    if call.cut:
        return "was cut"
    if spoilt := call.faults & SPOILT:
        return f"had {min(spoilt).replace('_', ' ')}"
    output = (call.raw.get("tokens") or {}).get("output")
    if call.answered and call.max_tokens and isinstance(output, int) and output >= call.max_tokens:
        return f"was ended by max_tokens ({call.max_tokens:,})"
    return None


def _ran(call: Seen, other: Seen) -> Call | None:
    """The last call of the broken answer, if the next items bring a result for it that is no refusal."""
    turn = first_turn(other.items[len(call.items) :])
    calls = [use for item in turn for use in item.calls]
    results = [back for item in turn for back in item.results if calls and back.id == calls[-1].id]
    return calls[-1] if results and not _refused(results[0]) else None


def _refused(result: Result) -> bool:
    return bool(_REFUSAL.search(result.text)) if result.failed is None else result.failed
