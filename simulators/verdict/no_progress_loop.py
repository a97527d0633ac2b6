"""The same tool call with the same result, over and over, in one conversation."""

from itertools import groupby

from simulators.verdict._items import Item
from simulators.verdict._reading import Journal, Verdict

ROUNDS = 10  # where OpenClaw's own guard begins to warn


def look(journal: Journal) -> Verdict:
    longest = 0
    for call in reversed(journal.main):
        rounds = _rounds(call.items)
        if not rounds:
            continue
        count, name = max((len(list(same)), key[0]) for key, same in groupby(rounds))
        longest = max(longest, count)
        if count >= ROUNDS:
            why = f"`{name}` was called {count} times in a row with the same arguments and the same result"
            return "bad", (call.n,), f"{why} (request {call.n})"
    if not longest:
        return "not_checked", (), "no tool was called"
    return "ok", (), f"at most {longest} equal call{'s' if longest > 1 else ''} in a row"


def _rounds(items: list[Item]) -> list[tuple[str, ...]]:
    """(name, arguments, result) of every call that has a result, in order."""
    results = {back.id: back.text for item in items for back in item.results}
    return [(use.name, use.arguments, results[use.id]) for item in items for use in item.calls if use.id in results]
