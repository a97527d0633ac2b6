"""The real claude and the fake side by side, before the same answers. Skips where the real one is not installed."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simulators.shells import shims

from . import captures
from .served_stub import served
from .stub import STREAM, Refuse, Reply, Run, Say, Stub

RUNNER = captures.FOLDER.parent / "real-clients/run"
INSTALLED = Path(os.environ.get("REAL_CLIENTS") or Path.home() / ".cache/real-clients") / "claude-code/node_modules"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not RUNNER.exists() or not INSTALLED.exists() or os.geteuid() != 0,
        reason=f"the real claude is not installed at {INSTALLED}, or {RUNNER} is missing, or this is not root",
    ),
]
FLAG = ("--append-system-prompt", "MARK_A house rules")
BASH = {"id": "toolu_01", "name": "Bash", "input": {"command": "echo hi", "description": "d"}}
WRITE = {"id": "toolu_02", "name": "Bash", "input": {"command": "touch made"}}
SUMMARY = Say("<summary>MARK_SUMMARY and more</summary>", input=50, output=400)
LIMIT = Refuse(429, "rate_limit_error", "rate limited", {"retry-after": "1"})
BUSY = Refuse(529, "overloaded_error", "Overloaded")
SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
NARROW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
# name → (answers, command lines one after the other in one home, more environment); LAST is the session of the first
STORIES: dict[str, tuple[list[Reply], list[tuple[str, ...]], dict[str, str]]] = {
    "one prompt": ([Say("Hello", input=3, write=900)], [("-p", "hi", *STREAM)], {}),
    "json": ([Say("Hello", input=3, write=900)], [("-p", "hi", "--output-format", "json")], {}),
    "partial messages": ([Say("Hello", thinking="why")], [("-p", "hi", *STREAM, "--include-partial-messages")], {}),
    "tool loop": (
        [Say("Let me", calls=[BASH]), Say(calls=[WRITE]), Say("Done")],
        [("-p", "hi", *STREAM, "--allowedTools", "Bash")],
        {},
    ),
    "denied": ([Say(calls=[WRITE]), Say("Done")], [("-p", "hi", *STREAM)], {}),
    "resume without the flag": (
        [Say("one"), Say("two"), Say("three")],
        [("-p", "hi", *STREAM, *FLAG), ("-p", "more", *STREAM, "--resume", "LAST"), ("-p", "x", *STREAM, "--continue")],
        {},
    ),
    "resume with the flag": (
        [Say("one"), Say("two")],
        [("-p", "hi", *STREAM, *FLAG), ("-p", "more", *STREAM, *FLAG, "--resume", "LAST")],
        {},
    ),
    "fork": (
        [Say("one"), Say("two")],
        [("-p", "hi", *STREAM), ("-p", "more", *STREAM, "--resume", "LAST", "--fork-session")],
        {},
    ),
    "unknown session": (
        [Say("x")],
        [("-p", "hi", *STREAM, "--resume", "11111111-2222-4333-8444-555555555555")],
        {},
    ),
    "manual compaction": (
        [Say("one", input=1000), Say("two", input=1000), SUMMARY, Say("three", input=1000)],
        [
            ("-p", "hi", *STREAM, *FLAG),
            ("-p", "more", *STREAM, "--resume", "LAST"),
            ("-p", "/compact", *STREAM, "--resume", "LAST"),
            ("-p", "after", *STREAM, "--resume", "LAST"),
        ],
        {},
    ),
    "automatic compaction": (
        [Say("one", input=1000), Say("two", input=10, read=170_000), SUMMARY, Say("three", input=1000)],
        [
            ("-p", "hi", *STREAM, *FLAG),
            ("-p", "more", *STREAM, *FLAG, "--resume", "LAST"),
            ("-p", "after", *STREAM, *FLAG, "--resume", "LAST"),
        ],
        NARROW,
    ),
    "rate limit": ([LIMIT, Say("ok")], [("-p", "hi", *STREAM)], {}),
    "overloaded": ([BUSY], [("-p", "hi", *STREAM)], {}),
    "a stream that is cut": ([Say("Hello and more words", cut_after=3), Say("ok")], [("-p", "hi", *STREAM)], {}),
    "max turns": ([Say(calls=[BASH])], [("-p", "hi", *STREAM, "--max-turns", "1", "--allowedTools", "Bash")], {}),
    "a form is asked for": (
        [
            Say("no form"),
            Say(calls=[{"id": "toolu_03", "name": "StructuredOutput", "input": {"n": "x"}}]),
            Say(calls=[{"id": "toolu_04", "name": "StructuredOutput", "input": {"n": 1}}]),
        ],
        [("-p", "hi", *STREAM, "--json-schema", SCHEMA)],
        {},
    ),
    "instructions in a file": ([Say("Hello")], [("-p", "hi", *STREAM, "--setting-sources", "project")], {}),
}
# Differences that are known, by story and what is compared, with the reason.
KNOWN: dict[tuple[str, str], str] = {
    ("a stream that is cut", "figures"): "a broken attempt is charged or not by how much of it came before the reset",
}


def _run(command: list[str], env: dict[str, str], cwd: Path) -> Run:
    done = subprocess.run(
        command, env=env, cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr)


def play(folder: Path, story: str, *, real: bool) -> tuple[list[Run], Stub]:
    """All command lines of a story with one of the two."""
    replies, lines, more = STORIES[story]
    home, cwd = folder / "home", folder / "cwd"
    for path in (home, cwd):
        path.mkdir(parents=True)
    if story == "instructions in a file":
        (cwd / "CLAUDE.md").write_text("MARK_MEMORY be nice\n")
    stub, runs, session = Stub(*replies), [], ""
    with served(stub) as port:
        for line in lines:
            words = [session if word == "LAST" else word for word in line]
            if real:
                env = {**os.environ, "PORT": str(port), "RUN_HOME": str(home), "RUN_CWD": str(cwd)}
                env["EXTRA_ENV"] = " ".join(f"{k}={v}" for k, v in more.items())
                run = _run([str(RUNNER), "claude", *words], env, cwd)
            else:
                shims.install(folder / "bin")
                env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(folder), **more}
                env |= {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "sk-test-000"}
                run = _run([str(folder / "bin/claude"), *words], env, cwd)
            runs.append(run)
            session = session or next((e["session_id"] for e in run.events if "session_id" in e), "")
    return runs, stub


def _any_port(text: Any) -> Any:
    return re.sub(r"127\.0\.0\.1:\d+", "HOST", text) if isinstance(text, str) else text


def digest(story: str, runs: list[Run], stub: Stub) -> dict[str, Any]:
    """What is compared, by name."""
    made: dict[str, Any] = {"exit codes": [r.exit for r in runs]}
    made["events"] = [captures.shape_of_events(r.events) for r in runs]
    results = [e for r in runs for e in r.events if e["type"] == "result" and "usage" in e]
    made["figures"] = [{**f, "result": _any_port(f["result"])} for f in map(captures.figures, results)]
    asked = [json.loads(request.body) for request in stub.requests]
    made["requests"] = [
        {**captures.shape_of_request(request.headers, body), "headers": None}
        for request, body in zip(stub.requests, asked, strict=True)
    ]
    made["marks"] = [
        [mark for mark in ("MARK_A", "MARK_MEMORY", "MARK_SUMMARY") if mark in json.dumps(b)] for b in asked
    ]
    return made


@pytest.mark.parametrize("story", STORIES)
def test_real_and_fake_agree(story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command lines before the same answers: events, keys, figures, exit codes and requests."""
    theirs = digest(story, *play(tmp_path / "real", story, real=True))
    mine = digest(story, *play(tmp_path / "fake", story, real=False))
    with capsys.disabled():
        print(f"\n{story}: {sum(map(len, theirs['events']))} events, {len(theirs['requests'])} requests compared")
    assert theirs["events"], "nothing was compared"
    for what in theirs:
        if (story, what) not in KNOWN:
            assert mine[what] == theirs[what], what
