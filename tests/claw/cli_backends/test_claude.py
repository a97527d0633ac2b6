"""The command line of Claude Code."""

import pytest

from claw.cli_backends import load
from claw.cli_backends.claude import BACKEND
from claw.core.calls import CliRun
from claw.core.errors import ClawError

RUN = CliRun(
    prompt="hi", system="Be terse.", model="claude-sonnet-4-5", cli_session="S-1", resume=False, workspace="/w"
)


def argv(**changes: object) -> list[str]:
    import msgspec

    return list(BACKEND.command(msgspec.structs.replace(RUN, **changes)).argv)


def after(args: list[str], flag: str) -> str | None:
    return args[args.index(flag) + 1] if flag in args else None


def test_the_folder_is_the_list_of_back_ends() -> None:
    assert load()["claude-cli"] is BACKEND


def test_a_fresh_run_streams_takes_the_prompt_from_stdin_and_names_its_session() -> None:
    args = argv()
    assert args[:6] == ["claude", "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
    assert after(args, "--session-id") == "S-1"
    assert "--resume" not in args
    assert "hi" not in args
    assert BACKEND.command(RUN).stdin == b"hi"


def test_a_resumed_run_names_the_model_again() -> None:
    args = argv(resume=True)
    assert (after(args, "--resume"), after(args, "--model")) == ("S-1", "claude-sonnet-4-5")
    assert "--session-id" not in args


@pytest.mark.parametrize(
    ("when", "fresh", "resumed"), [("always", True, True), ("first", True, False), ("never", False, False)]
)
def test_when_the_system_prompt_is_sent(when: str, fresh: bool, resumed: bool) -> None:
    """`first` is the old bug: the flag is gone on a resumed run, and with it the instructions."""
    sent = [after(argv(prompt_when=when, resume=r), "--append-system-prompt") == "Be terse." for r in (False, True)]
    assert sent == [fresh, resumed]


def test_a_system_prompt_that_no_argument_can_carry_is_refused_before_anything_starts() -> None:
    with pytest.raises(ClawError, match="200,000 bytes"):
        argv(system="x" * 200_000)


def test_other_mcp_servers_stay_out_and_ours_comes_in() -> None:
    assert "--strict-mcp-config" in argv()
    assert "--mcp-config" not in argv(mcp_config="/m.json")
    lent = argv(tools="claw", mcp_config="/m.json")
    assert (after(lent, "--mcp-config"), after(lent, "--tools"), after(lent, "--allowedTools")) == (
        "/m.json",
        "",
        "mcp__claw",
    )
    both = after(argv(tools="hybrid", mcp_config="/m.json"), "--allowedTools") or ""
    assert {"Bash", "mcp__claw"} <= set(both.split(","))


def test_thinking_and_window_reach_the_cli() -> None:
    import msgspec

    command = BACKEND.command(msgspec.structs.replace(RUN, thinking="high", context_window=150_000))
    assert after(list(command.argv), "--effort") == "high"
    assert command.env["MAX_THINKING_TOKENS"] == "16384"
    assert command.env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] == "150000"
    assert "--effort" not in argv(thinking="adaptive")


def test_what_leads_to_the_provider_is_left_in_the_environment() -> None:
    cleared = set(BACKEND.command(RUN).clear_env)
    assert not {name for name in cleared if name.startswith("ANTHROPIC_")}
    assert "CLAUDECODE" in cleared


def test_the_same_run_gives_the_same_command_line() -> None:
    """A byte that moves in argv moves the cached prefix."""
    assert BACKEND.command(RUN) == BACKEND.command(RUN)
