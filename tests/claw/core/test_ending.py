"""The outcome of a run."""

from claw.core.commands import Failure, Finish
from claw.core.ending import finish
from claw.core.errors import FailureKind
from claw.core.state import Setup, State, Step, Target

SETUP = Setup(session="s", targets=(Target(provider="p", model="m", window=100),))


def test_the_outcome_says_what_the_state_knows_and_nothing_comes_after() -> None:
    out = Step(State(setup=SETUP, run="r", compactions=2, reported_window=50, usage_known=True))
    finish(out, "", "error", Failure(FailureKind.AUTH, "no"))
    (command,) = out.commands
    assert isinstance(command, Finish) and out.state.phase == "done"
    outcome = command.outcome
    assert (outcome.model, outcome.compactions, outcome.window, outcome.known) == ("m", 2, 50, True)
    assert outcome.failure == Failure(FailureKind.AUTH, "no")
