"""The command line is read, and refused, as the real one does."""

import pytest

from simulators.cli.claude.flags import UsageError, parse

NEW, OLD = "2.1.332", "2.1.19"


def test_lists_take_words_until_the_next_flag() -> None:
    options = parse(["-p", "hi", "--allowedTools", "Bash(git log:*),Read", "Edit", "--model", "opus"], NEW)
    assert options.allowed_tools == ["Bash(git log:*)", "Read", "Edit"]
    assert (options.prompt, options.model, options.print) == ("hi", "opus", True)


def test_a_list_swallows_a_prompt_that_follows_it() -> None:
    assert parse(["-p", "--allowedTools", "Bash", "hi"], NEW).prompt is None


def test_a_value_may_begin_with_a_dash_and_follow_an_equals_sign() -> None:
    options = parse(["-p", "--append-system-prompt", "- be brief", "--model=opus", "hi"], NEW)
    assert (options.append_system_prompt, options.model, options.prompt) == ("- be brief", "opus", "hi")


def test_resume_takes_a_value_only_if_one_is_there() -> None:
    assert parse(["-p", "--resume", "--verbose"], NEW).resume == ""
    assert parse(["-r", "abc", "-p"], NEW).resume == "abc"


def test_short_flags_stand_together_and_two_dashes_end_them() -> None:
    options = parse(["-pc", "--", "--not-a-flag"], NEW)
    assert (options.print, options.continue_, options.prompt) == (True, True, "--not-a-flag")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--frobnicate"], "error: unknown option '--frobnicate'"),
        (["--model"], "error: option '--model <model>' argument missing"),
        (
            ["--output-format", "bogus"],
            "error: option '--output-format <format>' argument 'bogus' is invalid. "
            "Allowed choices are text, json, stream-json.",
        ),
    ],
)
def test_refusals_in_the_words_of_the_real_one(argv: list[str], said: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(argv, NEW)
    assert str(error.value) == said


def test_the_old_version_does_not_know_the_newer_flags() -> None:
    assert parse(["--system-prompt-snapshot", "off"], NEW).system_prompt_snapshot == "off"
    with pytest.raises(UsageError, match="unknown option '--system-prompt-snapshot'"):
        parse(["--system-prompt-snapshot", "off"], OLD)
