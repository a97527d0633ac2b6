"""A refusal for good is not asked again."""

import pytest

from tests.simulators.verdict.story import Story, status, user

CHECK = "retried_the_unretryable"
HI = user("hi")


@pytest.mark.parametrize(
    ("kind", "code"), [("auth", 401), ("billing", 402), ("auth", 403), ("model_not_found", 404), ("bad_request", 400)]
)
def test_the_same_again(kind: str, code: int) -> None:
    assert status(Story().refused(HI, kind=kind, status=code).ask(HI), CHECK) == ("bad", (1, 2))


def test_an_empty_account_behind_a_429_is_for_good_too() -> None:
    assert (
        status(Story().refused(HI, kind="billing", status=429).refused(HI, kind="billing", status=429), CHECK)[0]
        == "bad"
    )


def test_a_journal_without_kinds_is_judged_by_status() -> None:
    assert status(Story().ask(HI, status=401).ask(HI, status=401), CHECK)[0] == "bad"


def test_repaired_or_given_up_or_another_account() -> None:
    story = Story().refused(HI, kind="bad_request").ask(HI, body={"temperature": 1})
    assert status(story.refused(user("x"), kind="auth", status=401).ask(user("x"), key="spare"), CHECK)[0] == "ok"


def test_fewer_beta_features_are_another_request_though_the_body_is_the_same() -> None:
    story = Story().refused(HI, kind="bad_request", headers={"anthropic-beta": "a,b"})
    assert status(story.ask(HI, headers={"anthropic-beta": "a"}), CHECK)[0] == "ok"
    assert status(story.ask(HI, headers={"anthropic-beta": "a,b"}), CHECK)[0] == "bad"


@pytest.mark.parametrize(("kind", "code"), [("rate_limited", 429), ("overloaded", 529), ("server_error", 500)])
def test_what_may_pass_may_be_tried_again(kind: str, code: int) -> None:
    assert status(Story().refused(HI, kind=kind, status=code).ask(HI), CHECK)[0] == "not_checked"


def test_a_gap_in_the_script_is_not_the_clients_fault() -> None:
    story = (
        Story()
        .refused(HI, kind="bad_request", answered_by="unmatched")
        .refused(HI, kind="bad_request", answered_by="unmatched")
    )
    assert status(story, CHECK)[0] == "not_checked"
