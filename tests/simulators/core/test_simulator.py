"""The engine: keys, accounts, clocks, and the order of work."""

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
