"""2.1.19 as seen when the real one was run against a local server: form of requests, events, the call on the side."""

from pathlib import Path
from typing import Any

from .stub import STREAM, Refuse, Say
from .test_claude import OLD, SID, Desk

CALL = {"id": "toolu_1", "name": "Bash", "input": {"command": "echo MARK", "description": "d"}}
RESULT = [
    "type", "subtype", "is_error", "duration_ms", "duration_api_ms", "num_turns", "result", "session_id",
    "total_cost_usd", "usage", "modelUsage", "permission_denials", "uuid",
]  # fmt: skip
INIT = [
    "type", "subtype", "cwd", "session_id", "tools", "mcp_servers", "model", "permissionMode", "slash_commands",
    "apiKeySource", "claude_code_version", "output_style", "agents", "skills", "plugins", "uuid",
]  # fmt: skip


def marked(message: dict[str, Any]) -> list[bool]:
    content = message["content"]
    return ["cache_control" in block for block in content] if isinstance(content, list) else [False]


def test_the_form_of_a_request(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD, Say("a"))
    desk.ask("-p", "hello one", *STREAM, "--session-id", SID)
    desk.ask("-p", "hello two", *STREAM, "--resume", SID)
    body = desk.stub.bodies[-1]
    assert list(body) == ["model", "messages", "system", "tools", "metadata", "max_tokens", "stream"]
    assert (body["model"], body["max_tokens"], len(body["tools"])) == ("claude-sonnet-4-5-20250929", 32_000, 17)
    assert ["cache_control" in block for block in body["system"]] == [False, True, True]
    assert [marked(m) for m in body["messages"]] == [[False], [True], [True]], "the last two messages carry one"
    assert abs(len(body["system"][2]["text"]) - 12_500) < 60
    headers = dict(desk.stub.requests[-1].headers)
    assert headers["anthropic-beta"] == "claude-code-20250219,interleaved-thinking-2025-05-14"
    assert "x-claude-code-session-id" not in headers


def test_the_events_and_their_keys(tmp_path: Path) -> None:
    done = Desk(tmp_path, OLD, Say("Let me", calls=[CALL]), Say("{}"), Say("Done.")).ask(
        "-p", "do it", *STREAM, "--allowedTools", "Bash"
    )
    init, text, tool, outcome, _, result = done.events
    assert list(init) == INIT
    assert list(text) == list(tool) == ["type", "message", "parent_tool_use_id", "session_id", "uuid"]
    assert list(outcome) == ["type", "message", "parent_tool_use_id", "session_id", "uuid", "tool_use_result"]
    assert outcome["tool_use_result"] == {"stdout": "MARK", "stderr": "", "interrupted": False, "isImage": False}
    assert list(result) == RESULT


def test_a_small_model_is_asked_for_the_paths_of_a_command(tmp_path: Path) -> None:
    """Not in `usage`, but in `modelUsage` and the cost; without tools or breakpoints."""
    desk = Desk(tmp_path, OLD, Say(calls=[CALL], input=3), Say("paths", input=7), Say("Done.", input=5))
    result = desk.ask("-p", "do it", *STREAM, "--allowedTools", "Bash").result
    side = desk.stub.bodies[1]
    assert (side["model"], side["tools"]) == ("claude-haiku-4-5-20251001", [])
    assert side["messages"][0]["content"][0]["text"] == "Command: echo MARK\nOutput: MARK\n\n"
    assert (result["usage"]["input_tokens"], result["num_turns"]) == (8, 2)
    assert {name: used["inputTokens"] for name, used in result["modelUsage"].items()} == {
        "claude-sonnet-4-5-20250929": 8,
        "claude-haiku-4-5-20251001": 7,
    }


def test_retries_are_silent(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD, Refuse(429, "rate_limit_error", "slow", {"retry-after": "1"}), Say("ok"))
    assert desk.ask("-p", "hi", *STREAM).shape() == [("system", "init"), ("assistant", None), ("result", "success")]
    assert desk.stub.times[1] - desk.stub.times[0] >= 1


def test_an_answer_at_the_limit_shows_its_error_each_time(tmp_path: Path) -> None:
    done = Desk(tmp_path, OLD, Say("trunc", stop="max_tokens")).ask("-p", "hi", *STREAM)
    models = [e["message"]["model"] for e in done.events if e["type"] == "assistant"]
    assert models == ["claude-sonnet-4-5-20250929", "<synthetic>"] * 4
    assert (done.exit, done.result["num_turns"]) == (1, 1)


def test_a_manual_compaction(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD, Say("a"), Say("SUMMARY"), Say("b"))
    desk.ask("-p", "one", *STREAM, "--session-id", SID, "--append-system-prompt", "FIRST")
    done = desk.ask("-p", "/compact", *STREAM, "--resume", SID)
    assert done.shape() == [
        ("system", "status"), ("system", "status"), ("system", "init"), ("system", "compact_boundary"), ("user", None),
        ("user", None), ("result", "success"),
    ]  # fmt: skip
    assert list(done.events[3]["compact_metadata"]) == ["trigger", "pre_tokens"]
    body = desk.stub.bodies[1]
    assert (body["max_tokens"], len(body["tools"]), "FIRST" in str(body["system"])) == (20_000, 1, False)
    desk.ask("-p", "two", *STREAM, "--resume", SID, "--append-system-prompt", "SECOND")
    assert "SECOND" in desk.received()
