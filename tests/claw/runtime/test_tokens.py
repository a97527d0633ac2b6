"""Tokens are renewed in time, and once."""

import asyncio
import json

import pytest

from claw.auth import Credential, Keyring, Stored, save_keys
from claw.core.errors import ProviderError
from claw.runtime.tokens import Tokens
from claw.testing.fakes import MemoryFiles, fake_ports
from simulators.shells.virtual_time import run

EPOCH = 1767225600.0
GIVEN = Credential(id="work", provider="anthropic", key="A1", type="oauth")
FRESH = json.dumps({"access_token": "A2", "refresh_token": "R2", "expires_in": 3600}).encode()


def renewing(*posts, at_once=1, expires=60.0):
    """The keys that so many processes get, and what was posted."""
    files = MemoryFiles()
    stored = Stored(
        id="work", provider="anthropic", type="oauth", secret="A1", refresh="R1", expires=EPOCH + expires,
        token_url="https://vendor/token", client_id="claw",
    )  # fmt: skip
    save_keys(files, "/home/credentials.json", Keyring(credentials=(stored,)))
    ports = fake_ports(None, files=files)
    ports.providers.posts = list(posts)

    async def story():
        return await asyncio.gather(
            *(Tokens(ports, "/home").key(GIVEN) for _ in range(at_once)), return_exceptions=True
        )

    return run(story()), ports.providers.posted, Tokens(ports, "/home").keys


def test_two_processes_renew_a_token_once_and_both_use_the_new_one():
    reused = (400, {}, b'{"error": "invalid_grant", "error_description": "refresh_token_reused"}')
    keys, posted, ring = renewing((200, {}, FRESH), reused, at_once=2)
    assert keys == ["A2", "A2"]
    assert posted == [
        ("https://vendor/token", {"grant_type": "refresh_token", "refresh_token": "R1", "client_id": "claw"})
    ]
    assert ring.get("work").refresh == "R2"


def test_a_token_with_time_left_is_used_as_it_is():
    assert renewing(expires=3600)[:2] == (["A1"], [])


@pytest.mark.parametrize(
    ("answer", "kind", "hopeless"),
    [
        ((400, {}, b'{"error": "invalid_grant"}'), "auth", True),
        ((503, {}, b""), "server_error", False),
        ((200, {}, b"{}"), "server_error", False),
    ],
)
def test_a_token_that_cannot_be_renewed_is_told(answer, kind, hopeless):
    ((error,), _, ring) = renewing(answer)
    assert isinstance(error, ProviderError)
    assert (error.failure.kind.value, error.failure.hopeless) == (kind, hopeless)
    assert "`work` could not be renewed" in error.failure.message
    assert ring.get("work").secret == "A1"


def test_a_key_is_a_key():
    ports = fake_ports(None)
    assert run(Tokens(ports, "/home").key(Credential(id="k", provider="p", key="sk"))) == "sk"
