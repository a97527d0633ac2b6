"""The fake's MCP client: servers that work, servers that do not, and leave to use their tools."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .stub import STREAM, Run, Say
from .test_claude import NEW, OLD, Desk

ECHO = {"command": sys.executable, "args": [str(Path(__file__).parent / "mcp_echo.py")]}
CALL = {"id": "toolu_1", "name": "mcp__echo__say", "input": {"text": "yo"}}


def play(home: Path, version: str, servers: dict[str, Any], *argv: str) -> tuple[Run, Desk]:
    desk = Desk(home, version, Say(calls=[CALL]), Say("Done"))
    config = json.dumps({"mcpServers": servers})
    return desk.ask("-p", "hi", *STREAM, "--mcp-config", config, *argv), desk


@pytest.mark.parametrize(("version", "in_request"), [(OLD, True), (NEW, False)])
def test_the_old_version_sends_the_tools_the_new_one_defers_them(
    tmp_path: Path, version: str, in_request: bool
) -> None:
    done, desk = play(tmp_path, version, {"echo": ECHO}, "--allowedTools", "mcp__echo__say")
    assert "mcp__echo__say" in done.events[0]["tools"]
    assert ("mcp__echo__say" in [t["name"] for t in desk.stub.bodies[0]["tools"]]) is in_request
    (result,) = desk.stub.bodies[-1]["messages"][-1]["content"]
    assert result["content"] == [{"type": "text", "text": "MARK_MCP yo"}]


def test_a_server_that_does_not_start_is_failed_and_has_no_tools(tmp_path: Path) -> None:
    done, _ = play(tmp_path, NEW, {"bad": {"command": "/nonexistent"}, "quits": {"command": "/bin/true"}})
    assert [(s["name"], s["status"]) for s in done.events[0]["mcp_servers"]] == [("bad", "failed"), ("quits", "failed")]
    assert done.events[2]["tool_use_result"] == "Error: No such tool available: mcp__echo__say"


def test_its_tools_need_leave(tmp_path: Path) -> None:
    done, _ = play(tmp_path, NEW, {"echo": ECHO})
    assert [d["tool_name"] for d in done.result["permission_denials"]] == ["mcp__echo__say"]


def test_a_configuration_that_cannot_be_read_ends_the_run(tmp_path: Path) -> None:
    done = Desk(tmp_path, NEW, Say("never")).ask("-p", "hi", "--mcp-config", "nowhere.json")
    assert (done.exit, b"nowhere.json" in done.stderr) == (1, True)
