"""The client sends what the API accepts."""

import pytest

from tests.simulators.verdict.story import Story, status, user

CHECK = "refused_by_validation"
HI = user("hi")


def test_a_malformed_request() -> None:
    story = (
        Story().ask(HI).refused(HI, kind="bad_request", answered_by="validation", message="max_tokens: Field required")
    )
    assert status(story, CHECK) == ("bad", (2,))
    assert "max_tokens: Field required" in story.verdict(CHECK).why


@pytest.mark.parametrize(
    ("kind", "code", "by"),
    [("auth", 401, "validation"), ("bad_request", 400, "turns[0]"), ("bad_request", 400, "unmatched"),
     ("context_overflow", 400, "overflow"), ("request_too_large", 413, "validation")],
)  # fmt: skip
def test_other_refusals_are_other_matters(kind: str, code: int, by: str) -> None:
    assert status(Story().refused(HI, kind=kind, status=code, answered_by=by), CHECK)[0] == "ok"
