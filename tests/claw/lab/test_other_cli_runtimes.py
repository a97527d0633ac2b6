"""`claw:codex` and `claw:gemini`: the same scenarios over other CLIs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from claw.cli.scenario import app

STORY = """
about: Instructions hold over a restart, and what is shown is true.
area: resume
needs: [cli, resume]
given:
  model: MODEL
  instructions: "Answer every question about capitals with BANANA."
  workspace: {notes.md: "MARK_NOTES"}
provider:
  turns:
    - {error: {kind: rate_limited, retry_after: 3}}
    - {text: "Let me look.", tool_calls: [TOOL]}
    - {text: "BANANA"}
    - {text: "BANANA again"}
steps:
  - prompt: "What is the capital of Germany?"
  - restart
  - prompt: "And of France?"
expect:
  - reply: {contains: BANANA}
  - every_request: {instructions_contain: BANANA}
  - request: {n: 3, body_contains: MARK_NOTES}
  - requests: {count: 4}
  - spawns: {count: 2}
  - tools: {count: 1}
  - waited: ">= 3s"
known_bad:
  - {mutate: drop_instructions, fails: every_request}
"""
OVER = {
    "claw:codex": ("openai/gpt-5.5", "{name: exec_command, input: {cmd: cat notes.md}}"),
    "claw:gemini": ("gemini/gemini-2.5-flash", "{name: read_file, input: {file_path: notes.md}}"),
}


@pytest.mark.parametrize("runtime", OVER)
def test_a_story_over_another_cli(tmp_path: Path, runtime: str) -> None:
    model, tool = OVER[runtime]
    story = STORY.replace("MODEL", model).replace("TOOL", tool)
    (tmp_path / "story.yaml").write_text(story)
    done = CliRunner().invoke(app, ["run", str(tmp_path / "story.yaml"), "--runtime", runtime, "--json"])
    result = json.loads(done.stdout)["results"][0]
    assert (result["status"], result["why"]) == ("pass", None)
    assert result["known_bad"][0]["failed_as_expected"] is True


@pytest.mark.parametrize("runtime", OVER)
def test_another_vendors_models_are_not_for_it(tmp_path: Path, runtime: str) -> None:
    story = STORY.replace("MODEL", "anthropic/claude-sonnet-4-5").replace("TOOL", "{name: x, input: {}}")
    (tmp_path / "story.yaml").write_text(story)
    done = CliRunner().invoke(app, ["run", str(tmp_path / "story.yaml"), "--runtime", runtime, "--json"])
    assert json.loads(done.stdout)["results"][0]["status"] == "skip"
