"""The system prompt keeps still: what changes comes after what is cached."""

import pytest

from claw.core.calls import ToolSpec
from claw.host import HostFiles
from claw.prompt import as_text, build

NEW_YEAR = 1767225600.0  # Thursday 2026-01-01T00:00:00Z
TOOLS = (ToolSpec("read", "Read a file. Long story.", {}), ToolSpec("exec", "Run a command.", {}))


@pytest.fixture
def prompt(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Answer with BANANA.")
    (tmp_path / "HEARTBEAT.md").write_text("Water the plants.")

    def made(now=NEW_YEAR, **more):
        return build(files=HostFiles(), workspace=str(tmp_path), now=now, tools=TOOLS, **more)

    return made


def test_instructions_and_tools_stand_in_the_stable_part_and_the_day_after_it(prompt):
    stable, volatile = prompt()
    assert stable.stable
    assert not volatile.stable
    assert "## AGENTS.md\n\nAnswer with BANANA." in stable.text
    assert "- read: Read a file\n- exec: Run a command" in stable.text
    assert volatile.text.endswith("Today is Thursday, 2026-01-01 (UTC).")
    assert "Water the plants." in volatile.text


def test_the_same_day_gives_the_same_bytes_and_the_next_day_moves_the_last_block_alone(prompt):
    morning, evening, tomorrow = prompt(NEW_YEAR), prompt(NEW_YEAR + 86_399), prompt(NEW_YEAR + 86_400)
    assert morning == evening
    assert morning[0] == tomorrow[0]
    assert morning[1] != tomorrow[1]


def test_a_clock_in_the_prompt_moves_the_stable_part_every_second(prompt):
    first, second = prompt(clock_in_prompt=True), prompt(NEW_YEAR + 1, clock_in_prompt=True)
    assert "2026-01-01 00:00:01" in second[0].text
    assert first[0] != second[0]


def test_nothing_of_this_machine_is_in_it(prompt, tmp_path):
    assert str(tmp_path) not in as_text(prompt())


def test_the_callers_own_text_is_volatile(prompt):
    stable, volatile = prompt(extra="You are in the group `cats`.")
    assert "cats" in volatile.text
    assert "cats" not in stable.text


def test_modes_say_less(prompt):
    full, minimal, none = (as_text(prompt(mode=mode)) for mode in ("full", "minimal", "none"))
    assert len(full) > len(minimal) > len(none) > 0
    assert "BANANA" in minimal
    assert "BANANA" not in none


def test_one_text_for_a_cli_holds_every_block(prompt):
    blocks = prompt()
    assert all(block.text in as_text(blocks) for block in blocks)
