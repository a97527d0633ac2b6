"""What an account keeps: shelves, lifetimes, and the calls that a keeper gets."""

from typing import Any

import pytest

from simulators.core.store import MAX_KEPT, Desk, Keeper, Served, Store, keeper
from simulators.core.turn import Failure, ModelCall, ModelTurn, Operation, Refused, Tokens
from simulators.core.wire import Chunk, Request
from tests.simulators.core.plain import NOW, PlainDialect, ask, engine, say


class TestStore:
    def test_a_thing_is_there_until_its_time_is_up(self) -> None:
        store = Store()
        store.put("notes", "a", 1, expires=NOW + 10)
        store.put("notes", "b", 2)
        assert [store.get("notes", name, NOW + 9.9) for name in "abc"] == [1, 2, None]
        assert [store.get("notes", name, NOW + 10) for name in "abc"] == [None, 2, None]
        assert list(store.items("notes", NOW)) == [("a", 1), ("b", 2)]
        assert list(store.items("notes", NOW + 10)) == [("b", 2)]

    def test_shelves_share_nothing(self) -> None:
        store = Store()
        store.put("notes", "a", 1)
        assert store.get("books", "a", NOW) is None
        assert list(store.items("books", NOW)) == []

    def test_removing_says_whether_it_was_there(self) -> None:
        store = Store()
        store.put("notes", "a", 1, expires=NOW + 10)
        store.put("notes", "b", 2)
        assert [store.drop("notes", "a", NOW + 10), store.drop("notes", "b", NOW + 10)] == [False, True]
        assert store.drop("notes", "b", NOW) is False

    def test_replacing_keeps_the_place(self) -> None:
        store = Store()
        for name in "ab":
            store.put("notes", name, name)
        store.put("notes", "a", "new")
        assert list(store.items("notes", NOW)) == [("a", "new"), ("b", "b")]

    def test_the_oldest_leaves_when_there_is_too_much(self) -> None:
        store = Store()
        for number in range(MAX_KEPT + 1):
            store.put("notes", str(number), number)
        assert store.get("notes", "0", NOW) is None
        assert store.get("notes", "1", NOW) == 1


class Keeping(PlainDialect):
    """The plain vendor with notes: `/plain/notes` keeps its body, and every prompt begins with what is kept."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def route(self, request: Request) -> Operation | None:
        return "resource" if request.path == "/plain/notes" else super().route(request)

    def parse(self, request: Request, operation: Operation, models: Any) -> ModelCall:
        if operation == "resource":
            return ModelCall(dialect=self.name, operation=operation, model="", body={"note": request.body.decode()})
        return super().parse(request, operation, models)

    def recall(self, call: ModelCall, desk: Desk) -> ModelCall:
        note = desk.store.get("notes", "note", desk.now)
        if note == "forbidden":
            raise Refused(Failure(kind="bad_request", message="forbidden"))
        return call

    def serve(self, call: ModelCall, desk: Desk) -> Served:
        desk.store.put("notes", "note", call.body["note"])
        desk.charge(0.5)
        return Served(chunks=(Chunk(b"kept"),), status=201)

    def keep(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, desk: Desk) -> None:
        self.kept.append(f"{turn.text}: {tokens.prompt} {desk.stamp.message_id}")


@pytest.fixture
def keeping() -> tuple[Any, Keeping]:
    sim, dialect = engine(), Keeping()
    sim.parts = type(sim.parts)(
        dialects={"plain": dialect},
        faults=sim.parts.faults,
        make_responder=sim.parts.make_responder,
        count_default=sim.parts.count_default,
    )
    sim.account("k").load("turns: [{text: one}, {text: two}]")
    return sim, dialect


def test_a_resource_is_served_from_the_store_and_paid_for(keeping: tuple[Any, Keeping]) -> None:
    sim, _ = keeping
    answer = ask(sim, b"remember", path="/plain/notes")
    assert (answer.status, answer.text) == (201, "kept")
    entry = sim.account("k").journal.exchanges[-1]
    assert (entry.answered_by, entry.cost_usd) == ("store", 0.5)
    assert sim.account("k").state(NOW)["totals"]["cost_usd"] == 0.5


def test_an_answer_that_begins_is_kept_a_refused_call_is_not(keeping: tuple[Any, Keeping]) -> None:
    sim, dialect = keeping
    assert ask(sim, say("hello")).status == 200
    ask(sim, b"forbidden", path="/plain/notes")
    assert ask(sim, say("hello")).text == "bad_request: forbidden"
    assert [kept.split(":")[0] for kept in dialect.kept] == ["one"]
    assert sim.account("k").state(NOW)["script"]["next"] == 1


def test_who_keeps_nothing_is_no_keeper() -> None:
    dialect = Keeping()
    assert keeper(dialect) is dialect
    assert isinstance(dialect, Keeper)
    assert keeper(PlainDialect()) is None
