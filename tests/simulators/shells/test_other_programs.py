"""The fakes of codex and gemini as programs, over HTTP before the simulators."""

import json
import subprocess

from simulators.pytest_plugin import ClawCli, ClawSim


def ran(*argv: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=30)


def test_codex_over_http_with_a_tool_and_a_resume(claw_sim: ClawSim, claw_cli: ClawCli) -> None:
    call = {"name": "exec_command", "input": {"cmd": "echo MARK"}}
    claw_sim.script([{"tool_calls": [call]}, "Done", "Again"])
    base = ("codex", "exec", "--json", "--skip-git-repo-check", "-m", "gpt-5.5")
    first = ran(*base, "hi")
    assert first.returncode == 0, first.stderr
    events = [json.loads(line) for line in first.stdout.splitlines()]
    assert [e["item"]["type"] for e in events if e["type"] == "item.completed"] == [
        "command_execution",
        "agent_message",
    ]
    second = ran(*base, "resume", "--last", "more")
    last = json.loads(second.stdout.splitlines()[-1])
    answered = [exchange for exchange in claw_sim.journal if exchange["status"] == 200 and exchange["usage"]]
    assert last["usage"]["input_tokens"] == sum(exchange["usage"]["input_tokens"] for exchange in answered)
    assert len(answered) == 3


def test_codex_without_a_server_answers_by_itself(claw_cli: ClawCli) -> None:
    claw_cli.configure(provider={"turns": [{"text": "All is well."}]})
    done = ran("codex", "exec", "--skip-git-repo-check", "-m", "gpt-5.5", "How are things?")
    assert (done.returncode, done.stdout) == (0, b"All is well.\n"), done.stderr


def test_gemini_over_http_with_a_resume(claw_sim: ClawSim, claw_cli: ClawCli) -> None:
    claw_sim.script(["Hello", "Again"])
    base = ("gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-o", "stream-json")
    first = ran(*base, "-p", "hi")
    assert first.returncode == 0, first.stderr
    events = [json.loads(line) for line in first.stdout.splitlines()]
    second = ran(*base, "-p", "more", "--resume", events[0]["session_id"])
    said = "".join(e["content"] for e in map(json.loads, second.stdout.splitlines()) if e.get("role") == "assistant")
    assert (second.returncode, said) == (0, "Again")
    assert [content["role"] for content in claw_sim.journal[-1]["request"]["contents"]] == ["user", "model", "user"]
    assert claw_sim.journal[-1]["path"].endswith("gemini-2.5-flash:streamGenerateContent")
