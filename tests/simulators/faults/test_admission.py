"""Answers instead of the provider's."""

import pytest

from simulators.core.turn import Failure
from simulators.core.wire import Abort, Head, Wait
from tests.simulators.faults.trouble import admitted, body


def test_a_rate_limit_says_when_to_come_back_unless_told_otherwise() -> None:
    assert admitted("rate_limited") == Failure(kind="rate_limited", retry_after=1.0)
    assert admitted("rate_limited", retry_after=7) == Failure(kind="rate_limited", retry_after=7.0)
    assert admitted("rate_limited", retry_after=None) == Failure(kind="rate_limited")


def test_an_overloaded_service_does_not() -> None:
    assert admitted("overloaded") == Failure(kind="overloaded")
    assert admitted("server_error", status=502) == Failure(kind="server_error", status=502)


def test_connections_that_end_before_an_answer() -> None:
    assert admitted("reset") == [Abort("reset")]
    assert admitted("hang") == [Wait(float("inf")), Abort("fin")]
    assert admitted("hang", seconds=30) == [Wait(30.0), Abort("fin")]


@pytest.mark.parametrize("status", [200, 502])
def test_a_page_for_people(status: int) -> None:
    events = admitted("html", status=status)
    assert isinstance(events, list)
    assert events[0] == Head(status, (("content-type", "text/html"),))
    assert body(events).startswith(b"<html>")


def test_an_empty_answer_has_the_content_type_that_was_asked_for() -> None:
    for stream, kind in ((True, "text/event-stream; charset=utf-8"), (False, "application/json")):
        events = admitted("empty", stream=stream)
        assert isinstance(events, list)
        assert isinstance(events[0], Head)
        assert dict(events[0].headers)["content-type"] == kind
        assert body(events) == b""


def test_a_redirect_stays_on_the_machine() -> None:
    events = admitted("redirect")
    assert isinstance(events, list)
    assert isinstance(events[0], Head)
    assert (events[0].status, dict(events[0].headers)["location"]) == (302, "/login")
