"""The control protocol of input stream-json: what a host asks, what it is asked, and interrupts at any moment."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from simulators.shells.cli_processes import FakeProcess, FakeProcesses
from simulators.shells.virtual_time import run

from .stub import Reply, Say, Stub

ARGV = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
TOUCH = {"id": "toolu_1", "name": "Bash", "input": {"command": "touch zz", "description": "Touch"}}
Event = dict[str, Any]


class Host:
    """An application at the other end: writes lines, reads events, answers what it is asked."""

    def __init__(self, process: FakeProcess, stub: Stub) -> None:
        self.process, self.stub = process, stub
        self.events: list[Event] = []
        self._lines = self._read()
        self._asked = 0

    async def _read(self) -> AsyncIterator[Event]:
        rest = b""
        async for chunk in self.process.stdout():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)

    def tell(self, message: Event) -> None:
        self.process.write(json.dumps(message).encode() + b"\n")

    def prompt(self, text: str) -> None:
        self.tell({"type": "user", "message": {"role": "user", "content": text}, "session_id": "default"})

    async def until(self, **wanted: Any) -> Event:
        """The next event that has these values."""
        async for event in self._lines:
            self.events.append(event)
            if all(event.get(key) == value for key, value in wanted.items()):
                return event
        raise AssertionError(f"no {wanted} in {[(e['type'], e.get('subtype')) for e in self.events]}")

    async def ask(self, subtype: str, **body: Any) -> Event:
        self._asked += 1
        id = f"req_{self._asked}"
        self.tell({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **body}})
        answer = await self.until(type="control_response")
        assert answer["response"]["request_id"] == id
        return dict(answer["response"])

    def answer(self, request: Event, response: Event | None = None, *, error: str | None = None) -> None:
        made: Event = {"request_id": request["request_id"]}
        made |= {"subtype": "success", "response": response} if error is None else {"subtype": "error", "error": error}
        self.tell({"type": "control_response", "response": made})

    async def end(self) -> int:
        self.process.close_stdin()
        async for event in self._lines:
            self.events.append(event)
        return await self.process.wait()


def play(
    tmp_path: Path, story: Any, *replies: Reply, argv: tuple[str, ...] = (), version: str = "2.1.332", **env: str
) -> Host:
    """Run `story(host)` against the fake under virtual time."""
    stub = Stub(*replies)
    processes = FakeProcesses(stub, config={"version": {"claude": version}})

    async def whole() -> Host:
        base = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-ant-test-000"}
        base["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:34483"
        process = await processes.spawn(("claude", *ARGV, *argv), cwd=str(tmp_path), env={**base, **env}, stdin=None)
        assert isinstance(process, FakeProcess)
        host = Host(process, stub)
        async with asyncio.timeout(600):
            await story(host)
            await host.end()
        return host

    return run(whole())


def test_initialize_says_what_there_is(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        said = (await host.ask("initialize", hooks=None))["response"]
        assert {"commands", "models", "account", "output_style"} <= set(said)
        assert said["models"][0]["resolvedModel"] == "claude-opus-5-5"

    play(tmp_path, story, Say("unused"))


def test_an_unknown_request_is_refused(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        assert "Unsupported control request subtype: dance" in (await host.ask("dance"))["error"]

    play(tmp_path, story, Say("unused"))


@pytest.mark.parametrize("version", ["2.1.332", "2.1.19"])
def test_the_host_allows_a_tool_with_another_input(tmp_path: Path, version: str) -> None:
    async def story(host: Host) -> None:
        host.prompt("go")
        request = await host.until(type="control_request")
        assert request["request"]["subtype"] == "can_use_tool"
        assert request["request"]["input"] == TOUCH["input"]
        host.answer(request, {"behavior": "allow", "updatedInput": {"command": "touch other"}})
        assert (await host.until(type="result"))["subtype"] == "success"

    host = play(
        tmp_path, story, Say(calls=[TOUCH]), Say("Done"), argv=("--permission-prompt-tool", "stdio"), version=version
    )
    assert (tmp_path / "other").exists() and not (tmp_path / "zz").exists()
    assert host.stub.bodies[-1]["messages"][-1]["role"] == "user"


def test_the_host_denies(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.prompt("go")
        host.answer(await host.until(type="control_request"), {"behavior": "deny", "message": "Not today"})
        result = await host.until(type="result")
        assert result["permission_denials"][0]["tool_use_id"] == "toolu_1"

    host = play(tmp_path, story, Say(calls=[TOUCH]), Say("Done"), argv=("--permission-prompt-tool", "stdio"))
    (told,) = host.stub.bodies[1]["messages"][-1]["content"]
    assert (told["content"], told["is_error"]) == ("Not today", True)
    assert not (tmp_path / "zz").exists()


def test_a_host_that_is_gone_denies(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.prompt("go")
        await host.until(type="control_request")

    host = play(tmp_path, story, Say(calls=[TOUCH]), Say("Done"), argv=("--permission-prompt-tool", "stdio"))
    assert "Stream closed" in host.stub.bodies[1]["messages"][-1]["content"][0]["content"]


def test_a_rule_that_the_host_adds_holds_for_the_next_call(tmp_path: Path) -> None:
    rule = {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Bash", "ruleContent": "touch zz *"}]}

    async def story(host: Host) -> None:
        host.prompt("go")
        allow = {"behavior": "allow", "updatedPermissions": [{**rule, "destination": "session"}]}
        host.answer(await host.until(type="control_request"), allow)
        await host.until(type="result")

    again = {**TOUCH, "id": "toolu_2"}
    host = play(
        tmp_path, story, Say(calls=[TOUCH]), Say(calls=[again]), Say("Done"), argv=("--permission-prompt-tool", "stdio")
    )
    assert [e["type"] for e in host.events].count("control_request") == 1


def test_deny_with_interrupt_ends_the_turn(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.prompt("go")
        stop = {"behavior": "deny", "message": "Stop", "interrupt": True}
        host.answer(await host.until(type="control_request"), stop)
        result = await host.until(type="result")
        assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_tools")
        host.prompt("again")
        assert (await host.until(type="result"))["result"] == "Done"

    other = {**TOUCH, "id": "toolu_2"}
    host = play(tmp_path, story, Say(calls=[TOUCH, other]), Say("Done"), argv=("--permission-prompt-tool", "stdio"))
    results = [b["tool_use_id"] for b in host.stub.bodies[1]["messages"][-1]["content"] if b["type"] == "tool_result"]
    assert results == ["toolu_1", "toolu_2"], "every call is answered before the model is asked again"


def test_an_interrupt_while_the_model_speaks(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.prompt("go")
        await host.until(type="system", subtype="init")
        await asyncio.sleep(5)
        assert (await host.ask("interrupt"))["response"] == {"still_queued": []}
        result = await host.until(type="result")
        assert (result["terminal_reason"], result["num_turns"]) == ("aborted_streaming", 2)
        host.stub.replies = [Say("Better")]
        host.prompt("again")
        assert (await host.until(type="result"))["result"] == "Better"

    host = play(tmp_path, story, Say("Slow", wait=100))
    assert host.stub.ended[0] != "sent", "the provider sees the connection closed"


def test_an_interrupt_while_a_tool_runs(tmp_path: Path) -> None:
    sleeper = {"id": "toolu_1", "name": "Bash", "input": {"command": "touch started; sleep 30"}}

    async def story(host: Host) -> None:
        host.prompt("go")
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.01)
        await host.ask("interrupt")
        result = await host.until(type="result")
        assert result["terminal_reason"] == "aborted_tools"

    play(tmp_path, story, Say(calls=[sleeper]), argv=("--allowedTools", "Bash"))


def test_an_interrupt_while_the_host_is_asked(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.prompt("go")
        request = await host.until(type="control_request")
        await host.ask("interrupt")
        assert host.events[-2] == {"type": "control_cancel_request", "request_id": request["request_id"]}
        assert (await host.until(type="result"))["terminal_reason"] == "aborted_tools"

    play(tmp_path, story, Say(calls=[TOUCH]), argv=("--permission-prompt-tool", "stdio"))


def test_model_and_mode_are_changed_between_turns(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.prompt("one")
        await host.until(type="result")
        assert (await host.ask("set_model", model="sonnet"))["response"] == {"model": "claude-sonnet-5-5"}
        assert (await host.ask("set_permission_mode", mode="acceptEdits"))["response"] == {"mode": "acceptEdits"}
        assert "error" in await host.ask("set_permission_mode", mode="wild")
        host.stub.replies = [Say("First"), Say(calls=[TOUCH]), Say("Done")]
        host.prompt("two")
        init = await host.until(type="system", subtype="init")
        assert (init["model"], init["permissionMode"]) == ("claude-sonnet-5-5", "acceptEdits")
        await host.until(type="result")

    host = play(tmp_path, story, Say("First"))
    assert host.stub.bodies[1]["model"] == "claude-sonnet-5-5"
    assert (tmp_path / "zz").exists()


def test_hooks_are_asked_and_decide(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        hooks = {
            "UserPromptSubmit": [{"matcher": None, "hookCallbackIds": ["h0"]}],
            "PreToolUse": [
                {"matcher": "Bash", "hookCallbackIds": ["h1"]},
                {"matcher": "Read", "hookCallbackIds": ["h9"]},
            ],
            "Stop": [{"matcher": None, "hookCallbackIds": ["h2"]}],
        }
        await host.ask("initialize", hooks=hooks)
        host.prompt("go")
        told = {"hookEventName": "UserPromptSubmit", "additionalContext": "MARK_CTX"}
        host.answer(await host.until(type="control_request"), {"hookSpecificOutput": told})
        asked = await host.until(type="control_request")
        assert (asked["request"]["callback_id"], asked["request"]["input"]["tool_name"]) == ("h1", "Bash")
        deny = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "never"}
        host.answer(asked, {"hookSpecificOutput": deny})
        host.answer(await host.until(type="control_request"), {"decision": "block", "reason": "do more"})
        last = await host.until(type="control_request")
        assert last["request"]["input"]["stop_hook_active"] is True
        host.answer(last, error="broken")
        await host.until(type="result")

    host = play(tmp_path, story, Say(calls=[TOUCH]), Say("Done"), argv=("--allowedTools", "Bash"))
    first, second, third = (json.dumps(b["messages"]) for b in host.stub.bodies)
    assert "MARK_CTX" in first
    assert "PreToolUse:Bash hook error: never" in second
    assert "do more" in third
    assert any(e.get("tag") == "hook_callback_failed" for e in host.events)


def test_a_prompt_that_a_hook_blocks_never_reaches_the_model(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        await host.ask("initialize", hooks={"UserPromptSubmit": [{"hookCallbackIds": ["h0"]}]})
        host.prompt("secret")
        host.answer(await host.until(type="control_request"), {"decision": "block", "reason": "no"})
        assert (await host.until(type="result"))["num_turns"] == 0

    assert play(tmp_path, story, Say("unused")).stub.requests == []


@pytest.mark.parametrize("named", ["flag", "initialize"])
def test_an_mcp_server_in_the_host(tmp_path: Path, named: str) -> None:
    config = json.dumps({"mcpServers": {"own": {"type": "sdk", "name": "own"}}})
    call = {"id": "toolu_1", "name": "mcp__own__say", "input": {"text": "yo"}}
    answers: dict[str, Event] = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "own"}},
        "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "YO"}]},
    }

    async def story(host: Host) -> None:
        await host.ask("initialize", sdkMcpServers=["own"] if named == "initialize" else None)
        host.prompt("go")
        while True:
            request = await host.until(type="control_request")
            message = request["request"]["message"]
            result = {"jsonrpc": "2.0", "id": message.get("id"), "result": answers.get(message["method"], {})}
            host.answer(request, {"mcp_response": result})
            if message["method"] == "tools/call":
                break
        await host.until(type="result")

    argv = ("--mcp-config", config) if named == "flag" else ()
    host = play(tmp_path, story, Say(calls=[call]), Say("Done"), argv=(*argv, "--allowedTools", "mcp__own"))
    assert host.stub.bodies[1]["messages"][-1]["content"][0]["content"] == [{"type": "text", "text": "YO"}]


def test_the_state_of_the_session_is_told_to_hosts_that_read_it(tmp_path: Path) -> None:
    async def story(host: Host) -> None:
        host.prompt("go")
        await host.until(state="idle")

    host = play(tmp_path, story, Say("Hello"), CLAUDE_CODE_SDK_READS_SESSION_STATE="1")
    assert [e["state"] for e in host.events if e.get("subtype") == "session_state_changed"] == ["running", "idle"]
    host = play(tmp_path, lambda h: asyncio.sleep(0), Say("Hello"))
    assert all(e.get("subtype") != "session_state_changed" for e in host.events)
