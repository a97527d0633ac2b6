"""The session on disk: it opens, its tree is sound, no prompt is lost, no tool ran twice, no answer came twice."""

from collections import Counter

from claw.lab.evidence import Evidence, Finding, SessionState, short

NAMES = ("session_opens", "tree_is_sound", "no_prompt_lost", "tool_run_at_most_once", "reply_delivered_once")


def look(evidence: Evidence) -> list[Finding]:
    state = evidence.session
    if state is None:
        why = "this runtime's sessions cannot be read"
        seen = [Finding(name=name, status="not_checked", saw=why) for name in NAMES if name != "tool_run_at_most_once"]
        return [*seen, tool_run_at_most_once(evidence)]
    opens = state.problem or f"{len(state.entries)} entries"
    return [
        Finding(name="session_opens", status="fail" if state.problem else "pass", saw=opens),
        tree_is_sound(state),
        no_prompt_lost(evidence, state),
        tool_run_at_most_once(evidence),
        reply_delivered_once(evidence, state),
    ]


def tree_is_sound(state: SessionState) -> Finding:
    """Ids are unique and every parent stands before its child."""
    problem = tree_problem(state)
    saw = problem or f"{len(state.entries)} entries in one tree"
    return Finding(name="tree_is_sound", status="fail" if problem else "pass", saw=saw)


def tree_problem(state: SessionState) -> str | None:
    """What is wrong with the tree, or None."""
    known: set[str] = set()
    for entry in state.entries:
        if entry.id in known:
            return f"two entries have the id {entry.id}"
        if entry.parent is not None and entry.parent not in known:
            return f"entry {entry.id} hangs on {entry.parent}, which does not stand before it"
        known.add(entry.id)
    return None


def no_prompt_lost(evidence: Evidence, state: SessionState) -> Finding:
    """Every prompt that was taken is in the session, killed or not: it is on disk before the first byte goes out."""
    asked = Counter(step.prompt for step in evidence.steps if step.prompt is not None)
    if not asked:
        return Finding(name="no_prompt_lost", status="not_checked", saw="nothing was asked")
    texts = [entry.text for entry in state.entries if entry.role == "user"]
    lost = [prompt for prompt, times in asked.items() if sum(prompt in text for text in texts) < times]
    saw = "; ".join(f"lost: {short(prompt)!r}" for prompt in lost) or f"{asked.total()} prompts, all there"
    return Finding(name="no_prompt_lost", status="fail" if lost else "pass", saw=saw)


def tool_run_at_most_once(evidence: Evidence) -> Finding:
    """A tool call is started once, whatever was retried, killed or resumed; ids tell calls apart."""
    streams = [step.outcome.events for step in evidence.steps if step.outcome and step.outcome.events is not None]
    results = evidence.session.entries if evidence.session else ()
    if not streams and not results:
        return Finding(name="tool_run_at_most_once", status="not_checked", saw="tool runs cannot be seen")
    started = Counter(str(event.get("id")) for stream in streams for event in stream if event["type"] == "tool_start")
    recorded = Counter(call for entry in results for call in entry.tool_results)
    twice = sorted({call for counts in (started, recorded) for call, times in counts.items() if times > 1})
    saw = f"run more than once: {', '.join(twice)}" if twice else f"{len(started | recorded)} calls, each once"
    return Finding(name="tool_run_at_most_once", status="fail" if twice else "pass", saw=saw)


def reply_delivered_once(evidence: Evidence, state: SessionState) -> Finding:
    """Each answer is in the session as often as it was given, and each run ends once in the stream of events."""
    answered = [step for step in evidence.prompts("all") if step.outcome and step.outcome.reply]
    if not answered:
        return Finding(name="reply_delivered_once", status="not_checked", saw="nothing was answered")
    problems = []
    given = Counter(step.outcome.reply.strip() for step in answered if step.outcome and step.outcome.reply)
    kept = Counter(entry.text.strip() for entry in state.entries if entry.role == "assistant")
    for reply, times in given.items():
        if kept[reply] != times:
            problems.append(f"{short(reply, 40)!r} was given {times} times and is in the session {kept[reply]} times")
    for step in answered:
        events = step.outcome.events if step.outcome else None
        ends = sum(event["type"] == "run_end" for event in events or ())
        if events and ends != 1:
            problems.append(f"the run of step {step.n} ended {ends} times")
    saw = "; ".join(problems) or f"{len(answered)} replies, each once"
    return Finding(name="reply_delivered_once", status="fail" if problems else "pass", saw=saw)
