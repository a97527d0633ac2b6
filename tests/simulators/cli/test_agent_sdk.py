"""The official Agent SDKs drive the fake unchanged. Needs a Python with `claude-agent-sdk`, and node with
`@anthropic-ai/claude-agent-sdk`; `CLAW_AGENT_SDK_PYTHON` and `CLAW_AGENT_SDK_NODE` (a folder) say where they are."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulators.shells import shims

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
SCRIPT = {
    "rules": [
        {"when": {"last_user": "(?i)say hello"}, "reply": {"text": "Hello there."}},
        {
            "when": {"last_user": "(?i)the long one"},
            "reply": {"text": "word " * 40, "fault": {"kind": "drip", "bytes_per_s": 150}},
        },
        *(
            {
                "when": {"last_user": f"touch {name}"},
                "reply": {"tool_calls": [{"name": "Bash", "input": {"command": f"touch {name}"}}]},
            }
            for name in ("allowed", "forbidden")
        ),
        {
            "when": {"last_user": "use shout"},
            "reply": {"tool_calls": [{"name": "mcp__inproc__shout", "input": {"text": "yo"}}]},
        },
    ],
    "otherwise": "echo",
    "unused": "allow",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Path, Path, dict[str, str]]]:
    """(path of the fake, working directory, environment) with a simulator behind."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    command = [sys.executable, "-c", "from claw.cli import main; main()", "sim", "serve", "--script", str(script)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        shims.install(tmp_path / "bin")
        (tmp_path / "cwd").mkdir()
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": url}
        yield tmp_path / "bin/claude", tmp_path / "cwd", {**env, "ANTHROPIC_API_KEY": "sk-test-000"}
    finally:
        server.terminate()
        server.communicate()


def check(seen: dict[str, Any], cwd: Path) -> None:
    assert seen["commands"] > 0
    assert seen["prompt"] == "Hello there."
    assert [name for name, _ in seen["asked"]] == ["Bash", "Bash"]
    assert (cwd / "allowed").exists() and not (cwd / "forbidden").exists()
    assert {"PreToolUse", "PostToolUse", "Stop"} <= set(seen["hooks"])
    assert seen["model"] == "claude-sonnet-5-5"
    assert "YO" in seen["mcp"]
    assert seen["interrupted"] == "error_during_execution"
    assert seen["after"] == "Hello there."
    assert seen["resume"] == [True, "Hello there."]


def test_the_python_sdk(world: tuple[Path, Path, dict[str, str]], capsys: pytest.CaptureFixture[str]) -> None:
    """A prompt, a permission callback, hooks, another model, a tool in process, an interrupt, a resume."""
    python = os.environ.get("CLAW_AGENT_SDK_PYTHON") or (
        sys.executable if importlib.util.find_spec("claude_agent_sdk") else None
    )
    if python is None:
        pytest.skip("claude-agent-sdk is not installed here, and CLAW_AGENT_SDK_PYTHON names no Python that has it")
    cli, cwd, env = world
    command = [python, str(HERE / "agent_sdk_story.py"), str(cli), str(cwd)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        print(f"\nclaude-agent-sdk {seen['version']} drove the fake claude")
    check(seen, cwd)


def test_the_node_sdk(world: tuple[Path, Path, dict[str, str]], capsys: pytest.CaptureFixture[str]) -> None:
    """The same story with the npm package."""
    folder, node = os.environ.get("CLAW_AGENT_SDK_NODE"), shutil.which("node")
    if folder is None or node is None:
        pytest.skip("no node, or CLAW_AGENT_SDK_NODE names no folder with @anthropic-ai/claude-agent-sdk installed")
    cli, cwd, env = world
    story = Path(folder) / "claw_story.mjs"
    shutil.copy(HERE / "agent_sdk_story.mjs", story)
    try:
        command = [node, str(story), str(cli), str(cwd)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=150, check=False)
    finally:
        story.unlink()
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        print(f"\n@anthropic-ai/claude-agent-sdk {seen['version']} drove the fake claude")
    check(seen, cwd)
