"""The scenarios that come with claw: each can fail, says where it was reported, and fails for the reason it names."""

import pytest

from claw.lab import library, runner, runtimes
from claw.lab.evidence import Evidence, Finding
from claw.lab.loader import Plan, load_all
from claw.lab.schema import AREAS

PLANS = load_all([library.folder()])


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.name} {plan.variant}")
def test_each_scenario_can_fail_and_says_where_it_comes_from(plan: Plan) -> None:
    scenario = plan.scenario
    assert scenario.known_bad, "the library requires a known-bad"
    assert scenario.source and all(link.startswith("https://") for link in scenario.source)
    assert len(scenario.about.split()) >= 12
    assert plan.path.endswith((f"/{plan.name}.yaml", f"/{plan.name}.py")), "a scenario lies in the folder of its area"


def test_the_five_families_are_there() -> None:
    areas = {plan.scenario.area for plan in PLANS}
    assert {"overflow", "rate_limit", "cache", "compaction", "resume"} <= areas <= set(AREAS)


def known_bad(name: str, runtime: str, number: int) -> tuple[Evidence, list[Finding]]:
    """Play a scenario with one of its known-bads; what was seen at the check that it must fail."""
    (plan,) = [plan for plan in PLANS if plan.name == name]
    bad, change = plan.known_bad[number], plan.scenario.known_bad[number]
    evidence = runner.play(bad.scenario, runtimes.named(runtime).make(), mutate=change.mutate)
    return evidence, [seen for seen in runner.judge(bad, evidence) if seen.status == "fail"]


def saw(findings: list[Finding], name: str) -> str:
    return "; ".join(seen.saw for seen in findings if seen.name == name)


def test_a_prompt_given_once_answers_berlin() -> None:
    evidence, failed = known_bad("resume/banana", "claw:claude", 0)
    assert [step.outcome.reply for step in evidence.steps if step.outcome] == ["BANANA", "Paris", "Madrid"]
    assert saw(failed, "every_request") == "request 2: its instructions lack `BANANA`"


def test_the_sum_of_a_result_is_shown_as_the_context() -> None:
    _, failed = known_bad("compaction/summed_usage", "claw:claude", 0)
    assert "context_tokens 2080469, not 85501" in saw(failed, "usage")
    assert "context_percent 1040, not 43" in saw(failed, "usage")


def test_instructions_given_once_survive_until_the_cli_compacts() -> None:
    """2.1.332 replays its snapshot; after the compaction of step 3 it renders what this launch was given: nothing."""
    evidence, failed = known_bad("compaction/claude_code", "claw:claude", 1)
    compacted = next(step for step in evidence.steps if step.n == 3)
    first = next(call["n"] for call in compacted.exchanges if call["kind"] == "main")
    assert saw(failed, "every_request").startswith(f"request {first}: its instructions lack")


def test_a_runtime_that_does_not_wait_is_caught_by_the_clock_and_by_the_verdict() -> None:
    evidence, failed = known_bad("rate_limit/retry_after", "claw", 0)
    assert evidence.virtual_s == 0
    assert saw(failed, "waited") == "seconds between request 1 and 2 0, not >= 7s"
    assert "sent_before_retry_after" in {seen.name for seen in failed}


def test_a_clock_in_the_prompt_is_named_by_its_place() -> None:
    _, failed = known_bad("cache/twelve_turns", "claw", 0)
    assert "breaks (system[0]) 11, not 0" in saw(failed, "cache")
    assert "system[0]" in saw(failed, "prefix_moved")


def test_without_compaction_the_overflow_reaches_the_user() -> None:
    evidence, _ = known_bad("overflow/compacts_once", "claw", 0)
    failures = [step.outcome.failure for step in evidence.steps if step.outcome]
    assert all(failure is not None and failure.kind == "context_overflow" for failure in failures)
