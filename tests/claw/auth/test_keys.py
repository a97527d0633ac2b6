"""Credentials that claw keeps, and which of several comes first."""

import msgspec
import pytest

from claw.auth import Book, Keyring, Stored, load_keys, ranked, save_keys
from claw.core.errors import ClawError, FailureKind, ProviderFailure
from claw.testing.fakes import MemoryFiles

NOW = 1_000_000.0
OAUTH = Stored(id="work", provider="anthropic", type="oauth", secret="A1", refresh="R1", expires=NOW + 200)
LIMITED = ProviderFailure(kind=FailureKind.RATE_LIMITED)


def test_what_can_be_used() -> None:
    assert OAUTH.usable(NOW + 500)  # it can be renewed
    assert Stored(id="k", provider="p", secret="s").usable(NOW)
    assert not Stored(id="k", provider="p").usable(NOW)
    assert not Stored(id="t", provider="p", type="token", secret="s", expires=1).usable(NOW)


def test_a_token_is_renewed_before_it_ends() -> None:
    assert OAUTH.stale(NOW)
    assert not OAUTH.stale(NOW - 200)
    assert OAUTH.renewal() == {"grant_type": "refresh_token", "refresh_token": "R1"}
    fresh = OAUTH.renewed(msgspec.json.encode({"access_token": "A2", "expires_in": 3600}), NOW)
    assert (fresh.secret, fresh.refresh, fresh.expires) == ("A2", "R1", NOW + 3600)
    with pytest.raises(ValueError, match="without an access_token"):
        OAUTH.renewed(b"{}", NOW)


def test_the_ring_on_disk() -> None:
    files = MemoryFiles()
    ring = Keyring(order={"anthropic": ("work",)}).put(OAUTH).put(msgspec.structs.replace(OAUTH, secret="A3"))
    save_keys(files, "/h/credentials.json", ring)
    found = load_keys(files, "/h/credentials.json")
    assert [c.secret for c in found.credentials] == ["A3"]
    assert found.without("work").credentials == ()
    assert "A1" not in repr(OAUTH)
    with pytest.raises(ClawError, match=r"credentials\.json: .*add the credentials anew"):
        load_keys(MemoryFiles({"/h/credentials.json": "{"}), "/h/credentials.json")


def order(*credentials: tuple[str, str], book: Book | None = None, **more: object) -> tuple[str, ...]:
    return ranked(credentials, book or Book(), "m", now=NOW, **more)  # type: ignore[arg-type]


def test_by_type_then_the_one_used_longest_ago() -> None:
    book = Book().using("a", now=3).using("b", now=2)
    assert order(("a", "api_key"), ("b", "api_key"), ("o", "oauth"), ("t", "token"), book=book) == ("o", "t", "b", "a")


def test_an_order_that_was_given_is_kept_and_those_that_rest_come_last() -> None:
    book = Book().failed("b", "m", LIMITED, now=NOW)
    credentials = [("a", "api_key"), ("b", "api_key"), ("c", "oauth")]
    assert order(*credentials, explicit=("b", "a", "gone"), book=book) == ("a", "b")


def test_what_a_session_has_used_comes_first_unless_it_rests() -> None:
    credentials = [("a", "api_key"), ("b", "api_key")]
    assert order(*credentials, preferred="b") == ("b", "a")
    assert order(*credentials, preferred="b", book=Book().failed("b", "m", LIMITED, now=NOW)) == ("a", "b")
    assert order(*credentials, preferred="gone") == ("a", "b")
