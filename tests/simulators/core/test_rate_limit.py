"""Token buckets."""

import pytest

from simulators.core.account_file import Limits
from simulators.core.rate_limit import Bucket, RateLimits


def test_a_bucket_starts_full_and_refills_without_pause() -> None:
    bucket = Bucket(60)
    bucket.take(60, 1000)
    assert [bucket.level(t) for t in (1000, 1000.5, 1010, 2000)] == [0, 0.5, 10, 60]


def test_exactly_the_wait_that_was_told_is_enough() -> None:
    for limit in (7, 50, 1000, 30_000):
        bucket = Bucket(limit)
        bucket.take(limit, 1000.1)
        wait = bucket.wait(3, 1000.1)
        assert wait > 0 and bucket.wait(3, 1000.1 + wait) == 0


def test_time_that_goes_back_takes_nothing_away() -> None:
    bucket = Bucket(60)
    bucket.take(30, 1000)
    assert bucket.level(900) == 30


def test_the_state_tells_when_it_is_full_again() -> None:
    bucket = Bucket(60)
    bucket.take(45.5, 1000)
    state = bucket.state(1000)
    assert (state.limit, state.remaining, state.reset) == (60, 14, 1045.5)


def test_requests() -> None:
    limits = RateLimits(Limits(rpm=2))
    assert limits.admit(0, 1000) is None and limits.admit(0, 1000) is None
    refused = limits.admit(0, 1000)
    assert refused is not None
    assert (refused.kind, refused.retry_after, refused.answered_by) == ("rate_limited", 30, "limits")
    assert refused.details == {"limit": "requests", "value": 2, "wait": 30}
    assert limits.admit(0, 1030) is None


def test_a_refusal_takes_nothing() -> None:
    limits = RateLimits(Limits(rpm=1, itpm=100))
    limits.admit(0, 1000)
    for _ in range(5):
        assert limits.admit(0, 1000) is not None
    assert limits.admit(0, 1060) is None
    assert limits.admit_tokens(200, 1060) is not None
    assert limits.state(1060)["input_tokens"].remaining == 100


def test_more_than_the_bucket_holds_is_refused_even_when_it_is_full() -> None:
    refused = RateLimits(Limits(itpm=100)).admit_tokens(101, 1000)
    assert refused is not None and refused.details == {"limit": "input_tokens", "value": 100}
    assert refused.retry_after == 1


def test_input_waits_until_enough_is_there() -> None:
    limits = RateLimits(Limits(itpm=600))
    assert limits.admit_tokens(600, 1000) is None
    refused = limits.admit_tokens(95, 1000)
    assert refused is not None and refused.retry_after == 10
    assert limits.admit_tokens(95, 1010) is None


def test_output_goes_into_debt() -> None:
    limits = RateLimits(Limits(otpm=60))
    limits.generated(100, 1000)
    refused = limits.admit_tokens(1, 1000)
    assert refused is not None
    assert (refused.details["limit"], refused.retry_after) == ("output_tokens", 41)
    assert limits.admit_tokens(1, 1041) is None


def test_money_has_no_wait() -> None:
    refused = RateLimits(Limits(spend_usd=5)).admit(5.0, 1000)
    assert refused is not None and (refused.retry_after, refused.details["limit"]) == (None, "spend")
    assert RateLimits(Limits(spend_usd=5)).admit(4.99, 1000) is None


def test_answers_open_at_once() -> None:
    limits = RateLimits(Limits(concurrency=1))
    assert limits.admit(0, 1000) is None
    limits.open = 1
    refused = limits.admit(0, 1000)
    assert refused is not None and (refused.retry_after, refused.details["limit"]) == (1, "concurrency")


def test_input_is_given_back() -> None:
    limits = RateLimits(Limits(itpm=100))
    limits.admit_tokens(80, 1000)
    limits.give_back(80, 1000)
    assert limits.state(1000)["input_tokens"].remaining == 100
    limits.give_back(80, 1001)
    assert limits.state(1001)["input_tokens"].remaining == 100


def test_without_limits_there_is_nothing_to_tell() -> None:
    limits = RateLimits(Limits())
    assert limits.state(1000) == {}
    assert limits.admit(1e9, 1000) is None and limits.admit_tokens(10**9, 1000) is None
    limits.generated(10**9, 1000)


@pytest.mark.parametrize("name", ["requests", "input_tokens", "output_tokens"])
def test_each_bucket_is_told_by_name(name: str) -> None:
    keys = {"requests": "rpm", "input_tokens": "itpm", "output_tokens": "otpm"}
    assert list(RateLimits(Limits(**{keys[name]: 9})).state(1000)) == [name]


def test_a_days_requests_come_back_when_the_day_ends() -> None:
    """At eight in the morning, UTC; a refusal says nothing of when, and counts for nothing."""
    limits = RateLimits(Limits(rpd=2))
    midnight = 1_767_225_600.0
    assert [limits.admit(0, midnight + at) is None for at in (0, 1, 2, 8 * 3600 - 1)] == [True, True, False, False]
    refusal = limits.admit(0, midnight + 3)
    assert refusal is not None
    assert (refusal.retry_after, refusal.details["limit"]) == (None, "requests_per_day")
    assert [limits.admit(0, midnight + 8 * 3600 + at) is None for at in (0, 1, 2)] == [True, True, False]
