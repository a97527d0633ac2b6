"""Plays: steps in order under virtual time, known-bads that must fail, budgets that end what runs away."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from claw.lab import runner, runtimes
from claw.lab.evidence import Outcome, SessionState, Spawn
from claw.lab.loader import Plan
from claw.lab.results import Result
from claw.lab.runtimes import Kind
from claw.lab.schema import Kill, Scenario
from claw.lab.stage import Stage
from simulators.core.wire import Request

BASE = """
about: It answers.
area: session
given: {instructions: "Say BANANA."}
provider: {turns: [{text: BANANA}]}
steps: [{prompt: "What is the capital of Germany?"}]
expect: [{reply: {contains: BANANA}}]
"""


class Stub:
    """A runtime made of one function: what it does with a prompt. It speaks the wire by hand."""

    name = "stub"
    capabilities = frozenset({"embedded", "virtual_time"})
    without_effect = frozenset({"cli_tools"})
    real_time = False

    def __init__(self, act: Callable[["Stub", str], Any]) -> None:
        self._act = act
        self.log: list[str] = []
        self.left: list[Spawn] = []

    def accepts(self, scenario: Scenario) -> str | None:
        return "no thinking here" if "thinking" in scenario.given.runtime else None

    async def start(self, stage: Stage) -> None:
        self.stage = stage

    async def prompt(self, text: str, *, kill: Kill | None = None) -> Outcome:
        self.log.append(f"prompt at {asyncio.get_running_loop().time():g}")
        made = self._act(self, text)
        reply = await made if asyncio.iscoroutine(made) else made
        return reply if isinstance(reply, Outcome) else Outcome(reply=reply, exit=0)

    async def compact(self) -> Outcome | None:
        self.log.append("compact")
        return None

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def restart(self) -> None:
        self.log.append("restart")

    async def session(self) -> SessionState | None:
        return None

    def spawns(self) -> list[Spawn] | None:
        return []

    def read_file(self, name: str) -> bytes | None:
        return None

    async def close(self) -> list[Spawn] | None:
        self.log.append("close")
        return self.left

    def call(self, *, system: str = "Say BANANA.") -> int:
        """Send one request; the status."""
        body = (
            f'{{"model": "claude-sonnet-4-5", "max_tokens": 10, "system": "{system}",'
            ' "messages": [{"role": "user", "content": "hi"}]}'
        )
        headers = (
            ("x-api-key", "sk-claw-lab-account-main"),
            ("anthropic-version", "2023-06-01"),
            ("content-type", "application/json"),
        )
        answer = self.stage.provider.handle(
            Request(method="POST", path="/v1/messages", headers=headers, body=body.encode())
        )
        statuses = [event.status for event in answer if hasattr(event, "status")]
        answer.close(self.stage.provider.now(), "complete")
        return statuses[0]


def answers(stub: Stub, text: str) -> str:
    return "BANANA" if stub.call() == 200 else ""


def run(plan: Plan, act: Callable[[Stub, str], Any] = answers) -> tuple[Result, list[Stub]]:
    made: list[Stub] = []

    def make() -> Stub:
        made.append(Stub(act))
        return made[-1]

    return runner.run_one(plan, Kind(name="stub", make=make)), made


def failed(result: Result) -> list[str]:
    return [check.name for check in result.failed_checks]


def test_a_good_play_passes_and_counts(plan: Any) -> None:
    result, _ = run(plan(BASE))
    assert (result.scenario, result.area, result.runtime, result.variant) == ("session/mine", "session", "stub", "")
    assert (result.status, result.why, result.requests) == ("pass", None, 1)
    names = [check.name for check in result.checks]
    assert names[0] == "reply"
    assert {"prefix_moved", "within_budget", "no_prompt_lost", "script_used_up"} <= set(names)


def test_steps_are_taken_in_order_under_virtual_time(plan: Any) -> None:
    steps = "steps: [{prompt: a}, {advance: 2h}, restart, {prompt: b}, compact]\n"
    result, stubs = run(plan(BASE.replace('steps: [{prompt: "What is the capital of Germany?"}]\n', steps)), _once)
    assert stubs[-1].log == ["prompt at 0", "restart", "prompt at 7200", "compact", "close"]
    assert result.virtual_s == 7200


def _once(stub: Stub, text: str) -> str:
    return answers(stub, text) if text == "a" else "BANANA"


def test_a_failing_check_fails_the_result_and_says_why(plan: Any) -> None:
    result, _ = run(plan(BASE), lambda stub, text: "Berlin" if stub.call() else "")
    assert (result.status, failed(result)) == ("fail", ["reply"])
    assert result.why == "reply: reply lacks `BANANA`: 'Berlin'"


def test_needs_and_settings_that_a_runtime_lacks_skip(plan: Any) -> None:
    result, _ = run(plan("needs: [cli, embedded]\n" + BASE))
    assert (result.status, result.why) == ("skip", "stub has no cli")
    result, _ = run(plan(BASE.replace("given: {", "given: {runtime: {thinking: low}, ")))
    assert (result.status, result.why) == ("skip", "no thinking here")


def test_a_runtime_that_breaks_is_an_error_not_a_failure(plan: Any) -> None:
    result, stubs = run(plan(BASE), lambda stub, text: 1 // 0)
    assert result.status == "error"
    assert result.why is not None and result.why.startswith("ZeroDivisionError") and "test_runner.py:" in result.why
    assert stubs[-1].log[-1] == "close"


def test_an_unused_turn_and_a_stray_request_fail(plan: Any) -> None:
    result, _ = run(plan(BASE), lambda stub, text: "BANANA")
    assert "script_used_up" in failed(result)
    result, _ = run(plan(BASE), lambda stub, text: (stub.call(), stub.call(), "BANANA")[-1])
    assert "nothing_unmatched" in failed(result)


def test_a_child_left_behind_is_found(plan: Any) -> None:
    def leave(stub: Stub, text: str) -> str:
        stub.left.append(Spawn(argv=("sleep", "99"), at=0.0))
        return answers(stub, text)

    assert failed(run(plan(BASE), leave)[0]) == ["no_child_left"]


def test_a_runaway_is_stopped_at_its_budget_of_calls(plan: Any) -> None:
    async def storm(stub: Stub, text: str) -> str:
        while True:
            stub.call()
            await asyncio.sleep(0.1)

    result, _ = run(plan("budget: {calls: 5}\n" + BASE), storm)
    assert "within_budget" in failed(result)
    assert result.requests == 5


def test_a_hang_is_stopped_at_its_budget_of_time(plan: Any) -> None:
    async def hang(stub: Stub, text: str) -> str:
        await asyncio.get_running_loop().create_future()
        return ""

    result, _ = run(plan("budget: {seconds: 60}\n" + BASE), hang)
    assert "within_budget" in failed(result)
    (seen,) = [check.saw for check in result.checks if check.name == "within_budget"]
    assert seen == "not done after 60 virtual seconds, in step 1"


BADS = BASE + "known_bad: [{%s, fails: %s}]\n"


@pytest.mark.parametrize(
    ("change", "fails", "expected", "by"),
    [
        ("with: {provider: {turns: [{text: Berlin}, {text: x}]}}", "script_used_up", True, "script_used_up"),
        ("with: {provider: {tokenizer: words}}", "reply", False, "reply passed"),
        ("with: {provider: {turns: []}}", "cost", False, "no such check here"),
        ("with: {given: {runtime: {thinking: low}}}", "reply", None, None),
        ("with: {given: {runtime: {cli_tools: claw}}}", "reply", None, None),
        ("mutate: drop_instructions", "reply", False, "reply passed"),
    ],
)
def test_a_known_bad_must_fail_at_its_check(plan: Any, change: str, fails: str, expected: Any, by: Any) -> None:
    result, _ = run(plan(BADS % (change, fails)))
    (bad,) = result.known_bad
    assert bad.failed_as_expected is expected
    assert bad.by is by if by is None else bad.by is not None and bad.by.startswith(by)
    assert result.status == ("fail" if expected is False else "pass")


def test_a_known_bad_that_looked_at_nothing_is_not_as_expected(plan: Any) -> None:
    story = BASE.replace("expect: [", "expect: [{waited: '>= 0s'}, ").replace(
        "turns: [", "turns: [{error: {kind: overloaded}}, "
    )
    story += "known_bad: [{with: {provider: {turns: [{text: BANANA}]}}, fails: waited}]\n"

    def twice(stub: Stub, text: str) -> str:
        return "BANANA" if stub.call() == 200 or stub.call() == 200 else ""

    result, _ = run(plan(story), twice)
    assert result.known_bad[0].failed_as_expected is False
    assert result.known_bad[0].by is not None and result.known_bad[0].by.startswith("waited looked at nothing")


def test_a_mutation_changes_what_the_provider_sees(plan: Any) -> None:
    story = BASE.replace("expect: [", "expect: [{every_request: {instructions_contain: BANANA}}, ")
    result, _ = run(plan(story + "known_bad: [{mutate: drop_instructions, fails: every_request}]\n"))
    assert [(bad.failed_as_expected, bad.by) for bad in result.known_bad] == [(True, "every_request")]


@pytest.mark.parametrize("name", runtimes.DEFAULT)
def test_the_same_seed_gives_the_same_play(plan: Any, name: str) -> None:
    """Every byte that was sent, every figure, every event; another seed gives other ids."""
    story = plan(BASE.replace("given: {", "given: {history: {turns: 2, tokens: 100}, "))
    kind = runtimes.named(name)
    first, second = (runner.play(story.scenario, kind.make(), seed=3) for _ in range(2))
    assert first.exchanges == second.exchanges
    assert first.steps == second.steps
    assert first.session == second.session
    other = runner.play(story.scenario, kind.make(), seed=4)
    assert other.session != first.session


KILLED = """
about: The process dies while its tool is at work.
area: session
given: {instructions: "Note it."}
provider:
  turns:
    - {tool_calls: [{name: exec, input: {command: "echo once >> out.txt"}}]}
    - {text: "It was noted before."}
  unused: allow
steps:
  - prompt: "Note it down."
  - kill: {at: AT}
  - prompt: "Is it noted?"
expect:
  - reply: {contains: noted}
  - session: {valid: true, holds: ["Note it down.", "Is it noted?"]}
"""


@pytest.mark.parametrize("at", ["run_start", "message_start", "part_delta", "tool_start", "tool_end", "message_end"])
def test_a_kill_at_any_moment_leaves_a_session_that_goes_on(plan: Any, at: str) -> None:
    story = plan(KILLED.replace("AT", at))
    evidence = runner.play(story.scenario, runtimes.named("claw").make())
    assert evidence.steps[0].outcome is not None and evidence.steps[0].outcome.killed
    seen = {finding.name: finding for finding in runner.judge(story, evidence)}
    for name in ("session", "session_opens", "tree_is_sound", "no_prompt_lost", "tool_run_at_most_once"):
        assert seen[name].status == "pass", seen[name]


def test_what_was_not_synced_is_gone_after_a_kill(tmp_path: Any) -> None:
    from claw.lab.runtimes._world import Dead, LabFiles, Life, World

    world, life = World(tmp_path), Life()
    files = LabFiles(world, life)
    files.append("/lab/home/a", b"synced\n")
    files.append("/lab/home/a", b"not\n", sync=False)
    life.over = True
    with pytest.raises(Dead):
        files.append("/lab/home/a", b"too late\n")
    world.crash()
    assert LabFiles(world, Life()).read("/lab/home/a") == b"synced\n"
