"""The real codex and the fake side by side, before the same answers. Skips where the real one is not installed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulators.shells import shims

from . import captures
from . import codex_captures as shapes
from .responses_stub import Answer, Refuse, Reply, ResponsesStub, command, patch, say, text, thought
from .served_stub import served
from .stub import Run

RUNNER = captures.FOLDER.parent / "real-clients/run"
INSTALLED = Path(os.environ.get("REAL_CLIENTS") or Path.home() / ".cache/real-clients") / "codex/node_modules"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not RUNNER.exists() or not INSTALLED.exists() or os.geteuid() != 0,
        reason=f"the real codex is not installed at {INSTALLED}, or {RUNNER} is missing, or this is not root",
    ),
]
EXEC = ("exec", "--json", "--skip-git-repo-check")
CTX = Refuse(400, "context_length_exceeded", "Your input exceeds the context window of this model.")
FAILING = Refuse(500, "server_error", "boom")
LIMIT = Refuse(429, "rate_limit_exceeded", "Rate limit reached", {"retry-after": "1"})
ADD = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch"
EDIT = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch"
WRITE = ("-s", "danger-full-access")
FEW = ("-c", "model_providers.sim.request_max_retries=1", "-c", "model_providers.sim.stream_max_retries=1")
# name → (answers, command lines one after the other in one home; LAST is the thread of the first)
STORIES: dict[str, tuple[list[Reply], list[tuple[str, ...]]]] = {
    "one prompt": ([Answer([thought("**T**\n\nwhy"), text("Hello", "m2")], reasoning=5)], [(*EXEC, "hi")]),
    "text": ([say("Hello")], [("exec", "--skip-git-repo-check", "hi")]),
    "tool loop": (
        [Answer([command("echo a; exit 3"), text("both")]), Answer([command("echo b", "c2")]), say("Done")],
        [(*EXEC, *WRITE, "hi")],
    ),
    "patches": (
        [Answer([patch(ADD)]), Answer([patch(EDIT, "p2")]), Answer([patch("rubbish", "p3")]), say("Done")],
        [(*EXEC, *WRITE, "hi")],
    ),
    "resume": ([say("one"), say("two")], [(*EXEC, "hi"), (*EXEC, "resume", "LAST", "more")]),
    "unknown thread": ([say("x")], [(*EXEC, "resume", "01a22e20-0000-7000-8000-000000000000", "more")]),
    "refused flags": (
        [say("x")],
        [("exec", "resume", "x", "--color", "never"), ("exec", "resume", "x", "--sandbox", "y")],
    ),
    "rate limit": ([LIMIT, say("ok")], [(*EXEC, "hi")]),
    "rate limit without a time": ([Refuse(429, "rate_limit_exceeded", "Rate limit")], [(*EXEC, "hi")]),
    "out of order": ([FAILING], [(*EXEC, *FEW, "hi")]),
    "wrong key": ([Refuse(401, "invalid_api_key", "Incorrect API key")], [(*EXEC, *FEW, "hi")]),
    "cut stream": ([say("half", end=None, cut_after=4), say("whole")], [(*EXEC, "hi")]),
    "ended too early": ([say("half", end=None), say("whole")], [(*EXEC, "hi")]),
    "overflow": (
        [say("one"), CTX, say("SUMMARY", input=50), say("three", input=60)],
        [(*EXEC, "hi"), (*EXEC, "resume", "LAST", "more"), (*EXEC, "resume", "LAST", "again")],
    ),
    "compaction": (
        [say("one", input=6000), say("SUMMARY", input=50), say("two", input=60)],
        [
            (*EXEC, "-c", "model_auto_compact_token_limit=5000", "hi"),
            (*EXEC, "-c", "model_auto_compact_token_limit=5000", "resume", "LAST", "more"),
        ],
    ),
    "compaction in a turn": (
        [Answer([command("echo hi")], 6000), say("SUMMARY", input=50), say("two", input=60)],
        [(*EXEC, *WRITE, "-c", "model_auto_compact_token_limit=5000", "hi")],
    ),
    "a model that is not known": ([say("ok")], [(*EXEC, "-m", "sim-x", "hi")]),
    "the default model": ([say("ok")], [(*EXEC, "-m", "gpt-6.2-sol", "hi")]),
}
CONFIG = """model = "gpt-5.5"
model_provider = "sim"
check_for_update_on_startup = false

[analytics]
enabled = false
[model_providers.sim]
name = "Sim"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "SIM_KEY"
wire_api = "responses"
"""


def real(argv: tuple[str, ...], home: Path, cwd: Path, port: int) -> Run:
    env = {**os.environ, "PORT": str(port), "RUN_HOME": str(home), "RUN_CWD": str(cwd)}
    done = subprocess.run([RUNNER, "codex", *argv], env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=90)
    return Run(done.returncode, done.stdout, done.stderr)


def fake(argv: tuple[str, ...], home: Path, cwd: Path, port: int) -> Run:
    (home / ".codex").mkdir(parents=True, exist_ok=True)
    (home / ".codex/config.toml").write_text(CONFIG.format(port=port))
    env = {"HOME": str(home), "CODEX_HOME": f"{home}/.codex", "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb"}
    shim = next(row["path"] for row in shims.install(home / "bin") if row["name"] == "codex")
    env |= {"SIM_KEY": "sk-test-000", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}
    done = subprocess.run([shim, *argv], cwd=cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=90)
    return Run(done.returncode, done.stdout, done.stderr)


def played(runner: Any, folder: Path, replies: list[Reply], argvs: list[tuple[str, ...]]) -> tuple[list[Run], Any]:
    stub = ResponsesStub(*replies)
    home, cwd = folder / "home", folder / "cwd"
    home.mkdir(parents=True)
    cwd.mkdir()
    runs: list[Run] = []
    with served(stub) as port:
        for argv in argvs:
            thread = runs[0].events[0]["thread_id"] if runs and "--json" in argv else ""
            runs.append(runner(tuple(thread if word == "LAST" else word for word in argv), home, cwd, port))
    return runs, stub


def lines(run: Run) -> Any:
    if not run.stdout.startswith(b"{"):
        return run.stdout
    return shapes.shape_of_lines(run.events)


def stderr(run: Run, folder: Path) -> str:
    """Without what depends on the machine: times, folders, ids, and a missing sandbox."""
    kept = [
        line for line in run.stderr.decode().splitlines() if "bubblewrap" not in line and "PATH aliases" not in line
    ]
    text = shapes.stderr("\n".join(kept)).replace(str(folder), "FOLDER")
    return re.sub(r"01[0-9a-f]{6}-[0-9a-f-]{27}", "ID", text)


def requests(stub: ResponsesStub) -> list[Any]:
    return [shapes.shape_of_request(r.headers, json.loads(r.body) if r.body else None) for r in stub.requests]


@pytest.mark.parametrize("name", STORIES)
def test_side_by_side(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replies, argvs = STORIES[name]
    theirs, their_stub = played(real, tmp_path / "real", replies, argvs)
    mine, my_stub = played(fake, tmp_path / "fake", replies, argvs)
    assert [run.exit for run in mine] == [run.exit for run in theirs]
    for a, b in zip(mine, theirs, strict=True):
        assert json.loads(json.dumps(lines(a), default=repr).replace(str(tmp_path / "fake"), "F")) == json.loads(
            json.dumps(lines(b), default=repr).replace(str(tmp_path / "real"), "F")
        )
        assert stderr(a, tmp_path / "fake") == stderr(b, tmp_path / "real")
    got, want = requests(my_stub), requests(their_stub)
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert _without_chunks(one) == _without_chunks(other)
    left = [shapes.rows_on_disk(tmp_path / side / "home/.codex") for side in ("fake", "real")]
    files = [[[shapes.shape_of_row(row) for row in rows] for rows in side.values()] for side in left]
    assert files[0] == files[1]
    with capsys.disabled():
        print(f"\n{name}: {len(argvs)} runs, {len(want)} requests and {len(files[1])} files compared")


def _without_chunks(shape: Any) -> Any:
    """A tool's output is told apart by an id of its own."""
    return json.loads(re.sub(r"Chunk ID: \w+", "Chunk ID", json.dumps(shape)))


SDK = INSTALLED.parent.parent / "codex-sdk/node_modules/@openai/codex-sdk"
STORY = """
import { Codex } from "SDK";
const codex = new Codex({ codexPathOverride: process.env.FAKE, baseUrl: process.env.BASE, apiKey: "sk-test-000" });
const where = { workingDirectory: process.cwd(), skipGitRepoCheck: true };
const options = { ...where, model: "gpt-5.5", sandboxMode: "danger-full-access" };
const thread = codex.startThread(options);
const first = await thread.run("Run it.");
const again = codex.resumeThread(thread.id, options);
const second = await again.run([{ type: "text", text: "And now?" }]);
const kinds = [];
const { events } = await again.runStreamed("Stream it.", { outputSchema: { type: "object", properties: {} } });
for await (const event of events) kinds.push(event.type);
let failed = "";
try { await codex.startThread(options).run("Fail."); } catch (error) { failed = String(error.message); }
console.log(JSON.stringify({ id: thread.id, first, second, kinds, failed }));
"""


@pytest.mark.skipif(
    shutil.which("node") is None or not SDK.exists(), reason=f"no node, or no @openai/codex-sdk at {SDK}"
)
def test_the_official_sdk_drives_the_fake_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A prompt with a tool, a resume, a streamed turn with a schema, a failure."""
    shim = next(row["path"] for row in shims.install(tmp_path / "bin") if row["name"] == "codex")
    (tmp_path / "story.mjs").write_text(STORY.replace("SDK", str(SDK / "dist/index.js")))
    replies: list[Reply] = [Answer([command("echo MARK")]), say("Done"), say("Second"), say("{}"), CTX]
    stub = ResponsesStub(*replies)
    with served(stub) as port:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FAKE": shim, "BASE": f"http://127.0.0.1:{port}/v1"}
        done = subprocess.run(["node", "story.mjs"], cwd=tmp_path, env=env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert [item["type"] for item in told["first"]["items"]] == ["command_execution", "agent_message"]
    assert told["first"]["items"][0]["aggregated_output"] == "MARK\n"
    assert (told["second"]["finalResponse"], told["second"]["usage"]["input_tokens"]) == ("Second", 3000)
    assert told["kinds"] == ["thread.started", "turn.started", "item.completed", "turn.completed"]
    assert "ran out of room" in told["failed"]
    formats = [body["text"].get("format", {}).get("type") for body in stub.bodies]
    assert formats == [None, None, None, "json_schema", None]
    with capsys.disabled():
        version = json.loads((SDK / "package.json").read_text())["version"]
        print(f"\n@openai/codex-sdk {version} drove the fake through {len(stub.bodies)} calls ({sys.platform})")
