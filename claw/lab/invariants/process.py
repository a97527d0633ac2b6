"""The process: it comes to an end within its budget, its exit code is true, and it leaves no child behind."""

from claw.lab.evidence import Evidence, Finding, Played, short

NAMES = ("within_budget", "exit_is_true", "no_child_left")


def look(evidence: Evidence) -> list[Finding]:
    return [within_budget(evidence), exit_is_true(evidence), no_child_left(evidence)]


def within_budget(evidence: Evidence) -> Finding:
    """Calls and virtual time stay within `budget`."""
    budget = evidence.scenario.budget
    if evidence.spent:
        return Finding(name="within_budget", status="fail", saw=evidence.spent)
    saw = f"{len(evidence.exchanges)} of {budget.calls} requests, {evidence.virtual_s:.1f} of {budget.seconds:g} s"
    return Finding(name="within_budget", status="pass", saw=saw)


def exit_is_true(evidence: Evidence) -> Finding:
    """0 exactly when there is an answer and no failure; anything else says that the run failed."""
    prompts = [step for step in evidence.prompts("all") if step.kind == "prompt"]
    told = [step for step in prompts if step.outcome and step.outcome.exit is not None]
    if not told:
        return Finding(name="exit_is_true", status="not_checked", saw="no prompt ended with an exit code")
    lies = [lie for lie in map(_lie, told) if lie]
    return Finding(
        name="exit_is_true",
        status="fail" if lies else "pass",
        saw="; ".join(lies) or f"{len(told)} exit codes agree with what was answered",
    )


def _lie(step: Played) -> str | None:
    outcome = step.outcome
    assert outcome is not None
    answered = bool(outcome.reply)
    if outcome.exit == 0 and outcome.failure is not None:
        return f"step {step.n} exits 0 but failed: {outcome.failure.kind}"
    if outcome.exit == 0 and not answered:
        return f"step {step.n} exits 0 without an answer"
    if outcome.exit != 0 and outcome.failure is None and answered:
        return f"step {step.n} exits {outcome.exit} though it answered {short(outcome.reply, 30)!r}"
    return None


def no_child_left(evidence: Evidence) -> Finding:
    """Every process that was started has ended when the runtime has."""
    if evidence.children is None:
        return Finding(name="no_child_left", status="not_checked", saw="this runtime's processes cannot be seen")
    left = evidence.children
    started = sum(len(step.spawns) for step in evidence.steps)
    saw = "; ".join(short(" ".join(child.argv)) for child in left) or f"{started} started, none left"
    return Finding(name="no_child_left", status="fail" if left else "pass", saw=saw)
