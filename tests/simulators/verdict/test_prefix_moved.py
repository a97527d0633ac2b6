"""The cached prefix does not move without need."""

import pytest

from simulators.verdict.prefix_moved import price_usd
from tests.simulators.verdict.story import Story, says, status, user

CHECK = "prefix_moved"
HI, YES, NEXT = user("hi"), says("yes?"), user("next")
READ = {"cache": {"ideal_read": 5000, "breakpoints": [], "miss": None}}


def miss(reason: str | None = "system_changed", lost: int = 10_000) -> dict:
    found = {
        "level": "system",
        "at": "system[0]",
        "why": "content changed",
        "vendor_reason": reason,
        "lost_tokens": lost,
    }
    return {"cache": {"ideal_read": 12_000, "breakpoints": [], "miss": found}}


def test_it_moved_where_and_for_how_much() -> None:
    story = Story().ask(HI).ask(HI, YES, NEXT, **miss())
    assert status(story, CHECK) == ("bad", (2,))
    why = story.verdict(CHECK).why
    assert "system[0]" in why and "10,000 tokens" in why
    assert price_usd("claude-sonnet-4-5", 10_000) == pytest.approx(10_000 * (3.75 - 0.30) / 1e6)
    assert f"${10_000 * (3.75 - 0.30) / 1e6:.6f}" in why


def test_it_held() -> None:
    assert status(Story().ask(HI).ask(HI, YES, NEXT, **READ), CHECK)[0] == "ok"


@pytest.mark.parametrize("reason", [None, "model_changed"])
def test_an_entry_that_expired_and_another_model_are_no_move(reason: str | None) -> None:
    assert status(Story().ask(HI).ask(HI, YES, NEXT, **miss(reason)), CHECK)[0] == "ok"


def test_a_summary_in_between_is_a_good_reason() -> None:
    story = Story().ask(HI).ask(HI, YES, user("Summarise."), kind="summary")
    assert status(story.ask(user("Summary"), NEXT, **miss("messages_changed")), CHECK)[0] == "ok"


def test_a_refused_size_is_a_good_reason() -> None:
    story = Story().ask(HI).refused(HI, YES, NEXT, kind="context_overflow", answered_by="overflow")
    assert status(story.ask(HI, NEXT, **miss("messages_changed")), CHECK)[0] == "ok"


def test_a_summary_long_ago_is_none() -> None:
    story = Story().ask(HI, YES, user("Summarise."), kind="summary").ask(HI).ask(HI, YES, NEXT, **miss())
    assert status(story, CHECK) == ("bad", (3,))


def test_what_the_provider_leaves_out_by_itself_was_not_moved_by_the_client() -> None:
    """Thinking of earlier turns is dropped by the provider; the messages were sent as before."""
    gone = miss("messages_changed")
    gone["cache"]["miss"] |= {"level": "messages", "at": "messages[1].content[0]", "why": "block removed"}
    assert status(Story().ask(HI).ask(HI, YES, NEXT, **gone), CHECK)[0] == "ok"
    rewritten = Story().ask(HI, YES, NEXT).ask(HI, says("no?"), NEXT, YES, HI, **gone)
    assert status(rewritten, CHECK)[0] == "bad"
    gone["cache"]["miss"]["why"] = "settings changed: default → tool_choice=any"
    assert status(Story().ask(HI).ask(HI, YES, NEXT, **gone), CHECK)[0] == "bad"


def test_side_calls_do_not_count() -> None:
    assert status(Story().ask(HI).ask(HI, kind="title", **miss()).ask(HI, YES, NEXT, **READ), CHECK)[0] == "ok"


def test_nothing_to_read_proves_nothing() -> None:
    assert status(Story().ask(HI), CHECK)[0] == "not_checked"
    assert status(Story().ask(HI).ask(user("other")), CHECK)[0] == "not_checked"


def test_a_model_without_a_price_has_none() -> None:
    assert price_usd("sim-x", 1000) is None
    assert price_usd("nobody/knows", 1000) is None


def test_a_sub_agent_that_begins_with_the_same_words_moved_nothing() -> None:
    story = Story().ask(HI).ask(HI, system="Explore the files and report.", **miss()).ask(HI, YES, NEXT, **READ)
    assert status(story, CHECK)[0] == "ok"
