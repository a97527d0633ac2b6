"""The state of a run: values, ids that are derived, and steps."""

import re

from claw.core.errors import FailureKind, ProviderFailure
from claw.core.messages import user
from claw.core.state import Setup, State, Step, Target, derived_uuid, digest, draw
from claw.core.transcript import MessageEntry

SETUP = Setup(session="s", targets=(Target(provider="p", model="m", window=100, profiles=("main",)),))


def test_ids_are_the_same_for_the_same_run_and_differ_within_it() -> None:
    def ids(run: str) -> list[str]:
        out = Step(State(setup=SETUP, run=run))
        return [out.entry_id() for _ in range(50)]

    assert ids("a") == ids("a") and len(set(ids("a"))) == 50 and not set(ids("a")) & set(ids("b"))
    assert all(re.fullmatch(r"[0-9a-f]{8}", id) for id in ids("a"))


def test_a_derived_uuid_looks_like_one() -> None:
    shape = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(shape, derived_uuid(str(n))) for n in range(50))
    assert derived_uuid("a") == derived_uuid("a") != derived_uuid("b")
    assert len(digest("a", 3)) == 6


def test_jitter_is_drawn_from_the_run_and_the_number_of_the_attempt() -> None:
    out = Step(State(setup=SETUP, run="r"))
    first = draw(out.state)
    out.note_attempt(ProviderFailure(kind=FailureKind.OVERLOADED))
    assert 0 <= first < 1 and draw(out.state) != first


def test_the_window_is_the_smaller_of_table_and_experience() -> None:
    assert [State(setup=SETUP, window=w).size for w in (None, 50, 500)] == [100, 50, 100]


def test_what_is_persisted_is_the_end_of_the_path() -> None:
    before = State(setup=SETUP, run="r")
    out = Step(before)
    out.persist(MessageEntry(id="a", parent_id=None, message=user("x")))
    assert (out.state.leaf, len(out.state.history), before.history) == ("a", 1, ())


def test_an_attempt_is_booked_and_told_with_what_was_decided() -> None:
    out = Step(State(setup=SETUP, run="r"))
    out.note_attempt(ProviderFailure(kind=FailureKind.AUTH, status=401), action="rotate", why="because", waited_s=1.0)
    (attempt,) = out.state.attempts
    assert (attempt.n, attempt.profile, attempt.kind, attempt.action) == (1, "main", FailureKind.AUTH, "rotate")
    (told,) = out.commands
    assert told.fields["why"] == "because" and told.fields["status"] == 401  # type: ignore[union-attr]
