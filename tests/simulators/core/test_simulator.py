"""The engine: keys, accounts, clocks, and the order of work."""

import pytest

from simulators.core.document import DocumentError
from tests.simulators.core.plain import ask, engine, say


def test_an_unknown_key_gets_an_account_of_its_own() -> None:
    sim = engine(script="turns: [{text: hello}]")
    assert "hello" in ask(sim, say("hi"), key="a").text
    assert "hello" in ask(sim, say("hi"), key="b").text
    assert sim.keys() == ["a", "b"]


def test_no_key_is_refused_and_so_is_an_unknown_one_with_strict_keys() -> None:
    sim = engine(strict_keys=True)
    assert ask(sim, say("hi"), key=None).status == 401
    assert ask(sim, say("hi"), key="a").status == 401
    sim.account("a").load("turns: [{text: hello}]")
    assert ask(sim, say("hi"), key="a").status == 200


def test_a_path_prefix_names_the_account() -> None:
    sim = engine()
    sim.account("team").load("turns: [{text: hello}]")
    reply = ask(sim, say("hi"), path="/@team/plain", key="whatever")
    assert reply.status == 200
    exchange = sim.account("team").journal.exchanges[0]
    assert (exchange.path, exchange.key) == ("/plain", "team")
    assert sim.keys() == ["team"]


def test_a_script_may_name_its_accounts() -> None:
    sim = engine(script="accounts: {main: {turns: [{text: one}]}, spare: {turns: [{text: two}]}}")
    assert sim.keys() == ["main", "spare"]
    assert "two" in ask(sim, say("hi"), key="spare").text


def test_a_parsed_document_serves_unknown_keys_too() -> None:
    sim = engine()
    sim.load(sim.parse("turns: [{text: hello}]")[None])
    assert "hello" in ask(sim, say("hi"), key="new").text


def test_a_bad_script_is_refused_whole() -> None:
    sim = engine()
    with pytest.raises(DocumentError):
        sim.load("accounts: {main: {turns: [{text: one}]}, spare: {trns: []}}")
    assert sim.keys() == []


def test_paths_that_nobody_serves() -> None:
    sim = engine()
    assert ask(sim, say("hi"), path="/nowhere").status == 404
    assert ask(sim, say("hi"), path="/nowhere", key=None).status == 404
    assert ask(sim, say("hi"), path="/@/plain", key=None).status == 401


def test_clocks_move_alone_or_together() -> None:
    sim = engine()
    sim.account("a")
    sim.advance(10, "a")
    sim.advance(100)
    assert (sim.now(0, "a"), sim.now(0, "b"), sim.now(0)) == (110, 100, 100)
    ask(sim, say("hi"), key="b", now=5)
    assert sim.account("b").journal.exchanges[0].at == 105
    with pytest.raises(ValueError, match="forward"):
        sim.advance(-1)


def test_a_forgotten_account_is_gone() -> None:
    sim = engine(script="turns: [{text: hello}]")
    ask(sim, say("hi"))
    assert sim.forget("k") and not sim.forget("k")
    assert sim.find("k") is None
    assert ask(sim, say("hi")).status == 200


def test_keys_do_not_reach_the_journal() -> None:
    sim = engine()
    ask(sim, say("hi"), key="sk-ant-api03-secretsecretsecret")
    assert sim.account("sk-ant-api03-secretsecretsecret").journal.exchanges[0].key == "sk-ant…cret"


def test_strangers_get_the_same_bytes_each_run() -> None:
    first, second = engine(seed=3), engine(seed=3)
    assert [ask(first, say("x"), key=None) for _ in range(2)] == [ask(second, say("x"), key=None) for _ in range(2)]
