"""A retry ran a tool a second time.

Three traces of it: one call brings two different results; one answer's call stands twice in the history after the
question had to be asked again; a conversation that failed after its tool had run was begun anew and ran it anew.
"""

from collections.abc import Sequence

from simulators.verdict._items import Call, Item, Result, first_turn
from simulators.verdict._reading import Journal, Seen, Verdict


def look(journal: Journal) -> Verdict:
    carrying = [call for call in journal.main if any(item.results for item in call.items)]
    failed = [call for call in carrying if not call.answered]
    if not carrying or all(call.answered for call in journal.main):
        return "not_checked", (), "no request was retried around a tool's run"
    for verdict in (_two_results(failed, carrying), _asked_again(journal, carrying)):
        if verdict is not None:
            return verdict
    heard = [call for call in journal.main if call.cut]  # calls may have arrived before the cut
    if not any(other.n > call.n and other.key == call.key for call in [*failed, *heard] for other in carrying):
        return "not_checked", (), "no request was retried around a tool's run"
    return "ok", [call.n for call in failed], f"{len(failed)} failures after a tool had run, none ran it again"


def _two_results(failed: Sequence[Seen], carrying: Sequence[Seen]) -> Verdict | None:
    """The same question and call, but another result than the request that failed had."""
    for call in failed:
        if call.overflowed:
            continue  # a shorter result is the remedy
        told = {back.id: back for back in call.items[-1].results}
        for other in carrying:
            if other.n <= call.n or other.key != call.key or len(other.chain) < len(call.chain):
                continue
            if other.chain[: len(call.chain) - 1] != call.chain[:-1]:
                continue
            for back in other.items[len(call.items) - 1].results:
                before = told.get(back.id)
                if before is not None and _ran_again(before, back):
                    why = f"call {back.id} brought `{before.text[:40]}` in request {call.n}, which failed,"
                    return "bad", (call.n, other.n), f"{why} and `{back.text[:40]}` in request {other.n}"
    return None


def _ran_again(before: Result, after: Result) -> bool:
    if before.text == after.text:
        return False
    start = after.text[: max(len(after.text) // 2, 1)]
    return not (len(after.text) < len(before.text) and before.text.startswith(start))  # cut down is not run again


def _asked_again(journal: Journal, carrying: Sequence[Seen]) -> Verdict | None:
    for group in journal.attempts():
        asked = group[0]
        if asked.kind not in ("main", None):
            continue
        ran: dict[tuple[str, str], tuple[Seen, str]] = {}
        for other in carrying:
            if other.key != asked.key or asked.whole not in other.chain or other.n < asked.n:
                continue
            for use in _ran_first(other.items[len(asked.items) :]):
                first = ran.setdefault((use.name, use.arguments), (other, use.id))
                if first[1] != use.id and _interrupted(journal, group, first[0], other):
                    why = f"`{use.name}` with {use.arguments[:80]} ran twice for the question of request {asked.n}"
                    return "bad", (first[0].n, other.n), f"{why}: as {first[1]} and, after a retry, as {use.id}"
    return None


def _ran_first(following: Sequence[Item]) -> list[Call]:
    """Calls of the first answer that have a result which is no error."""
    turn = first_turn(following)
    done = {back.id for item in turn for back in item.results if not back.failed}
    return [use for item in turn for use in item.calls if use.id in done]


def _interrupted(journal: Journal, group: Sequence[Seen], first: Seen, second: Seen) -> bool:
    """In one request: both answers to a question asked twice. In two: a failure, then the question again, between."""
    if first.n == second.n:
        return any(not call.answered for call in group[:-1])
    between = [call for call in journal.main if first.n <= call.n < second.n and call.key == first.key]
    again = [call for call in group if first.n < call.n < second.n]
    return bool(again) and any(not call.answered for call in between if call.n < again[0].n)
