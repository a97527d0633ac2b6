"""The real gemini-cli and the fake side by side, before the same answers. Skips where the real one is not installed."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simulators.shells import shims

from .captures import FOLDER
from .gemini_stub import GeminiStub, Pieces, Refuse, Reply, call, say
from .served_stub import served
from .stub import Run
from .test_gemini_captures import shape, shape_of_request

RUNNER = FOLDER.parent / "real-clients/run"
INSTALLED = Path(os.environ.get("REAL_CLIENTS") or Path.home() / ".cache/real-clients") / "gemini-cli/node_modules"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not RUNNER.exists() or not INSTALLED.exists() or os.geteuid() != 0 or shutil.which("node") is None,
        reason=f"the real gemini is not installed at {INSTALLED}, or {RUNNER} is missing, or this is not root",
    ),
]
LINES = ("-p", "hi", "-o", "stream-json")
FLASH = ("-m", "gemini-2.5-flash")
SOON = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]
DAILY = [
    {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
    }
]
TOO_LONG = "The input token count (1500000) exceeds the maximum number of tokens allowed (1048576)."
EASY = json.dumps({"complexity_reasoning": "easy", "complexity_score": 20})
# name → (answers, command lines one after the other in one home; LAST is the session of the first)
STORIES: dict[str, tuple[list[Reply], list[tuple[str, ...]]]] = {
    "one prompt": ([say("Hel", "lo")], [LINES]),
    "json": ([say("Hello")], [("-p", "hi", "-o", "json")]),
    "text": ([say("Hello")], [("-p", "hi", *FLASH)]),
    "tool loop": (
        [call("run_shell_command", command="echo hi; exit 3"), call("nosuch", a=1), say("Done")],
        [(*LINES, "--yolo")],
    ),
    "files": (
        [call("write_file", file_path="a.txt", content="x\n"), call("read_file", file_path="a.txt"), say("Done")],
        [(*LINES, "--approval-mode", "auto_edit")],
    ),
    "resume": ([say("one"), say("two")], [LINES, ("-p", "more", "-o", "stream-json", "--resume", "LAST")]),
    "unknown session": ([say("x")], [(*LINES, "--resume", "11111111-2222-4333-8444-555555555555")]),
    "bad request": ([Refuse(400, "INVALID_ARGUMENT", "bad")], [LINES, ("-p", "hi", "-o", "json"), ("-p", "hi")]),
    "overflow": ([Refuse(400, "INVALID_ARGUMENT", TOO_LONG)], [LINES]),
    "wrong key": ([Refuse(401, "UNAUTHENTICATED", "API key not valid")], [LINES]),
    "rate limit": ([Refuse(429, "RESOURCE_EXHAUSTED", "slow", SOON), say("ok")], [(*LINES, *FLASH)]),
    "daily limit": ([Refuse(429, "RESOURCE_EXHAUSTED", "gone", DAILY)], [(*LINES, *FLASH)]),
    "overloaded": ([Refuse(503, "UNAVAILABLE", "busy"), say("ok")], [(*LINES, *FLASH)]),
    "cut stream": ([say("half", finish=None, cut=True), say("whole")], [(*LINES, *FLASH)]),
    "no finish": ([say("half", finish=None)], [(*LINES, *FLASH)]),
    "empty": ([Pieces([[]])], [("-p", "hi", "-o", "json", *FLASH)]),
}


def real(argv: tuple[str, ...], home: Path, cwd: Path, port: int) -> Run:
    env = {**os.environ, "PORT": str(port), "RUN_HOME": str(home), "RUN_CWD": str(cwd)}
    done = subprocess.run(
        [RUNNER, "gemini", *argv], env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=120
    )
    return Run(done.returncode, done.stdout, done.stderr)


def fake(argv: tuple[str, ...], home: Path, cwd: Path, port: int) -> Run:
    shim = next(row["path"] for row in shims.install(home / "bin") if row["name"] == "gemini")
    env = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    env |= {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}", "GEMINI_API_KEY": "sk-test-000"}
    done = subprocess.run([shim, *argv], cwd=cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    return Run(done.returncode, done.stdout, done.stderr)


def played(runner: Any, folder: Path, replies: list[Reply], argvs: list[tuple[str, ...]]) -> tuple[list[Run], Any]:
    stub = GeminiStub(*replies, router=EASY, router_model="stub")
    home, cwd = folder / "home", folder / "cwd"
    home.mkdir(parents=True)
    cwd.mkdir()
    runs: list[Run] = []
    with served(stub) as port:
        for argv in argvs:
            last = runs[0].events[0]["session_id"] if runs and "LAST" in argv else ""
            runs.append(runner(tuple(last if word == "LAST" else word for word in argv), home, cwd, port))
    return runs, stub


def printed(run: Run, folder: Path) -> Any:
    text = run.stdout.decode().replace(str(folder), "FOLDER")
    if text.startswith('{"type"'):
        return shape([json.loads(line) for line in text.splitlines()])
    return shape(json.loads(text)) if text.startswith("{") else text.strip()


@pytest.mark.parametrize("name", STORIES)
def test_side_by_side(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replies, argvs = STORIES[name]
    theirs, their_stub = played(real, tmp_path / "real", replies, argvs)
    mine, my_stub = played(fake, tmp_path / "fake", replies, argvs)
    assert [run.exit for run in mine] == [run.exit for run in theirs]
    for a, b in zip(mine, theirs, strict=True):
        assert printed(a, tmp_path / "fake") == printed(b, tmp_path / "real")
    got, want = (
        [(r.path, *_shape(r, tmp_path / side)) for r in stub.requests]
        for stub, side in ((my_stub, "fake"), (their_stub, "real"))
    )
    assert got == want
    with capsys.disabled():
        print(f"\n{name}: {len(argvs)} runs and {len(want)} requests compared")


def _shape(request: Any, folder: Path) -> tuple[Any, ...]:
    text = json.dumps(shape_of_request(request.headers, json.loads(request.body)), sort_keys=False)
    return (re.sub(r"PGID: \d+", "PGID", text.replace(str(folder), "FOLDER")),)
