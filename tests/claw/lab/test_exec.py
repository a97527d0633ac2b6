"""Any command before the simulators."""

import sys
from pathlib import Path

import pytest

from claw.core.errors import ClawError
from claw.lab import exec as lab
from simulators.core.document import DocumentError

CLIENT = """
import json, os, sys, urllib.error, urllib.request
def ask(messages):
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", method="POST",
        headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01",
                 "content-type": "application/json"},
        data=json.dumps({"model": "sim-a", "max_tokens": 99, "messages": messages}).encode())
    try:
        return json.load(urllib.request.urlopen(request))["content"][0]["text"]
    except urllib.error.HTTPError as error:
        return error.code
"""
HI = "[{'role': 'user', 'content': 'hi'}]"


def client(body: str) -> list[str]:
    return [sys.executable, "-c", CLIENT + body]


def script(folder: Path, text: str) -> Path:
    path = folder / "account.yaml"
    path.write_text(text)
    return path


def test_a_command_that_asks_nothing_keeps_its_code_and_proves_nothing() -> None:
    ran = lab.run(["sh", "-c", "exit 7"])
    assert (ran.exit, ran.judgement.calls, ran.judgement.bad) == (7, 0, [])


def test_a_command_that_is_not_there_is_bad_input() -> None:
    with pytest.raises(ClawError, match="no command `no-such-program`"):
        lab.run(["no-such-program"])


def test_a_signal_is_told_as_a_shell_tells_it() -> None:
    assert lab.run(["sh", "-c", "kill -9 $$"]).exit == 137


def test_everything_that_leads_to_a_provider_leads_here_and_nothing_past_it() -> None:
    before = {
        "PATH": "/bin", "ANTHROPIC_API_KEY": "real", "ANTHROPIC_AUTH_TOKEN": "real", "CLAUDE_CODE_USE_BEDROCK": "1",
        "NO_PROXY": "example.org", "OPENAI_BASE_URL": "https://api.openai.com/v1",
    }  # fmt: skip
    env = lab.environment(before, "http://127.0.0.1:9", "sk-x")
    assert "real" not in env.values()
    assert "CLAUDE_CODE_USE_BEDROCK" not in env
    assert (env["OPENAI_BASE_URL"], env["PATH"]) == ("http://127.0.0.1:9/v1", "/bin")
    assert env["NO_PROXY"] == "example.org,127.0.0.1,localhost"
    assert env["no_proxy"] == "127.0.0.1,localhost"


@pytest.mark.parametrize(
    ("text", "on"), [("rate_limited@2", {"call": 2, "times": 1}), ("overloaded@1x3", {"call": 1, "times": 3})]
)
def test_a_fault_of_the_command_line(text: str, on: dict) -> None:
    assert lab.parse_fault(text) == {"kind": text.split("@")[0], "on": on}


@pytest.mark.parametrize(
    ("text", "said"),
    [("rate_limited", "KIND@CALL"), ("rate_limted@1", "did you mean `rate_limited`"), ("stall@0", "count from 1"),
     ("stall@1x0", "count from 1"), ("@1", "KIND@CALL"), ("stall@1x", "KIND@CALL")],
)  # fmt: skip
def test_a_fault_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(ClawError, match=said):
        lab.parse_fault(text)


def test_a_bad_script_starts_nothing_and_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"account\.yaml:2"):
        lab.run(["touch", str(tmp_path / "ran")], script=script(tmp_path, "turns:\n  - {txet: hello}\n"))
    with pytest.raises(ClawError, match="No such file"):
        lab.run(["touch", str(tmp_path / "ran")], script=tmp_path / "none.yaml")
    assert not (tmp_path / "ran").exists()


def test_a_client_that_ignores_retry_after_is_caught(tmp_path: Path) -> None:
    ran = lab.run(
        client(f"ask({HI}); ask({HI})"), script=script(tmp_path, "turns: [{text: ok}]"), faults=["rate_limited@1"]
    )
    assert (ran.exit, ran.judgement.calls, ran.problems) == (0, 2, [])
    assert [finding.check for finding in ran.judgement.bad] == ["sent_before_retry_after"]
    assert [raw["status"] for raw in ran.exchanges] == [429, 200]


@pytest.mark.slow
def test_accounts_are_told_apart_and_numbered_in_order(tmp_path: Path) -> None:
    other = "os.environ['ANTHROPIC_API_KEY'] = 'spare'"
    document = "accounts: {main: {turns: [{text: a}]}, spare: {turns: [{text: b}, {text: c}]}}"
    ran = lab.run(client(f"ask({HI}); {other}; ask({HI})"), script=script(tmp_path, document))
    assert [(raw["n"], raw["account"]) for raw in ran.exchanges] == [(1, "1"), (2, "2")]
    assert ran.problems == ["turns[1]: never used"]


@pytest.mark.slow
def test_faults_of_the_command_line_come_to_those_of_the_script(tmp_path: Path) -> None:
    document = "turns: [{text: ok}]\nfaults: [{kind: overloaded, on: {call: 1}}]"
    ran = lab.run(client(f"for _ in range(3): ask({HI})"), script=script(tmp_path, document), faults=["server_error@2"])
    assert [raw["status"] for raw in ran.exchanges] == [529, 500, 200]


def test_a_command_that_asks_the_vendor_itself_is_answered_through_the_proxy(tmp_path: Path) -> None:
    """No base URL is read; what does not go to a vendor goes nowhere."""
    body = f"""
os.environ["ANTHROPIC_BASE_URL"] = "https://api.anthropic.com"
assert ask({HI}) == "hello"
try:
    urllib.request.urlopen("https://example.org", timeout=5)
except urllib.error.URLError as error:
    sys.exit(0 if "403" in str(error) else 3)
"""
    ran = lab.run(client(body), script=script(tmp_path, "turns: [{text: hello}]"), proxy=True)
    assert (ran.exit, ran.judgement.calls) == (0, 1)
