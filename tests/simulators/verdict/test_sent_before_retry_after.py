"""A wait that was asked for is kept."""

from tests.simulators.verdict.story import Story, says, status, user

CHECK = "sent_before_retry_after"
HI = user("hi")


def limited(wait: float | None = 7) -> Story:
    return Story().refused(HI, kind="rate_limited", status=429, retry_after=wait)


def test_asked_again_at_once() -> None:
    assert status(limited().ask(HI, after=0.0), CHECK) == ("bad", (1, 2))


def test_asked_again_before_the_time_with_more_to_say() -> None:
    assert status(limited().ask(HI, user("and?"), after=6.5), CHECK) == ("bad", (1, 2))


def test_waited() -> None:
    assert status(limited().ask(HI, after=7.0), CHECK) == ("ok", (1,))


def test_a_timer_that_fires_a_blink_early_is_no_crime() -> None:
    assert status(limited().ask(HI, after=6.97), CHECK)[0] == "ok"


def test_never_asked_again() -> None:
    assert status(limited(), CHECK)[0] == "ok"


def test_another_model_another_account_and_another_conversation_need_not_wait() -> None:
    story = limited().ask(HI, after=0.1, model="claude-haiku-4-5").ask(HI, after=0.1, key="spare")
    assert status(story.ask(user("another matter"), after=0.1), CHECK)[0] == "ok"


def test_no_wait_was_asked_for() -> None:
    assert status(limited(None).ask(HI, after=0.0), CHECK)[0] == "not_checked"


def test_a_conversation_that_only_begins_alike_is_another_one() -> None:
    story = Story().refused(HI, says("yes?"), user("one"), kind="rate_limited", status=429, retry_after=7)
    assert status(story.ask(HI, says("yes?"), user("two"), after=0.0), CHECK)[0] == "ok"
