"""`claw agent`: what is printed, and how it ends."""

import json
import signal
import subprocess
import sys

import pytest

from claw.cli import main
from claw.cli.agent import overridden
from claw.runtime.config import Profile, ProviderOptions, convert_config

MODEL = ("--model", "anthropic/claude-haiku-4-5")


@pytest.fixture
def claw(tmp_path, monkeypatch, capsys):
    """Run the command in process; gives (exit code, stdout, stderr)."""
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "home"))

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


def test_the_reply_is_printed_and_the_session_goes_on(claw, claw_sim):
    claw_sim.script({"turns": [{"text": "Berlin."}, {"text": "Paris."}]})
    assert claw("agent", "Capital of Germany?", "--session", "s1", *MODEL) == (0, "Berlin.\n", "")
    assert claw("agent", "And of France?", "--session", "s1", *MODEL) == (0, "Paris.\n", "")
    second = claw_sim.journal[-1]["request"]["messages"]
    assert [message["role"] for message in second] == ["user", "assistant", "user"]


def test_json_is_one_object_and_stream_json_ends_with_it(claw, claw_sim, tmp_path):
    (tmp_path / "notes.md").write_text("hello")
    call = {"name": "read", "input": {"path": "notes.md"}}
    claw_sim.script({"turns": [{"tool_calls": [call]}, {"text": "Done."}, {"tool_calls": [call]}, {"text": "Done."}]})
    place = ("--workspace", str(tmp_path))
    code, out, _ = claw("agent", "go", "--json", "--session", "a", *place, *MODEL)
    whole = json.loads(out)
    assert (code, whole["reply"], whole["session"], whole["failure"]) == (0, "Done.", "a", None)
    assert whole["tool_calls"] == [{"id": whole["tool_calls"][0]["id"], "name": "read", "ok": True}]
    code, out, _ = claw("agent", "go", "--stream-json", "--session", "b", *place, *MODEL)
    *events, last = map(json.loads, out.splitlines())
    assert (code, last["reply"]) == (0, "Done.")
    assert [event["type"] for event in events][:2] == ["run_start", "message_start"]
    assert events[-1]["type"] == "run_end"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_a_run_that_fails_says_why_and_ends_with_1(claw, claw_sim):
    claw_sim.script({"turns": [{"error": {"kind": "billing"}}] * 2, "unused": "allow"})
    code, out, err = claw("agent", "x", *MODEL)
    assert (code, out) == (1, "")
    assert err.startswith("claw agent: billing: ")
    code, out, _ = claw("agent", "x", "--json", *MODEL)
    assert (code, json.loads(out)["failure"]["kind"]) == (1, "billing")


def test_a_prompt_may_come_from_stdin(claw, claw_sim, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("from afar"))
    claw_sim.script({"responder": "echo"})
    assert claw("agent", "-", *MODEL)[1] == "from afar\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["x", "--json", "--stream-json"], "choose one"),
        (["x", "--workspace", "/no/such"], "there is no such folder"),
        (["x", "--config", "/no/such.toml"], "there is no such file"),
        (["x", "--model", "sonnet"], "should be PROVIDER/MODEL"),
        (["x", "--session", "../x"], "session `../x`"),
        (["  "], "the prompt is empty"),
        (["x", "--colour"], "No such option"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_told_on_stderr_and_ends_with_2(claw, monkeypatch, arguments, complaint):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    code, out, err = claw("agent", *arguments)
    assert (code, out) == (2, "")
    assert complaint in err


def test_a_mistake_in_the_configuration_names_file_and_line(claw, tmp_path):
    (tmp_path / "home").mkdir()
    file = tmp_path / "home" / "config.toml"
    file.write_text('[model]\nprimray = "anthropic/x"\n')
    code, _, err = claw("agent", "x")
    assert code == 2
    assert f"{file}:2: model.primray" in err
    assert "did you mean `primary`" in err


def test_no_key_is_told_with_the_remedy(claw, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    code, _, err = claw("agent", "x")
    assert code == 2
    assert "ANTHROPIC_API_KEY" in err


def test_flags_for_address_and_key_beat_the_configuration():
    config = convert_config(
        {
            "profiles": [
                {"id": "a", "provider": "anthropic", "key": "k1"},
                {"id": "o", "provider": "openai", "key": "k2"},
            ],
            "providers": {"anthropic": {"base_url": "http://old", "params": {"speed": "fast"}}},
        }
    )
    changed = overridden(config, "anthropic/x", base_url="http://new", key="k3")
    assert changed.providers["anthropic"] == ProviderOptions(base_url="http://new", params={"speed": "fast"})
    assert changed.profiles == (Profile(id="flag", provider="anthropic", key="k3"), config.profiles[1])
    assert overridden(config, "anthropic/x", base_url=None, key=None) == config


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_ends_soon_and_keeps_the_session(claw, claw_sim, tmp_path, number, code):
    claw_sim.script({"turns": [{"text": "a b c", "fault": {"kind": "stall", "after_events": 4}}]})
    command = [sys.executable, "-m", "claw", "agent", "hello", "--session", "s", "--stream-json", *MODEL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if json.loads(line)["type"] == "part_delta":
                break
        process.send_signal(number)
        _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (code, "")
    assert "hello" in claw("sessions", "show", "s")[1]
