"""Instructions that one call of a conversation carried are missing from a later one.

Compared line by line with the call that it continues; a line that changed (a clock, a file list) is still there, and
so is one that moved anywhere else in the request. A compaction is no excuse: it may shorten the conversation, not the
instructions. Side calls have instructions of their own.
"""

from difflib import SequenceMatcher

from simulators.verdict._items import texts
from simulators.verdict._reading import Journal, Link, Seen, Verdict

WORDS, CHARACTERS = 3, 15  # a lost piece must have so much to be an instruction
CHANGED = 0.5  # what stands in its place has at least this part of its length
ANOTHER_AGENT = 0.2  # less in common than this, and something left: it is another agent's prompt


def look(journal: Journal) -> Verdict:
    pairs = [(call, link) for call in journal.main if (link := journal.links.get(call.n)) and _comparable(link)]
    pairs = [(call, link) for call, link in pairs if link.before.instructions.strip()]
    pairs = [(call, link) for call, link in pairs if not journal.another_agent(link.before, call)]
    if not pairs:
        return "not_checked", (), "no conversation with instructions went on"
    for call, link in pairs:
        lost = _lost(link.before.instructions, call)
        if lost:
            before, size = link.before, sum(map(len, lost))
            place = "all instructions are" if not call.instructions.strip() else f"`{lost[0].strip()[:60]}` is"
            why = f"{place} in request {before.n} and not in request {call.n} ({size:,} characters lost)"
            return "bad", (before.n, call.n), why
    return "ok", (), f"{len(pairs)} continuing requests kept their instructions"


def _comparable(link: Link) -> bool:
    """A whole answer and then the same question: two conversations that begin alike."""
    return link.how != "resends" or not link.before.answered


def _lost(before: str, call: Seen) -> list[str]:
    after = call.instructions
    if before == after:
        return []
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if after.strip() and matcher.ratio() < ANOTHER_AGENT and len(old) > 1 and not _same_text(before, after):
        return []
    everywhere = "\n".join(texts([call.body.get(key) for key in ("messages", "input", "contents")]))
    lost: list[str] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag not in ("delete", "replace"):
            continue
        gone, put = "\n".join(old[a:b]), "\n".join(new[c:d])
        if tag == "replace" and len(put) >= CHANGED * len(gone) and (len(old) > 1 or _same_text(gone, put)):
            continue
        lost += [
            line for line in old[a:b] if _counts(line) and line.strip() not in after and line.strip() not in everywhere
        ]
    return lost


def _counts(line: str) -> bool:
    return len(line.strip()) >= CHARACTERS and len(line.split()) >= WORDS


def _same_text(a: str, b: str) -> bool:
    return SequenceMatcher(None, a[:4000], b[:4000], autojunk=False).ratio() >= CHANGED
