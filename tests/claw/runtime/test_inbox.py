"""Messages that arrive while a session is at work."""

import asyncio

import pytest

from claw.core.errors import ClawError
from claw.runtime.config import QueueOptions
from claw.runtime.inbox import Inbox
from claw.testing.fakes import fake_ports
from simulators.shells.virtual_time import run


class Desk:
    """A runner whose runs take ten seconds; `started` are the prompts it was asked, in order."""

    def __init__(self):
        self.started = []
        self.steered = []
        self.aborted = {}
        self.takes_steering = True

    async def run(self, prompt, session=None):
        self.started.append(prompt)
        stop = self.aborted[session] = asyncio.Event()
        if prompt == "bad":
            raise ClawError("no")
        try:
            await asyncio.wait_for(stop.wait(), 10)
            return f"stopped {prompt}"
        except TimeoutError:
            return f"re: {prompt}"
        finally:
            del self.aborted[session]

    def steer(self, session, text):
        self.steered.append(text)
        return self.takes_steering and session in self.aborted

    def abort(self, session):
        if session in self.aborted:
            self.aborted[session].set()
        return session in self.aborted


def story(*messages, desk=None, **options):
    """Send (second, text, more…) and give back every answer, the desk, and when all was over."""
    desk = desk or Desk()

    async def send(inbox, after, text, session="s", **more):
        await asyncio.sleep(after)
        return await inbox.submit(text, session, **more)

    async def all_of_it():
        inbox = Inbox(desk, fake_ports(None).clock, QueueOptions(**options))
        sent = [send(inbox, m[0], m[1], **(m[2] if len(m) > 2 else {})) for m in messages]
        answers = await asyncio.gather(*sent, return_exceptions=True)
        assert inbox._desks == {} and inbox._answers == {}
        return answers

    return run(all_of_it()), desk


def test_a_message_for_a_run_at_work_joins_it():
    answers, desk = story((0, "one"), (1, "two"))
    assert (answers, desk.started, desk.steered) == (["re: one", "re: one"], ["one"], ["two"])


def test_one_that_comes_too_late_to_join_is_answered_afterwards():
    desk = Desk()
    desk.takes_steering = False
    answers, _ = story((0, "one"), (1, "two"), desk=desk)
    assert answers == ["re: one", "re: two"]


def test_followups_are_a_run_each():
    answers, _ = story((0, "one"), (1, "two"), (2, "three"), mode="followup")
    assert answers == ["re: one", "re: two", "re: three"]


def test_collected_messages_are_one_run_after_a_quiet_moment():
    answers, desk = story((0, "one"), (1, "two", {"sender": "Ann"}), (9.9, "three"), (10.2, "four"), mode="collect")
    assert desk.started[0] == "one"
    assert "Queued #1 (from Ann)\ntwo" in desk.started[1] and "Queued #3\nfour" in desk.started[1]
    assert len(desk.started) == 2 and answers[1] == answers[2] == answers[3]


def test_an_interruption_ends_the_run_and_only_the_newest_is_answered():
    answers, _ = story((0, "one"), (1, "two", {"mode": "followup"}), (2, "three"), mode="interrupt")
    assert answers == ["stopped one", None, "re: three"]


@pytest.mark.parametrize(
    ("drop", "answered"),
    [("new", ["re: one", "re: a", "re: b", None]), ("old", ["re: one", None, "re: b", "re: c"])],
)
def test_beyond_the_cap_one_is_dropped(drop, answered):
    found, _ = story((0, "one"), (1, "a"), (2, "b"), (3, "c"), mode="followup", cap=2, drop=drop)
    assert found == answered


def test_what_was_dropped_may_leave_a_line_behind():
    _, desk = story((0, "one"), (1, "a  a"), (2, "b"), (3, "c"), mode="collect", cap=2)
    assert "Dropped 1 message due to cap.\nSummary:\n- a a" in desk.started[1]


def test_the_same_key_is_answered_once():
    answers, desk = story((0, "one", {"key": "k"}), (1, "one", {"key": "k"}), (30, "one", {"key": "k"}))
    assert (answers, desk.started) == (["re: one"] * 3, ["one"])


def test_stop_ends_the_run_and_what_waits():
    answers, _ = story((0, "one"), (1, "two", {"mode": "followup"}), (2, "/stop"), (3, "stop the music"))
    assert answers == ["stopped one", None, None, "re: stop the music"]


def test_a_run_that_cannot_be_is_told_to_who_asked_and_the_next_goes_on():
    answers, _ = story((0, "bad"), (0, "two"), mode="followup")
    assert isinstance(answers[0], ClawError) and answers[1] == "re: two"


def test_sessions_do_not_wait_for_each_other():
    answers, desk = story((0, "one"), (1, "two", {"session": "t"}), mode="followup")
    assert (answers, desk.started) == (["re: one", "re: two"], ["one", "two"])


def test_closing_ends_all():
    async def closing():
        desk = Desk()
        inbox = Inbox(desk, fake_ports(None).clock)
        one = asyncio.create_task(inbox.submit("one", "s"))
        two = asyncio.create_task(inbox.submit("two", "s", mode="followup"))
        await asyncio.sleep(1)
        await inbox.close()
        return await one, await two

    assert run(closing()) == ("stopped one", None)
