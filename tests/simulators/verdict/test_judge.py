"""The verdict as a whole: every check speaks, and well-behaved clients come out clean."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulators.verdict import checks, judge
from tests.simulators.verdict.story import Story, back, calls, says, status, user

CAPTURES = Path(__file__).parents[4] / "shared" / "captures"
DESIGNED = {
    "sent_before_retry_after", "same_oversize_request_again", "retried_the_unretryable", "retry_storm",
    "truncated_stream_accepted", "cut_tool_arguments_run", "tool_repeated_after_retry", "instructions_vanished",
    "prefix_moved", "refused_by_validation", "no_progress_loop", "shown_is_not_true",
}  # fmt: skip


def test_every_check_gives_one_finding_by_its_name() -> None:
    assert set(checks()) == DESIGNED
    assert [finding.check for finding in judge([])] == sorted(DESIGNED)


def test_an_empty_journal_proves_nothing() -> None:
    assert {finding.status for finding in judge([])} == {"not_checked"}


def test_a_good_run_has_no_bad_finding_and_some_good_ones() -> None:
    story = Story().ask(user("list"))
    story.ask(
        user("list"), calls("t1", command="ls"), back("t1", "a b"), tokens={"input": 9, "cache_read": 90, "output": 5}
    )
    story.ask(user("list"), calls("t1", command="ls"), back("t1", "a b"), says("a and b"), user("thanks"))
    found = {finding.check: finding.status for finding in judge(story.exchanges)}
    assert "bad" not in found.values()
    assert found["instructions_vanished"] == found["refused_by_validation"] == "ok"


def test_token_counting_and_other_paths_are_no_calls() -> None:
    story = Story().ask(user("hi"), path="/v1/messages/count_tokens").ask(user("hi"), path="/v1/models", request=None)
    assert {finding.status for finding in judge(story.exchanges)} == {"not_checked"}


@pytest.mark.parametrize(
    "request_", ["not json at all", None, {"messages": "odd"}, {"input": [1, {"type": "new"}]}, []]
)
def test_bodies_of_any_shape_are_read(request_: Any) -> None:
    story = Story().ask(user("a"), request=request_).ask(user("a"), request=request_, status=400)
    judge(story.exchanges)


# ------------------------------------------------------------------ the real clients


def recorded(names: list[str]) -> list[dict[str, Any]]:
    """Requests of recorded runs as exchanges. Long texts are replaced in the records; their marks stand for them."""
    exchanges: list[dict[str, Any]] = []
    start = 0.0
    for name in names:
        for line in (CAPTURES / name / "requests.jsonl").read_text().splitlines():
            record = json.loads(line)
            if not isinstance(record["body"], dict):
                continue
            told = str(record.get("reply", "")).split()
            code = int(told[1]) if told[:1] == ["err"] else 200
            body = _legible(record["body"])
            last = json.dumps(record["body"].get("messages", [])[-1:])
            exchanges.append({
                "n": len(exchanges) + 1, "at": start + record["t"], "key": "k", "path": record["path"].split("?")[0],
                "model": body.get("model"), "kind": "summary" if '"$len": 6912' in last else "main",
                "request": body, "status": code, "answered_by": "turns[0]", "ended": "complete", "cost_usd": 0.0,
                "faults": ["truncate"] if "DROP" in told else [], "tokens": None, "cache": None,
                "headers": {key.lower(): value for key, value in record["headers"]},
            })  # fmt: skip
        start = exchanges[-1]["at"] + 1 if exchanges else 0.0
    return exchanges


def _legible(value: Any) -> Any:
    if isinstance(value, dict):
        if "$len" in value:
            return "\n".join(["some long text", *(f"always say the word {mark}" for mark in value.get("$markers", []))])
        return {key: _legible(part) for key, part in value.items()}
    return [_legible(part) for part in value] if isinstance(value, list) else value


def folders() -> list[str]:
    return sorted(path.parent.name for path in CAPTURES.glob("[cxp]*/requests.jsonl")) if CAPTURES.is_dir() else []


# Both CLIs try a refused key again, Claude Code ten times: what the check is for.
TRUE_FINDINGS = {"retried_the_unretryable": {"c08_401", "c08_401_text_r1", "x04_401"}}


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="recorded runs of the real CLIs are not here (../shared/captures)")
def test_recorded_runs_are_here() -> None:
    assert len(folders()) > 100


@pytest.mark.parametrize("name", folders())
def test_real_clients_come_out_clean(name: str) -> None:
    bad = [finding for finding in judge(recorded([name])) if finding.status == "bad"]
    assert [finding for finding in bad if name not in TRUE_FINDINGS.get(finding.check, ())] == []


FAMILIES = [
    (
        "ok",
        ["c06_append_0_start", "c06_append_1_resume_without", "c06_append_2_resume_same", "c06_append_3_resume_diff"],
    ),
    ("bad", ["c06_append_snapoff_0_start", "c06_append_snapoff_1_resume_without"]),
    ("bad", [f"c07b_slash_compact_{step}" for step in ("0_start", "1_resume2", "2_compact", "3_after", "4_after_A")]),
    ("ok", [f"c07b2_slash_compact_with_append_{s}" for s in ("0_start", "1_resume2", "2_compact", "3_after")]),
    (
        "bad",
        [f"c07h_autocompact_resume_lost_append_{s}" for s in ("0_start", "1_r0", "2_r1", "3_r2", "4_r3", "6_after_A")],
    ),
    ("ok", [f"c07h2_autocompact_resume_kept_append_{step}" for step in ("0_start", "1_r0", "5_after")]),
]


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="recorded runs of the real CLIs are not here (../shared/captures)")
@pytest.mark.parametrize(("expected", "names"), FAMILIES, ids=lambda v: v if isinstance(v, str) else v[0])
def test_the_real_cli_loses_instructions_where_it_was_seen_to(expected: str, names: list[str]) -> None:
    """With snapshots off a resume without the flag loses them; with snapshots on a compaction does."""
    story = Story()
    story.exchanges = recorded(names)
    assert status(story, "instructions_vanished")[0] == expected
