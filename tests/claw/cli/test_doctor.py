"""`claw doctor`."""

import json

from tests.claw.cli.test_auth import claw, config

__all__ = ["claw"]


def findings(claw):
    code, out, _ = claw("doctor", "--json")
    return code, {(row["check"], row["what"].split(":")[0]): row for row in json.loads(out)}


def test_a_model_without_a_credential_is_bad_and_one_with_is_sound(claw, tmp_path, monkeypatch):
    config(tmp_path, '[model]\nprimary = "openai/gpt-5.6"\n')
    code, found = findings(claw)
    assert (code, found["model", "openai/gpt-5.6"]["status"]) == (1, "bad")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    code, found = findings(claw)
    assert (code, found["model", "openai/gpt-5.6"]["status"]) == (0, "ok")


def test_a_mistake_in_the_configuration_is_named(claw, tmp_path):
    config(tmp_path, "[modle]\n")
    code, out, _ = claw("doctor")
    assert code == 1
    assert "bad   config" in out and "config.toml:1" in out


def test_a_provider_that_does_not_exist_and_a_damaged_session_are_told(claw, tmp_path):
    config(tmp_path, '[model]\nprimary = "opnai/x"\n')
    (tmp_path / "home" / "sessions").mkdir()
    (tmp_path / "home" / "sessions" / "s.jsonl").write_text('{"type": "session", "id": "s", "timestamp": ""}\nbad\n\n')
    out = claw("doctor")[1]
    assert "opnai/x: no such provider" in out
    assert "damaged lines: s" in out


def test_the_prompt_as_it_would_be_sent(claw, tmp_path):
    (tmp_path / "AGENTS.md").write_text("Answer with BANANA.")
    told = json.loads(claw("doctor", "prompt", "--workspace", str(tmp_path), "--json")[1])
    assert any("BANANA" in block["text"] for block in told["blocks"])
    assert told["tools"] == ["exec", "read"]
    assert "--- cached, about" in claw("doctor", "prompt", "--workspace", str(tmp_path))[1]


def test_a_model_at_the_end_of_its_life_is_noted(claw, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert "end of life" not in claw("doctor")[1]
    config(tmp_path, '[model]\nprimary = "anthropic/claude-sonnet-4-5"\n')
    assert "claude-sonnet-4-5 reaches its end of life on" in claw("doctor")[1]
