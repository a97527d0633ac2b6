"""What happens to a message that arrives while a run is at work."""

import pytest

from claw.core.queueing import (
    Backlog,
    Queued,
    arrival,
    collect_prompt,
    elided,
    is_stop,
    mode,
    overflow_summary,
)


def waiting(*texts: str) -> Backlog:
    return Backlog(items=tuple(Queued(text=text, at=float(n)) for n, text in enumerate(texts)))


def test_words_for_modes() -> None:
    assert [mode(w) for w in ("Steer", "queued", "coalesce", "abort", "follow-ups", "", "x")] == [
        "steer", "steer", "collect", "interrupt", "followup", None, None,
    ]  # fmt: skip


def test_beyond_the_cap_the_oldest_goes_and_leaves_a_line_unless_the_newest_has_to() -> None:
    full, new = waiting("a\n b", "b"), Queued(text="c")
    for drop, left, dropped, lines in (("summarize", ["b", "c"], 1, ("a b",)), ("old", ["b", "c"], 0, ())):
        after = full.add(new, cap=2, drop=drop)  # type: ignore[arg-type]
        assert after is not None
        assert ([i.text for i in after.items], after.dropped, after.lines) == (left, dropped, lines)
    assert full.add(new, cap=2, drop="new") is None
    more = full.add(new, cap=0, drop="new")
    assert more is not None and len(more.items) == 3


def test_a_quiet_moment_is_counted_from_the_last_message() -> None:
    assert waiting("a", "b").ready(now=1.2, debounce_s=0.5) == pytest.approx(0.3)
    assert waiting("a", "b").ready(now=1.5, debounce_s=0.5) == 0
    assert Backlog().ready(now=0, debounce_s=5) == 0


def test_one_prompt_for_all_and_one_for_each() -> None:
    left = Backlog(items=waiting("x", "y").items, dropped=2, lines=("a", "b"))
    first, rest = left.take_one()
    assert first == "[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- a\n- b\n\nx"
    assert ([i.text for i in rest.items], rest.dropped) == (["y"], 0)
    assert left.take_all().endswith("---\nQueued #1\nx\n\n---\nQueued #2\ny")


def test_texts() -> None:
    assert overflow_summary(1, ()) == "[Queue overflow] Dropped 1 message due to cap."
    assert collect_prompt([("Ann", "hi")], title="T") == "T\n\n---\nQueued #1 (from Ann)\nhi"
    assert elided("x" * 150) == "x" * 139 + "…"
    assert elided("short") == "short"


@pytest.mark.parametrize(
    ("asked", "done"),
    [
        ({"active": False, "heartbeat": True}, "run-now"),
        ({"active": True, "heartbeat": True}, "drop"),
        ({"active": True}, "enqueue-followup"),
        ({"active": True, "mode": "interrupt"}, "run-now"),
        ({"active": True, "mode": "collect", "followup": True}, "enqueue-followup"),
    ],
)
def test_what_is_done_with_a_message(asked: dict[str, bool], done: str) -> None:
    assert arrival(**{"mode": "steer", **asked}) == done  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["stop", "/stop", "Please stop!", "STOP…", "停止", "やめて。", "стоп", "  esc "])
def test_words_that_stop_a_run(text: str) -> None:
    assert is_stop(text)


@pytest.mark.parametrize("text", ["stop the music", "/stop now", "", "don't stop", "stopping"])
def test_words_that_do_not(text: str) -> None:
    assert not is_stop(text)
