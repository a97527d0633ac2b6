"""Why the cache gave less than it could: place, cause, price; and no false alarm."""

from typing import Any

import pytest

from simulators.core.account_file import CacheRules
from simulators.core.cache_miss import explain
from tests.simulators.core.prompts import OTHER, Piece, Play, piece

TOOLS = piece("tool read", 500, level="tools")
SYSTEM = piece("You are kind. It is Tuesday 10:00.", 1500, level="system", ttl="5m")
LATER = piece("You are kind. It is Tuesday 10:05.", 1500, level="system", ttl="5m")
HELLO, REPLY = piece("hello", 400, ttl="5m"), piece("hi there", 100)
NEXT = piece("and now?", 50, ttl="5m")
ONE = (TOOLS, SYSTEM, HELLO)
TWO = (TOOLS, SYSTEM, HELLO, REPLY, NEXT)


def miss(play: Play, *pieces: Piece, **options: Any) -> dict[str, Any] | None:
    found = play.look(*pieces, **options)
    return explain(found, play.cache.recent, play.cache.rules)


def after(*pieces: Piece, **rules: Any) -> Play:
    """A cache that was asked once."""
    play = Play(**rules)
    play.send(*pieces)
    return play


def unmarked(found: Piece) -> Piece:
    return piece(found[0].text, found[1], level=found[0].level)


def test_a_conversation_that_goes_on_misses_nothing() -> None:
    assert miss(after(*ONE), *TWO, at=1) is None
    assert miss(after(*ONE), *ONE, at=1) is None


def test_the_first_request_and_a_new_conversation_miss_nothing() -> None:
    assert miss(Play(), *ONE) is None
    assert miss(after(*ONE), piece("another task altogether", 3000, ttl="5m"), at=1) is None
    assert miss(after(*ONE), TOOLS, SYSTEM, piece("what else is there", 400, ttl="5m"), at=1) is None


def test_a_clock_in_the_system_prompt_is_named_by_place_and_price() -> None:
    found = miss(after(*ONE), TOOLS, LATER, HELLO, REPLY, NEXT, at=1)
    assert found == {
        "level": "system",
        "at": "system:You are kind. It is Tuesday 10:05.",
        "why": "content changed",
        "vendor_reason": "system_changed",
        "lost_tokens": 2400,
        "before": "You are kind. It is Tuesday 10:00.",
        "after": "You are kind. It is Tuesday 10:05.",
    }


def test_snippets_are_short_and_stand_around_the_difference() -> None:
    long = "x" * 500
    old, new = piece(f"{long} 10:00 {long}", 2000, level="system"), piece(f"{long} 10:05 {long}", 2000, level="system")
    found = miss(after(old, HELLO), new, HELLO, REPLY, NEXT, at=1)
    assert found is not None
    assert found["before"].startswith("…xxx") and " 10:00 xxx" in found["before"] and len(found["before"]) < 90
    assert " 10:05 " in found["after"]


OTHER_TOOL, NEW_TOOL = piece("tool read, anew", 500, level="tools"), piece("tool new", 9, level="tools")


@pytest.mark.parametrize(
    ("start", "level", "why", "reason"),
    [
        ((OTHER_TOOL, SYSTEM, HELLO), "tools", "tool definition changed", "tools_changed"),
        ((NEW_TOOL, TOOLS, SYSTEM, HELLO), "tools", "block added", "tools_changed"),
        ((SYSTEM, HELLO), "tools", "block removed", "tools_changed"),
        ((TOOLS, SYSTEM, piece("hello!", 401)), "messages", "content changed", "messages_changed"),
    ],
)
def test_what_moved_the_prefix(start: tuple[Piece, ...], level: str, why: str, reason: str) -> None:
    play = Play()
    play.send(*ONE)
    play.send(TOOLS, SYSTEM, HELLO, REPLY, NEXT, at=1)
    found = miss(play, *start, REPLY, NEXT, piece("reply 2", 10), piece("third", 10, ttl="5m"), at=2)
    assert found is not None
    assert (found["level"], found["why"], found["vendor_reason"]) == (level, why, reason)


def test_tools_in_another_order() -> None:
    a, b = piece("a", 1000, level="tools"), piece("b", 1000, level="tools")
    found = miss(after(a, b, HELLO), b, a, HELLO, REPLY, NEXT, at=1)
    assert found is not None and (found["why"], found["lost_tokens"]) == ("order changed", 2400)


def test_an_earlier_breakpoint_that_survives_lowers_the_price() -> None:
    play = after(*ONE)
    found = miss(play, TOOLS, SYSTEM, piece("hello, and a note", 420), REPLY, NEXT, at=1)
    assert found is not None and (found["level"], found["lost_tokens"]) == ("messages", 400)


def test_going_back_to_an_earlier_point_misses_nothing() -> None:
    assert miss(after(TOOLS, SYSTEM, HELLO, REPLY, NEXT), TOOLS, SYSTEM, HELLO, REPLY, at=1) is None


def test_a_changed_setting() -> None:
    found = miss(after(*ONE), *TWO, at=1, messages="tool_choice=any")
    assert found is not None
    assert (found["why"], found["vendor_reason"]) == ("settings changed: default → tool_choice=any", "unavailable")
    assert (found["level"], found["at"], found["lost_tokens"]) == ("messages", "messages:hello", 400)


def test_another_model() -> None:
    found = miss(after(*ONE), *TWO, at=1, model=OTHER)
    assert found is not None
    assert (found["vendor_reason"], found["lost_tokens"]) == ("model_changed", 2400)


def test_too_late() -> None:
    found = miss(after(*ONE), *TWO, at=301)
    assert found is not None
    assert (found["why"], found["vendor_reason"], found["before"]) == ("expired: 301 s old, kept for 300 s", None, None)


def test_too_early() -> None:
    play = Play()
    play.accept(play.look(*ONE))
    found = miss(play, *TWO)
    assert found is not None and found["why"] == "the answer that writes it has not begun"


def test_too_far_back() -> None:
    many = [piece(f"step {i}", 10) for i in range(30)]
    found = miss(after(*ONE), TOOLS, unmarked(SYSTEM), unmarked(HELLO), *many, NEXT, at=1)
    assert found is not None and found["why"] == (
        "look-back: 31 blocks before the last breakpoint, 20 positions are searched"
    )


def test_no_breakpoint_now() -> None:
    bare = [unmarked(p) for p in TWO]
    found = miss(after(*ONE), *bare, at=1)
    assert found is not None and (found["why"], found["lost_tokens"]) == (
        "no breakpoint covers what could be read",
        2400,
    )


def test_never_a_breakpoint() -> None:
    bare = [unmarked(p) for p in TWO]
    found = miss(after(*bare[:3]), *bare, at=1)
    assert found is not None and (found["why"], found["lost_tokens"]) == (
        "no breakpoint covers what could be read",
        2400,
    )


def test_switched_off() -> None:
    play = after(*ONE)
    found = play.look(*TWO, at=1)
    found.read = 0
    said = explain(found, play.cache.recent, CacheRules(enabled=False))
    assert said is not None and said["why"] == "the cache is switched off"


def test_a_note_that_only_the_last_message_carries_is_found() -> None:
    """A runtime adds a reminder to the newest message and drops it from the ones before."""
    with_note = piece("hello there, my friend <reminder>", 400, ttl="5m")
    without = piece("hello there, my friend", 390)
    found = miss(after(TOOLS, SYSTEM, with_note), TOOLS, SYSTEM, without, REPLY, NEXT, at=1)
    assert found is not None and (found["at"], found["why"]) == ("messages:hello there, my friend", "content changed")


def test_a_breakpoint_that_went_back() -> None:
    found = miss(after(TOOLS, unmarked(SYSTEM), HELLO), TOOLS, SYSTEM, unmarked(HELLO), REPLY, unmarked(NEXT), at=1)
    assert found is not None
    assert found["why"] == f"breakpoint moved: it stood at messages:hello, the last is at {SYSTEM[0].path} now"


def test_too_small_loses_nothing_and_is_told() -> None:
    small = (piece("be brief", 300, level="system", ttl="5m"), piece("hi", 10, ttl="5m"))
    found = miss(after(*small), *small, piece("more", 5), at=1)
    assert found is not None
    assert (found["why"], found["lost_tokens"]) == (
        "too small: 310 tokens up to the last breakpoint, 1024 are needed",
        0,
    )
    assert miss(Play(), *small) is None


def test_thinking_that_the_model_forgets_is_no_edit() -> None:
    thought, call = piece("hm", 200, kind="thinking"), piece("call", 100, kind="tool_use")
    start = (TOOLS, unmarked(SYSTEM), unmarked(HELLO))
    later = (*start, call, unmarked(NEXT), piece("later", 30, ttl="5m"))
    found = miss(after(*start, thought, call, NEXT), *later, at=1)
    assert found is not None
    assert (found["why"], found["before"]) == ("thinking of an earlier turn left out", "hm")
