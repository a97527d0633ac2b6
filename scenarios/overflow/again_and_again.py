"""One prompt whose tool results fill the context again and again: each overflow must be met with a fresh budget."""

from claw.lab.history import conversation
from claw.lab.schema import Given, History, KnownBad, Scenario, Step

WINDOW = 24_000  # words, as the account counts; claw believes in 200,000 tokens
CHAPTERS = 12
WORDS = 4_000  # of a chapter


def words(text: str) -> int:
    return len(text.split())


def chapters() -> dict[str, str]:
    """Made-up books, as long as was asked for."""
    book = conversation(History(turns=CHAPTERS, tokens=CHAPTERS * WORDS, seed=26), words)
    return {f"chapter{n}.md": f"{asked} {told}\n" for n, (asked, told) in enumerate(book, 1)}


again_and_again = Scenario(
    about=(
        "A long run reads chapter after chapter until the context overflows, is condensed, goes on, and overflows "
        "again. A budget of compactions that a run spends once and for all gives up in the middle of the work; a right "
        "runtime begins it afresh whenever the model has answered, and never counts one that gained nothing as one."
    ),
    area="overflow",
    source=(
        "https://github.com/openclaw/openclaw/issues/150447",
        "https://github.com/openclaw/openclaw/pull/8928",
    ),
    needs=("embedded", "tools", "compaction"),
    given=Given(
        instructions="Read every chapter, one at a time.",
        workspace=chapters(),
        runtime={"compaction": {"attempts": 1}},  # in a row, without an answer between
    ),
    provider={
        "tokenizer": "words",
        "models": {"claude-sonnet-4-5": {"context_window": WINDOW}},
        "rules": [{"when": {"kind": "summary"}, "reply": {"text": "The chapters so far speak of towns and trades."}}],
        "turns": [
            *({"tool_calls": [{"name": "read", "input": {"path": f"chapter{n}.md"}}]} for n in range(1, CHAPTERS + 1)),
            {"text": "All twelve chapters are read."},
        ],
    },
    steps=(Step(prompt="Read the whole book, then say so."),),
    expect=(
        {"reply": {"contains": "All twelve"}},
        {"tools": {"name": "read", "count": CHAPTERS, "ok": True}},
        {"events": {"count": {"compaction_end": ">= 2"}}},
        {"request": {"n": 7, "status": 400, "answered_by": "overflow"}},
        {"failure": None},
    ),
    known_bad=(
        KnownBad(patch={"given": {"runtime": {"compaction": "off"}}}, fails="reply"),
        KnownBad(patch={"given": {"runtime": {"compaction": {"attempts": 0}}}}, fails="reply"),
    ),
)
