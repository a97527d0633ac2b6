"""The fake codex against recorded runs of the real one: the same command line, the provider scripted alike."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from simulators.shells.cli_processes import FakeProcesses
from simulators.shells.virtual_time import run

from . import captures
from . import codex_captures as shapes
from .captures import Capture
from .responses_stub import Answer, Refuse, Reply, ResponsesStub, command, patch, say, text, thought
from .stub import Run

pytestmark = pytest.mark.skipif(
    not captures.FOLDER.exists(), reason=f"no recorded runs of the real codex at {captures.FOLDER}"
)

PROVIDER = """
[analytics]
enabled = {analytics}
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:39475/v1"
env_key = "STUB_KEY"
{more}
[model_providers.chatp]
name = "chatp"
base_url = "http://127.0.0.1:39475/v1"
wire_api = "responses"
"""


@dataclass
class World:
    """What stood on disk: lines of config.toml, what AGENTS.md said, other files."""

    top: str = 'model_provider = "stub"'
    provider: str = ""
    agents: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    analytics: bool = False


CTX = Refuse(400, "context_length_exceeded", "Your input exceeds the context window of this model.")
LIMIT = Refuse(429, "rate_limit_exceeded", "Rate limit reached for requests", {"retry-after": "1"})
MORE = {"cached": 900, "output": 10}
FAILED = {
    "end": "failed",
    "more": {"error": {"code": "server_error", "message": "An error occurred while processing your request."}},
}
TOO_LONG = {"end": "failed", "more": {"error": {"code": "context_length_exceeded", "message": "too long"}}}
CUT_OFF = {"incomplete_details": {"reason": "max_output_tokens"}}
BUILTIN = World(top='openai_base_url = "http://127.0.0.1:39475/v1"\nmodel_auto_compact_token_limit = 5000')
COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "ENCRYPTED_MARK_SUMMARY"}

# name → what the provider answered
SINGLE: dict[str, tuple[World, list[Reply]]] = {
    "x01_basic": (
        World(agents="MARK_AGENTS_MD rules", analytics=True),
        [Answer([thought("**Thinking**\n\nstub thought"), text("Hello from stub.", "msg_0002")], 1000, 200, 0, 50, 20)],
    ),
    "x02_tool": (
        World(),
        [Answer([command("echo MARK_OUT")], 1000, 0, 0, 40, 5), say("Done.", input=1100, cached=1000, output=2)],
    ),
    "x02_tool_danger": (
        World(),
        [
            Answer([command("echo MARK_OUT > f.txt; cat f.txt; exit 3")], 1000, 0, 0, 40, 5),
            say("Done.", input=1100, cached=1000, output=2),
        ],
    ),
    "x02_apply_patch": (
        World(),
        [
            Answer([patch("*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch")], 100),
            say("Done.", input=100),
        ],
    ),
    "x04_401": (World(), [Refuse(401, "invalid_api_key", "Incorrect API key provided")]),
    "x04_429_always": (World(), [LIMIT]),
    "x04_500_always": (World(), [Refuse(500, "server_error", "The server had an error")]),
    "x04_503_overloaded": (World(), [Refuse(503, "server_is_overloaded", "overloaded")]),
    "x04_incomplete_max_output": (World(), [say("trunc", input=100, end="incomplete", more=CUT_OFF)]),
    "x04_sse_failed_context_length": (World(), [say("x", **TOO_LONG)]),
    "x04_sse_failed_server_error": (World(), [say("x", **FAILED)]),
    "x05_compact_custom_prompt_0_start": (World(), [say("reply 1", input=6000, output=20)]),
    "x05_ctx_exceeded_in_compaction_0_start": (World(), [say("reply 1", input=6000, output=20)]),
    "x05_ctx_exceeded_midthread_0_start": (World(), [say("reply 1", input=1000, cached=100, written=77, output=5)]),
    "x06_wire_chat": (World(), [say("never asked")]),
    "x07_provider_supports_websockets_0_start": (
        World(provider="supports_websockets = true"),
        [say("reply 1", input=600, output=20)],
    ),
    "x08_developer_instructions": (
        World(top='model_provider = "stub"\ndeveloper_instructions = "MARK_DEV"'),
        [say("ok", input=100)],
    ),
}
# name → why it cannot be compared
NOT_COMPARED = {"x07_websocket_real_0_start": "the fake speaks no WebSocket: it goes on as after a refusal"}


class Played:
    """A home in which runs are made one after the other."""

    def __init__(self, folder: Path, stub: ResponsesStub) -> None:
        self.folder, self.stub = folder, stub
        (folder / "project").mkdir()
        self.processes = FakeProcesses(stub, real_path=lambda path: path.replace("/home/user", str(folder), 1))

    def prepare(self, world: World, capture: Capture) -> None:
        config = self.folder / ".codex/config.toml"
        config.parent.mkdir(exist_ok=True)
        chat = PROVIDER.replace('wire_api = "responses"', 'wire_api = "chat"')
        tables = chat if capture.name == "x06_wire_chat" else PROVIDER
        analytics = "true" if world.analytics else "false"
        model = "" if "model = " in world.top else 'model = "gpt-5.5"\n'
        config.write_text(model + world.top + tables.format(analytics=analytics, more=world.provider))
        agents = self.folder / "project/AGENTS.md"
        if world.agents is None:
            agents.unlink(missing_ok=True)
        else:
            agents.write_text(world.agents)
        for name, content in world.files.items():
            (self.folder / name).write_text(content)

    def run(self, capture: Capture, argv: list[str]) -> Run:
        env = {**capture.env, "HOME": "/home/user", "CODEX_HOME": "/home/user/.codex"}

        async def go() -> Run:
            process = await self.processes.spawn(("codex", *argv), cwd="/home/user/project", env=env)

            async def all_of(stream: Any) -> bytes:
                return b"".join([chunk async for chunk in stream])

            out, err = await asyncio.gather(all_of(process.stdout()), all_of(process.stderr()))
            return Run(await process.wait(), out, err)

        return run(go())


def compare(capture: Capture, got: Run, requests: list[Any]) -> None:
    assert got.exit == capture.exit
    assert shapes.shape_of_lines(got.events) == shapes.shape_of_lines(capture.stdout)
    assert shapes.stderr(got.stderr.decode()) == shapes.stderr(capture.stderr)
    assert len(requests) == KEPT.get(capture.name, len(capture.requests))
    for mine, theirs in zip(requests, capture.requests, strict=False):
        body = json.loads(mine.body) if mine.body else None
        want = shapes.shape_of_request(theirs["headers"], theirs.get("body"))
        assert shapes.shape_of_request(mine.headers, body) == want
        if body:
            shapes.near(shapes.lengths(body), shapes.lengths(theirs["body"]))


KEPT = {"x04_500_always": 30}  # a recording holds no more than six requests


def compare_files(capture: Capture, home: Path, names: dict[str, str]) -> None:
    """Every thread's file of the recording against ours; `names` are our ids by the recording's."""
    mine = shapes.rows_on_disk(home)
    for id, rows in shapes.rollouts(capture.name).items():
        if id in names:
            ours = mine[names[id]]
            assert [shapes.shape_of_row(row) for row in ours] == [shapes.shape_of_row(row) for row in rows]


@pytest.mark.parametrize("name", SINGLE)
def test_one_run(name: str, tmp_path: Path) -> None:
    """A fresh thread, one process."""
    if not (captures.FOLDER / name).exists():
        pytest.skip(f"the recording {name} is not here")
    capture = Capture(name)
    world, replies = SINGLE[name]
    stub = ResponsesStub(*replies)
    played = Played(tmp_path, stub)
    played.prepare(world, capture)
    got = played.run(capture, capture.argv)
    compare(capture, got, stub.requests)
    if got.events:
        names = {capture.stdout[0]["thread_id"]: got.events[0]["thread_id"]}
        compare_files(capture, tmp_path / ".codex", names)


def reply(tokens: int, output: int = 10, **more: Any) -> Answer:
    return say("reply", input=tokens, output=output, **more)


def numbered(n: int, tokens: int, output: int, **more: Any) -> Answer:
    return say(f"reply {n}", input=tokens, output=output, **more)


OLD, NEW = World(agents="MARK_AGENTS_OLD"), World(agents="MARK_AGENTS_NEW")
BASE = World(files={"mi.md": "MARK_BASE_INSTR you are a test\n", "mi2.md": "MARK_BASE_OTHER\n"})
LIMITED = World(
    top='model_provider = "stub"\nmodel_auto_compact_token_limit = 10000\ndeveloper_instructions = "MARK_DEV_A"',
    agents="MARK_AGENTS_OLD",
)
# A thread in several processes: (recording, or `+PROMPT` for a step that was not kept, what stood on disk, answers).
CHAINS: dict[str, list[tuple[str, World, list[Reply]]]] = {
    "resume": [
        ("x03_resume_0_start", OLD, [reply(1000, cached=900)]),
        ("x03_resume_1_resume", OLD, [reply(1000, cached=900)]),
        ("x03_resume_2_resume_agents_changed", NEW, [reply(1000, cached=900)]),
        ("x03_resume_3_resume_dev_changed", NEW, [reply(1000, cached=900)]),
        ("x03_resume_4_resume_model", NEW, [reply(1000, cached=900)]),
        ("x03_resume_5_resume_last", NEW, [reply(1000, cached=900)]),
        ("x03_resume_6_fork", NEW, [reply(1000, cached=900)]),
        ("x03_resume_7_resume_missing", NEW, []),
        ("x03_resume_8_ephemeral", NEW, [reply(1000, cached=900)]),
    ],
    "base instructions": [
        ("x03_resume_baseinstr_0_start", BASE, [reply(100)]),
        ("x03_resume_baseinstr_1_resume_without", BASE, [reply(100)]),
        ("x03_resume_baseinstr_2_resume_other", BASE, [reply(100)]),
        ("x03_resume_baseinstr_3_start_dev", BASE, [reply(100)]),
    ],
    "developer instructions": [
        ("x03_resume_dev_0_start", World(), [reply(100)]),
        ("x03_resume_dev_1_resume_without", World(), [reply(100)]),
        ("x03_resume_dev_2_resume_B", World(), [reply(100)]),
    ],
    "a resume below the limit": [
        ("+hello one", LIMITED, [numbered(1, 6000, 20, cached=1000)]),
        ("x05_compact_resume_1_r1", LIMITED, [numbered(2, 3000, 20, cached=1000)]),
    ],
    "slash compact is plain text": [
        ("+hello one", World(), [numbered(1, 2000, 20)]),
        ("x05_slash_compact_1_slash", World(), [numbered(2, 2000, 20)]),
    ],
    "overflow, condensed in the next turn": [
        ("+hello one", World(), [numbered(1, 1000, 5)]),
        ("+hello two", World(), [numbered(2, 2000, 5)]),
        ("+hello three", World(), [CTX]),
        ("+hello four", World(), [say("MARK_S", input=10_000, output=5), numbered(5, 100_000, 5)]),
        ("x05_ctx_exceeded_midthread2_4_r4", World(), [numbered(6, 1_000_000, 5)]),
    ],
    "the vendor's service condenses by itself": [
        ("x07_builtin_openai_baseurl_0_start", BUILTIN, [numbered(1, 6000, 20)]),
        ("x07_builtin_openai_baseurl_1_r1", BUILTIN, [Answer([COMPACTION], 300), numbered(2, 2000, 10)]),
    ],
}


@pytest.mark.parametrize("name", CHAINS)
def test_one_thread(name: str, tmp_path: Path) -> None:
    """Several processes on one thread: what each sends depends on what the ones before it left on disk."""
    steps = CHAINS[name]
    last = Capture(steps[-1][0])
    stub = ResponsesStub(say(""))
    played = Played(tmp_path, stub)
    names: dict[str, str] = {}
    thread = None
    for step, world, replies in steps:
        stub.replies, stub._answered = replies or [say("")], 0
        stub.requests.clear()
        kept = not step.startswith("+")
        capture = Capture(step) if kept else last
        played.prepare(world, capture)
        argv = [names.get(word, word).replace("/opt/tmp", "/home/user") for word in capture.argv]
        if not kept:
            resumed = ["resume", thread, step[1:]] if thread else [step[1:]]
            argv = ["exec", "--json", "--skip-git-repo-check", *map(str, resumed)]
        got = played.run(capture, argv)
        thread = got.events[0]["thread_id"] if got.events else thread
        if got.events and capture.stdout:
            names[capture.stdout[0]["thread_id"]] = got.events[0]["thread_id"]
        if kept:
            compare(capture, got, stub.requests)
            compare_files(capture, tmp_path / ".codex", names)


def test_how_many_recordings_are_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """Says how many of the recordings of codex are compared, so that a shrinking number is seen."""
    here = {p.name for p in captures.FOLDER.iterdir() if p.name.startswith("x")}
    covered = (set(SINGLE) | {step for steps in CHAINS.values() for step, _, _ in steps}) & here
    with capsys.disabled():
        print(
            f"\nthe fake codex was compared with {len(covered)} of {len(here)} recorded runs (lines, requests, files)"
        )
    assert here - covered == set(NOT_COMPARED) & here
