"""The same tool call with the same result, over and over, without a word of the user in between."""

from itertools import groupby

from simulators.verdict._items import Item
from simulators.verdict._reading import Journal, Verdict

ROUNDS = 10  # where OpenClaw's own guard begins to warn


def look(journal: Journal) -> Verdict:
    longest = 0
    for call in reversed(journal.main):
        runs = [(len(list(same)), key[1]) for key, same in groupby(_rounds(call.items))]
        if not runs:
            continue
        count, name = max(runs)
        longest = max(longest, count)
        if count >= ROUNDS:
            why = f"`{name}` was called {count} times in a row with the same arguments and the same result"
            return "bad", (call.n,), f"{why} (request {call.n})"
    if not longest:
        return "not_checked", (), "no tool was called"
    return "ok", (), f"at most {longest} equal call{'s' if longest > 1 else ''} in a row"


def _rounds(items: list[Item]) -> list[tuple[int, str, str, str]]:
    """(prompt, name, arguments, result) of every call that has a result; `prompt` counts what the user has said."""
    results = {back.id: back.text for item in items for back in item.results}
    rounds, prompt = [], 0
    for item in items:
        prompt += item.role == "user" and not item.results
        rounds += [(prompt, use.name, use.arguments, results[use.id]) for use in item.calls if use.id in results]
    return rounds
