"""Retries are few and have pauses."""

from tests.simulators.verdict.story import Story, status, user

CHECK = "retry_storm"
HI = user("hi")


def failing(*pauses: float, code: int = 529) -> Story:
    story = Story().ask(HI, status=code)
    for pause in pauses:
        story.ask(HI, status=code, after=pause)
    return story


def test_five_attempts_in_two_seconds() -> None:
    assert status(failing(0.1, 0.1, 0.1, 0.1), CHECK) == ("bad", (1, 2, 3, 4, 5))


def test_layers_of_retries() -> None:
    assert status(failing(*[5.0] * 20), CHECK)[0] == "bad"


def test_the_official_sdks_three_attempts() -> None:
    assert status(failing(0.38, 0.75).ask(HI, after=2.0), CHECK)[0] == "ok"


def test_claude_codes_eleven_attempts() -> None:
    assert status(failing(0.55, 1.1, 2.2, 4.6, 8.7, 17, 20, 33, 33, 33, code=429), CHECK)[0] == "ok"


def test_many_whole_answers_to_one_question_are_no_retries() -> None:
    story = Story()
    for _ in range(50):
        story.ask(HI, after=0.0)
    assert status(story, CHECK)[0] == "not_checked"


def test_two_bursts_with_an_answer_between_are_two_runs() -> None:
    story = failing(0.1, 0.1).ask(HI, after=0.1)
    for _ in range(3):
        story.ask(HI, status=529, after=0.1)
    assert status(story.ask(HI, after=0.1), CHECK)[0] == "ok"


def test_different_requests_that_fail_are_no_storm() -> None:
    story = Story()
    for i in range(10):
        story.ask(user(f"job {i}"), status=529, after=0.0)
    assert status(story, CHECK)[0] == "not_checked"
