"""When to come back, out of headers, bodies and sentences."""

import pytest

from claw.core.retry_after import lower_headers, retry_after

NEW_YEAR = 1767225600.0  # 2026-01-01T00:00:00Z


def wait(text="", *, headers=None, tree=None, now=None):
    return retry_after(lower_headers(headers), tree, text.lower(), now=now)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_headers(headers, seconds):
    assert wait(headers=headers) == seconds


def test_a_date_counts_from_the_answers_own_date_else_from_now():
    later = {"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT"}
    assert wait(headers=later) is None
    assert wait(headers=later, now=NEW_YEAR) == 60
    assert wait(headers={**later, "date": "Thu, 01 Jan 2026 00:00:50 GMT"}, now=NEW_YEAR) == 10
    assert wait(headers=later, now=NEW_YEAR + 3600) == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 84ms.", 0.084),
        ("Please try again in 6.8s.", 6.8),
        ("Please try again in 8m38.4s.", 518.4),
        ("Please try again in 1h2m3s", 3723),
        ("Please retry in 51.386192716s.", 51.386192716),
        ("Please retry after 44 seconds.", 44),
        ("please try again after 0 seconds", 0),
        ("Try again in ~10 min.", 600),
        ("usage limit exceeded, try again in 5 hours", 18000),
        ("try again later", None),
        ("the retry in the third paragraph", None),
    ],
)
def test_sentences(text, seconds):
    assert wait(text) == (None if seconds is None else pytest.approx(seconds))


def test_a_header_beats_a_sentence():
    assert wait("try again in 60s", headers={"retry-after": "2"}) == 2


def test_of_two_hints_in_a_body_the_longer_counts():
    tree = {"error": {"details": [{"@type": "x.RetryInfo", "retryDelay": "51s"}]}}
    assert wait("please retry in 51.39s.", tree=tree) == pytest.approx(51.39)
    assert wait("please retry in 3s.", tree=tree) == 51


def test_gateways_repeat_waits_and_headers_in_their_bodies():
    assert wait(tree={"error": {"metadata": {"retry_after_seconds": 12}}}) == 12
    assert wait(tree={"metadata": {"headers": {"Retry-After": "13"}}}) == 13
    reset = {"metadata": {"headers": {"X-RateLimit-Reset": str(int((NEW_YEAR + 30) * 1000))}}}
    assert wait(tree=reset, now=NEW_YEAR) == 30
    assert wait(tree=reset) is None


def test_a_day_on_which_access_comes_back():
    text = "You will regain access on 2026-01-02 at 00:00 UTC."
    assert wait(text, now=NEW_YEAR) == 86400
    assert wait(text) is None


def test_a_body_without_end_is_not_followed():
    tree: dict = {"retry_after": 5}
    for _ in range(50):
        tree = {"x": tree}
    assert wait(tree=tree) is None
