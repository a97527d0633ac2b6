"""Which models are asked, with which credentials, where."""

import msgspec
import pytest

from claw.auth import Book, Keyring, Stored
from claw.core.errors import ClawError, FailureKind, ProviderFailure
from claw.core.state import Target
from claw.core.transcript import CompactionEntry, CustomEntry
from claw.runtime.config import AuthOptions, Config, ModelChoice, Profile, ProviderOptions
from claw.runtime.failover import Choice, Rests, base_url, candidates, credentials, split, targets, used_profile
from claw.testing.fakes import MemoryFiles, fake_ports
from simulators.shells.virtual_time import run

CHAIN = Config(model=ModelChoice(primary="a/1", fallbacks=("b/2", "c/3", "a/1")))


def test_the_chain_begins_with_the_model_asked_for() -> None:
    assert candidates(CHAIN, None) == ("a/1", "b/2", "c/3")
    assert candidates(CHAIN, "b/2") == ("b/2", "c/3", "a/1")
    assert candidates(CHAIN, None, ("c/3",)) == ("a/1", "c/3")
    assert candidates(CHAIN, "b/2", ()) == ("b/2",)


def test_a_model_asked_for_by_name_and_not_in_the_chain_is_the_only_one() -> None:
    assert candidates(CHAIN, "x/y") == ("x/y",)


def test_a_reference_has_a_provider_and_a_model_that_may_hold_slashes() -> None:
    assert split("openrouter/anthropic/claude") == ("openrouter", "anthropic/claude")
    for wrong in ("claude", "/m", "p/", ""):
        with pytest.raises(ClawError, match="PROVIDER/MODEL"):
            split(wrong)


def test_profiles_of_the_provider_in_the_order_of_the_file_else_the_environment() -> None:
    profiles = (
        Profile(id="x", provider="openai", key="0"),
        Profile(id="b", provider="anthropic", key_env="B"),
        Profile(id="a", provider="anthropic", key="1", model="m"),
    )
    found = credentials(Config(profiles=profiles), "anthropic", {"B": "2", "ANTHROPIC_API_KEY": "3"})
    assert [(c.id, c.key, c.model) for c in found] == [("b", "2", None), ("a", "1", "m")]
    (alone,) = credentials(Config(), "anthropic", {"ANTHROPIC_AUTH_TOKEN": "4"})
    assert (alone.id, alone.key) == ("", "4")
    assert credentials(Config(), "anthropic", {}) == ()
    assert credentials(Config(), "acme", {"ANTHROPIC_API_KEY": "3"}) == ()


def test_the_address_of_the_file_goes_before_that_of_the_environment() -> None:
    config = Config(providers={"openai": ProviderOptions(base_url="http://file")})
    env = {"OPENAI_BASE_URL": "http://env", "ANTHROPIC_BASE_URL": ""}
    assert base_url(config, "openai", env) == "http://file"
    assert base_url(Config(), "openai-chat", env) == "http://env"
    assert base_url(Config(), "anthropic", env) is None
    assert base_url(Config(), "acme", env) is None


EPOCH = 1767225600.0
KEPT = Keyring(credentials=(Stored(id="kept", provider="anthropic", secret="k", type="token"),))
TWO = (Profile(id="a", provider="anthropic", key="1"), Profile(id="b", provider="anthropic", key="2"))
LIMITED = ProviderFailure(kind=FailureKind.RATE_LIMITED)


def ids(choice: Choice, *, model: str = "anthropic/m", **config: object) -> tuple[str, ...]:
    made = Config(profiles=TWO, **config)  # type: ignore[arg-type]
    return run(chosen(made, (model,), choice))[0].profiles


async def chosen(config: Config, refs: tuple[str, ...], choice: Choice) -> tuple[Target, ...]:
    return targets(fake_ports(None), config, refs, {}, {}, choice)[0]


def test_what_claw_keeps_comes_behind_the_file_and_a_stored_order_before_all() -> None:
    assert ids(Choice(keys=KEPT)) == ("a", "b", "kept")
    order = {"anthropic": ("kept", "b")}
    assert ids(Choice(keys=Keyring(order=order, credentials=KEPT.credentials))) == ("kept", "b")


def test_round_robin_stickiness_and_a_pin() -> None:
    book = Book().using("a", now=2).using("b", now=1)
    spread = {"auth": AuthOptions(spread="round_robin")}
    assert ids(Choice(book=book), **spread) == ("b", "a")
    assert ids(Choice(book=book, preferred={"anthropic": "a"}), **spread) == ("a", "b")
    assert ids(Choice(pinned="b")) == ("b",)
    with pytest.raises(ClawError, match="anthropic has no profile `c`"):
        ids(Choice(pinned="c"))


def test_a_server_without_keys_needs_none_and_one_of_ones_own_takes_after_its_api() -> None:
    assert [c.key for c in credentials(Config(), "ollama", {})] == ["none"]
    config = Config(providers={"mine": ProviderOptions(base_url="http://x", api="groq")})
    assert [c.key for c in credentials(config, "mine", {"GROQ_API_KEY": "g"})] == ["g"]


def test_parameters_of_a_model_go_over_those_of_its_provider() -> None:
    options = ProviderOptions(params={"a": 1, "b": 1}, models={"m": {"b": 2}})
    config = Config(profiles=TWO, providers={"anthropic": options})
    assert run(chosen(config, ("anthropic/m",), Choice()))[0].params == {"a": 1, "b": 2}


def test_the_session_forgets_its_profile_with_the_cache() -> None:
    said = CustomEntry(id="1", parent_id=None, custom_type="profile", data={"provider": "p", "profile": "a"})
    condensed = CompactionEntry(
        id="2", parent_id="1", summary="", first_kept_entry_id=None, tokens_before=2, tokens_after=1
    )
    assert used_profile((said,)) == {"p": "a"}
    assert used_profile((said, condensed)) == {}


A1 = Target(provider="a", model="1", profiles=("x",))
B2 = Target(provider="b", model="2", profiles=("y",))


def first_of(book: Book, times: int = 1) -> list[str]:
    """Which model is asked first, so often in a row."""
    files = MemoryFiles({"/home/auth.json": msgspec.json.encode(book)})

    async def story() -> list[str]:
        rests = Rests(fake_ports(None, files=files), "/home")
        return [rests.ordered((A1, B2))[0].name for _ in range(times)]

    return run(story())


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        (FailureKind.BILLING, ["b/2", "b/2"]),
        (FailureKind.RATE_LIMITED, ["a/1", "b/2"]),  # it is probed, once in 30 s
    ],
)
def test_a_model_that_rests_goes_behind_one_that_does_not(kind: FailureKind, first: list[str]) -> None:
    failure = ProviderFailure(kind=kind, retry_after=9_999.0)
    assert first_of(Book().failed("x", "1", failure, now=EPOCH), times=2) == first


def test_a_model_whose_rest_is_nearly_over_is_asked() -> None:
    failure = ProviderFailure(kind=FailureKind.RATE_LIMITED, retry_after=100.0)
    assert first_of(Book().failed("x", "1", failure, now=EPOCH), times=2) == ["a/1", "a/1"]


def test_where_all_rest_or_none_does_the_order_stays() -> None:
    both = Book().failed("x", "1", LIMITED, now=EPOCH).failed("y", "2", LIMITED, now=EPOCH)
    assert first_of(both) == first_of(Book()) == ["a/1"]
