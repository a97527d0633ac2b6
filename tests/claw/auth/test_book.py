"""Which profile is used next, and how long one rests."""

import pytest

from claw.auth import Book, Credential, cooldown, load, save
from claw.core.errors import ClawError, FailureKind, ProviderFailure
from claw.testing.fakes import MemoryFiles

K = FailureKind
NOW = 1_000_000.0
HOUR = 3_600.0


def failure(kind: FailureKind, retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure(kind=kind, retry_after=retry_after)


def test_a_profile_that_rests_goes_last_and_comes_back() -> None:
    book = Book().failed("main", "m", failure(K.RATE_LIMITED, 7), now=NOW)
    assert book.order(["main", "spare"], "m", now=NOW) == ("spare", "main")
    assert book.order(["main", "spare"], "m", now=NOW + 8) == ("main", "spare")


def test_none_is_ever_left_out_the_one_ready_soonest_comes_first() -> None:
    book = Book().failed("a", "m", failure(K.BILLING), now=NOW).failed("b", "m", failure(K.AUTH), now=NOW)
    assert book.order(["a", "b"], "m", now=NOW) == ("b", "a")


def test_a_rate_limit_concerns_one_model_and_a_bad_account_all() -> None:
    limited = Book().failed("a", "opus", failure(K.RATE_LIMITED), now=NOW)
    assert limited.resting("a", "opus", now=NOW) and not limited.resting("a", "haiku", now=NOW)
    refused = Book().failed("a", "opus", failure(K.AUTH), now=NOW)
    assert refused.resting("a", "haiku", now=NOW)


@pytest.mark.parametrize(
    ("kind", "rests"),
    [
        (K.RATE_LIMITED, [30, 60, 120]),
        (K.AUTH, [30, 60, 300, 300]),
        (K.OVERLOADED, [30, 60, 300]),
        (K.BILLING, [5 * HOUR, 10 * HOUR, 20 * HOUR]),
    ],
)
def test_rests_double_as_failures_repeat(kind: FailureKind, rests: list[float]) -> None:
    book, now = Book(), NOW
    for rest in rests:
        book = book.failed("a", "m", failure(kind), now=now)
        assert book.resting("a", "m", now=now) - now == rest
        now += rest + 1


def test_a_revoked_key_rests_longer() -> None:
    assert [cooldown(K.AUTH, n, revoked=True) for n in (1, 2, 3, 4, 9)] == [600, 1_200, 2_400, 3_600, 3_600]
    book = Book().failed("a", "m", ProviderFailure(kind=K.AUTH, hopeless=True), now=NOW)
    assert book.resting("a", "m", now=NOW) == NOW + 600


def test_a_day_later_the_count_begins_anew() -> None:
    book = Book().failed("a", "m", failure(K.AUTH), now=NOW).failed("a", "m", failure(K.AUTH), now=NOW + 25 * HOUR)
    assert book.rests[0].count == 1


def test_a_rest_that_runs_is_counted_up_but_not_made_longer() -> None:
    book = Book().failed("a", "m", failure(K.AUTH), now=NOW).failed("a", "m", failure(K.AUTH), now=NOW + 10)
    assert (book.rests[0].until, book.rests[0].count) == (NOW + 30, 2)


@pytest.mark.parametrize("kind", sorted(set(K) - {K.RATE_LIMITED, K.OVERLOADED, K.AUTH, K.BILLING}))
def test_what_is_no_fault_of_the_profile_leaves_it_ready(kind: FailureKind) -> None:
    assert Book().failed("a", "m", failure(kind), now=NOW) == Book()


def test_success_forgets_earlier_failures_and_not_later_ones() -> None:
    """Another run's failure that came after this call began is not wiped out by this call's success."""
    book = Book().failed("a", "m", failure(K.RATE_LIMITED), now=NOW)
    assert book.succeeded("a", "m", started=NOW + 1) == Book()
    assert book.succeeded("a", "m", started=NOW - 1) is book
    assert book.succeeded("a", "other", started=NOW + 1) is book
    assert book.succeeded("b", "m", started=NOW + 1) is book


def test_the_book_survives_on_disk() -> None:
    files = MemoryFiles()
    assert load(files, "/h/auth.json") == Book()
    book = Book().failed("a", "m", failure(K.BILLING), now=NOW)
    save(files, "/h/auth.json", book)
    assert load(files, "/h/auth.json") == book


def test_a_damaged_book_is_named() -> None:
    with pytest.raises(ClawError, match=r"/h/auth\.json: .* may be deleted"):
        load(MemoryFiles({"/h/auth.json": "{"}), "/h/auth.json")


def test_a_credential_does_not_show_its_key() -> None:
    assert "sk-secret" not in repr(Credential(id="main", provider="anthropic", key="sk-secret"))
    assert "environment" in repr(Credential(id="", provider="anthropic", key="sk-secret"))


def test_what_the_provider_said_itself_is_told_apart_from_a_guess() -> None:
    guessed = Book().failed("a", "m", failure(K.RATE_LIMITED), now=NOW)
    assert guessed.told("a", "m", now=NOW) == 0
    said = guessed.failed("a", "m", failure(K.RATE_LIMITED, 500), now=NOW)
    assert said.told("a", "m", now=NOW + 100) == 400
    assert said.told("a", "other", now=NOW) == 0
