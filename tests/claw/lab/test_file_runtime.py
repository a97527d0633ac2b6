"""A runtime that is a command: described in YAML, played with real processes against a served simulator."""

import sys
from pathlib import Path
from typing import Any

import pytest

from claw.lab import runner, runtimes
from claw.lab.loader import Plan
from simulators.core.document import DocumentError

# A runtime in a few lines: keeps its instructions in AGENTS.md, asks once, prints the answer as JSON.
PROGRAM = """
import json, os, sys, urllib.request
prompt, session, mode = sys.argv[1:4]
told = open("AGENTS.md").read() if os.path.exists("AGENTS.md") else ""
body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": told,
        "messages": [{"role": "user", "content": prompt}]}
headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
headers["x-api-key"] = os.environ["ANTHROPIC_API_KEY"]
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
try:
    answer = json.load(urllib.request.urlopen(request))
except urllib.error.HTTPError as error:
    sys.exit(f"refused with {error.code}")
print("working on it")
print(json.dumps({"out": {"text": answer["content"][0]["text"]}, "tokens": answer["usage"]["input_tokens"]}))
if "leave" in prompt:
    import subprocess
    subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
RUNTIME = """
command:
  fresh: [PYTHON, PROGRAM, "{prompt}", "{session}", fresh]
  resume: [PYTHON, PROGRAM, "{prompt}", "{session}", resume]
reply: {json: out.text}
reports: {context_tokens: tokens}
"""
STORY = """
about: It answers.
area: session
given: {instructions: "Say BANANA."}
provider: {tokenizer: words, turns: [{text: BANANA}, {text: BANANA}]}
steps: [{prompt: "Germany?"}, {advance: 1h}, restart, {prompt: "France?"}]
expect:
  - reply: {equals: BANANA}
    step: all
  - every_request: {instructions_contain: BANANA}
  - usage: {context_tokens: 3}
  - spawns: {count: 2, argv_contains: resume}
    step: 4
  - tools: {count: 0}
known_bad: [{mutate: drop_instructions, fails: every_request}]
"""


@pytest.fixture
def runtime_file(tmp_path: Path) -> Any:
    (tmp_path / "program.py").write_text(PROGRAM)

    def write(text: str = RUNTIME) -> Path:
        path = tmp_path / "small.yaml"
        path.write_text(text.replace("PYTHON", sys.executable).replace("PROGRAM", str(tmp_path / "program.py")))
        return path

    return write


@pytest.mark.slow
def test_a_command_is_played_and_what_it_does_not_tell_is_not_checked(plan: Any, runtime_file: Any) -> None:
    story: Plan = plan(STORY.replace("count: 2, argv", "count: 1, argv"))
    result = runner.run_one(story, runtimes.named(str(runtime_file("capabilities: [cli]\n" + RUNTIME))))
    assert result.status == "pass", result.why
    assert result.runtime == "small"
    assert result.virtual_s >= 3600  # the provider's clock was moved
    status = {check.name: check.status for check in result.checks}
    assert (status["tools"], status["no_prompt_lost"], status["no_child_left"]) == (
        "not_checked",
        "not_checked",
        "pass",
    )
    assert [bad.failed_as_expected for bad in result.known_bad] == [True]


@pytest.mark.slow
def test_a_failure_is_told_by_its_exit_code(plan: Any, runtime_file: Any) -> None:
    story: Plan = plan(STORY.replace("turns: [{text: BANANA}, {text: BANANA}]", "turns: [{error: {kind: billing}}]"))
    evidence = runner.play(story.scenario, runtimes.named(str(runtime_file())).make())
    first = evidence.steps[0].outcome
    assert first is not None and first.failure is not None
    assert (first.exit, first.failure.kind, first.failure.message) == (1, "", "refused with 400")


@pytest.mark.slow
def test_a_child_that_outlives_its_command_is_found_and_ended(plan: Any, runtime_file: Any) -> None:
    story: Plan = plan(STORY.replace("Germany?", "leave something"))
    result = runner.run_one(story, runtimes.named(str(runtime_file())))
    assert "no_child_left" in [check.name for check in result.failed_checks]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("history: {turns: 2, tokens: 100}", "small cannot be given a history"),
        ("runtime: {thinking: low}", "small does not take the settings thinking"),
    ],
    ids=["history", "settings"],
)
def test_what_a_command_cannot_be_given_skips(plan: Any, runtime_file: Any, given: str, why: str) -> None:
    story: Plan = plan(STORY.replace("given: {", f"given: {{{given}, "))
    assert runner.misfit(story.scenario, runtimes.named(str(runtime_file())).make()) == why


@pytest.mark.parametrize(
    ("right", "wrong", "error"),
    [
        ("reply:", "repl:", "7: repl: unknown key `repl`; did you mean `reply`?"),
        ("fresh]", '"{promt}"]', "3: command.fresh[4]: there is no place `{promt}`; did you mean `prompt`?"),
        ("fresh]", '"{"]', "3: command.fresh[4]: a brace that stands for itself is doubled: {{"),
        ("\ncommand:", "capabilities: [clii]\ncommand:", "1: capabilities[0]: there is no capability `clii`; did you"),
    ],
    ids=["key", "place", "brace", "capability"],
)
def test_a_mistake_in_the_file_is_named_with_its_line(runtime_file: Any, right: str, wrong: str, error: str) -> None:
    path = runtime_file(RUNTIME.replace(right, wrong, 1))
    with pytest.raises(DocumentError) as caught:
        runtimes.named(str(path))
    said = str(caught.value).removeprefix(f"{path}:")
    assert said.partition(": ")[2].startswith(error.partition(": ")[2])


def test_the_presets_of_the_library_are_right() -> None:
    assert "claude" in runtimes.presets()
    for name in runtimes.presets():
        assert runtimes.named(name).name == name
