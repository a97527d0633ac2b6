"""The facade: what it finds, whose account answers, and what its clock says."""

import asyncio
import subprocess
import sys
from typing import Any

import httpx
import httpx2
import pytest

import simulators
from simulators import Simulator
from simulators.core.document import DocumentError
from simulators.shells.simulator import parts
from simulators.shells.virtual_time import EPOCH, run

ASK = {"model": "sim-test", "max_tokens": 9, "messages": [{"role": "user", "content": "a b c"}]}
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def ask(client: Any, key: str = "k") -> Any:
    return client.post("http://anywhere/v1/messages", json=ASK, headers={**HEADERS, "x-api-key": key})


def text(answer: Any) -> str:
    return str(answer.json()["content"][0]["text"])


def test_everything_in_the_folders_is_found() -> None:
    assert "anthropic" in parts().dialects
    assert {"overloaded", "stall", "usage_zero"} <= set(parts().faults)
    assert parts() is parts()


def test_importing_the_package_loads_nothing() -> None:
    script = "import sys, simulators; print([m for m in sys.modules if m.startswith('simulators.')])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"
    assert simulators.Simulator is Simulator
    with pytest.raises(AttributeError, match="no attribute 'Simulater'"):
        simulators.Simulater  # noqa: B018


def test_accounts_are_apart_and_a_named_one_takes_any_key() -> None:
    sim = Simulator()
    sim.account("a").load({"turns": [{"text": "for a"}, {"text": "again a"}]})
    sim.account("b").load({"turns": [{"text": "for b"}]})
    with httpx2.Client(transport=sim.transport()) as client:
        assert [text(ask(client, key)) for key in ("a", "b")] == ["for a", "for b"]
    with httpx2.Client(transport=sim.transport(account="a")) as client:
        assert text(ask(client, "any")) == "again a"
    with httpx.Client(transport=sim.transport_httpx(account="a")) as old:
        assert ask(old, "any").json()["error"]["message"].startswith("no scripted answer")
    assert [e.answered_by for e in sim.account("a").journal.exchanges] == ["turns[0]", "turns[1]", "unmatched"]
    with pytest.raises(ValueError, match="slash"):
        sim.transport(account="a/b")


def test_a_script_is_what_unknown_keys_get() -> None:
    sim = Simulator(script="turns: [{text: scripted}]")
    with httpx2.Client(transport=sim.transport()) as client:
        assert [text(ask(client, key)) for key in ("x", "y")] == ["scripted", "scripted"]
    with pytest.raises(DocumentError, match="turns"):
        Simulator(script={"turns": 3})


def test_strict_keys_refuse_strangers() -> None:
    sim = Simulator(strict_keys=True)
    sim.account("known", {"turns": [{"text": "hello"}]})
    with httpx2.Client(transport=sim.transport()) as client:
        assert text(ask(client, "known")) == "hello"
        assert ask(client, "stranger").status_code == 401


def test_a_bad_document_makes_no_account() -> None:
    sim = Simulator(strict_keys=True)
    with pytest.raises(DocumentError):
        sim.account("new", {"turn": []})
    assert sim.engine.find("new") is None
    sim.account("old", {"turns": [{"text": "kept"}]})
    with pytest.raises(DocumentError):
        sim.account("old", "turns: [{txet: lost}]")
    with httpx2.Client(transport=sim.transport()) as client:
        assert text(ask(client, "old")) == "kept"


def test_the_same_seed_gives_the_same_bytes() -> None:
    def bytes_of(seed: int) -> bytes:
        with httpx2.Client(transport=Simulator(seed=seed).transport()) as client:
            return bytes(ask(client).content)

    assert bytes_of(1) == bytes_of(1) != bytes_of(2)


def test_pacing_takes_virtual_time_only() -> None:
    document = {
        "tokenizer": "words",
        "turns": [{"text": "a b c d e"}],
        "pacing": {"first_token_ms": 400, "tokens_per_s": 1},
    }
    sim = Simulator()
    sim.account("k", document)
    assert sim.now() == EPOCH

    async def main() -> None:
        async with httpx2.AsyncClient(transport=sim.transport()) as client:
            await client.post("http://x/v1/messages", json={**ASK, "stream": True}, headers=HEADERS)

    run(main())
    assert 4 < sim.now() - EPOCH < 6
    assert sim.advance(100) == sim.now()
    assert sim.advance(7, "k") == sim.now() + 7


def test_under_a_real_loop_a_virtual_clock_is_moved_instead_of_waiting() -> None:
    sim = Simulator()
    sim.account("k", {"turns": [{"text": "late"}], "pacing": {"first_token_ms": 3_600_000}})

    async def main() -> str:
        async with httpx2.AsyncClient(transport=sim.transport(), timeout=None) as client:
            return text(await client.post("http://x/v1/messages", json=ASK, headers=HEADERS))

    assert asyncio.run(main()) == "late"
    assert sim.now() == EPOCH + 3600
