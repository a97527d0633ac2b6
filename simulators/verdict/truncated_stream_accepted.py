"""A stream that never got its end was taken for a whole answer.

It shows when the conversation goes on with what was heard of it and the request was never sent again. When nothing was
sent after it, only the client's own report can tell: success claimed over a broken answer is the same mistake.
"""

import re
from collections.abc import Mapping
from typing import Any

from simulators.verdict._reading import Journal, Seen, Verdict

# A note in brackets at the end of the turn: the client tells the model that the answer is not whole.
MARKED = re.compile(
    r"[\[(<][^\[\](){}<>]*(interrupt|cut|incomplete|truncat|abort|unfinished|lost)[^\[\]()<>]*[\])>]\s*$", re.I
)


def look(journal: Journal) -> Verdict:
    cut = [call for call in journal.main if call.cut and call.items]
    if not cut:
        return "not_checked", (), "no stream was cut"
    undecided: list[Seen] = []
    for call in cut:
        match _after(journal, call):
            case "undecided":
                undecided.append(call)
            case int(n):
                how = "without its terminator" if call.raw.get("ended") == "complete" else "in the middle"
                why = f"the answer to request {call.n} ended {how}, and request {n} goes on as if it were whole"
                return "bad", (call.n, n), why
    if not undecided:
        return "ok", [call.n for call in cut], f"{len(cut)} cut streams, none taken for whole"
    claim = _claims_success(journal.report)
    last = undecided[-1]
    if claim is None:
        return (
            "not_checked",
            (last.n,),
            f"nothing was sent after the cut answer to request {last.n}, and no outcome is known",
        )
    if claim and not any(other.answered for other in journal.later(last)):
        return (
            "bad",
            (last.n,),
            f"the answer to request {last.n} was cut, nothing was sent again, and the run reports success",
        )
    return "ok", [call.n for call in cut], f"{len(cut)} cut streams, the last one was reported"


def _after(journal: Journal, call: Seen) -> int | str:
    """`resent`, `dropped`, `undecided`, or the number of the request that goes on with the broken answer."""
    for other in journal.later(call):
        if call.whole not in other.chain:
            continue
        following = other.items[len(call.items) :]
        if not following:
            return "resent"
        if following[0].role == "assistant" and MARKED.search(following[0].text):
            return "dropped"
        return other.n if following[0].role == "assistant" and len(following) > 1 else "dropped"
    return "undecided"


def _claims_success(report: Mapping[str, Any] | None) -> bool | None:
    if report is None:
        return None
    if report.get("failure") is not None:
        return False
    return None if report.get("exit") is None else report["exit"] == 0
