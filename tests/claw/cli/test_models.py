"""`claw models`."""

import json

from tests.claw.cli.test_auth import claw, config

__all__ = ["claw"]


def test_models_with_their_windows_and_who_can_be_asked(claw, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    config(tmp_path, '[model]\nprimary = "openai/gpt-5.6"\nfallbacks = ["mine/small"]\n')
    found = {row["model"]: row for row in json.loads(claw("models", "--json")[1])}
    assert found["openai/gpt-5.6"]["role"] == "primary"
    assert found["openai/gpt-5.6"]["context_window"] == 1_050_000
    assert found["mine/small"]["role"] == "fallback"
    assert {row["ready"] for name, row in found.items() if name.startswith("openai/")} == {True}
    assert not found["mine/small"]["ready"]


def test_a_part_of_a_name_and_readiness_choose(claw, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    out = claw("models", "GPT-5.6", "--ready")[1].splitlines()
    assert out and all("gpt-5.6" in line and line.endswith("ready") for line in out)
    assert claw("models", "no such")[2].startswith("claw models: no model matches")
