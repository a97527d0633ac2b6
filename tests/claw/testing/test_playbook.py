"""A playbook that cannot fail would be worth nothing."""

import pytest

from claw.core.commands import CallModel, Finish, Persist
from claw.core.errors import FailureKind
from claw.testing.playbook import answered, asked, emitted, failed, finished, kept, play, slept, started, state, woke

BEGUN = (started(), [Persist, CallModel])


@pytest.mark.parametrize(
    "wrong",
    [
        [(started(), [CallModel])],
        [(started(), [CallModel, Persist])],
        [(started(), [kept("assistant"), CallModel])],
        [(started(), [Persist, asked("summary")])],
        [(started(), [Persist, asked(profile="other")])],
        [BEGUN, (failed(FailureKind.RATE_LIMITED, after=7), [slept(8)])],
        [BEGUN, (answered("ok"), [Persist, finished(reply="no")])],
        [BEGUN, (failed(FailureKind.AUTH), [Persist, finished(failure=FailureKind.BILLING)])],
        [BEGUN, (answered("ok"), [emitted("attempt", n=2), Persist, Finish])],
        [BEGUN, (woke(), [CallModel])],
    ],
)
def test_a_wrong_expectation_fails_and_names_its_line(wrong: list[tuple[object, list[object]]]) -> None:
    with pytest.raises(AssertionError, match=f"line {len(wrong)}, "):
        play(state(), wrong)  # type: ignore[arg-type]
