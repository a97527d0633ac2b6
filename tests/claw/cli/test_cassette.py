"""`claw cassette …` and the options of `claw exec` that record and replay."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulators import Simulator
from simulators.cassettes import vcr
from simulators.shells.serving import RealClock, ServedOnThread

SHIPPED = Path(__file__).parents[3] / "cassettes"
ASK = """
import os, httpx2
body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
print(httpx2.post(url, json=body, headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"]}).json()["content"][0]["text"])
"""


def claw(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "claw", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **env}, check=False)


def test_json_of_every_look(tmp_path: Path) -> None:
    cut, text = str(SHIPPED / "anthropic/stream/cut.yaml"), str(SHIPPED / "anthropic/stream/text.yaml")
    seen = json.loads(claw("cassette", "inspect", cut, "--json").stdout)
    assert (seen["origin"], seen["exchanges"][0]["ended"]) == ("simulated", "reset")
    assert json.loads(claw("cassette", "verify", cut, text, "--json").stdout)["ok"]
    different = claw("cassette", "diff", cut, text, "--json")
    assert (different.returncode, json.loads(different.stdout)["same"]) == (1, False)


def test_rewriting_leaves_no_words_and_a_sound_file(tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    done = claw("cassette", "scrub", str(SHIPPED / "anthropic/stream/text.yaml"), "--out", str(out), "--rewrite")
    assert done.returncode == 0, done.stderr
    assert b"mountain" not in out.read_bytes()
    assert claw("cassette", "verify", str(out)).returncode == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("inspect", "nowhere.yaml"), "nowhere.yaml: No such file"),
        (("import", "hars", "nowhere.har", "--out", "x"), "nowhere.har: No such file"),
        (("record", "--upstream", "x", "--out", "y"), "a URL is needed"),
        (("scrub", "a", "--out", "b", "--seed", "s"), "--seed belongs to --rewrite"),
    ],
)
def test_bad_input_ends_with_2_and_a_line(args: tuple[str, ...], said: str) -> None:
    done = claw("cassette", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.slow
def test_live_keeps_the_keys_and_records_without_them(tmp_path: Path) -> None:
    """What the user's base URL names is the real provider here; the child's key reaches it, and no file."""
    key, file = "sk-ant-api03-real-real-real", tmp_path / "c.yaml"
    simulator = Simulator(clock=RealClock(), script={"turns": [{"text": "Hello."}]})
    with ServedOnThread(simulator.app()) as real:
        env = {"ANTHROPIC_BASE_URL": real.url, "ANTHROPIC_API_KEY": key}
        done = claw("exec", "--live", "--record", str(file), "--", sys.executable, "-c", ASK, **env)
    assert (done.returncode, done.stdout) == (0, "Hello.\n"), done.stderr
    assert simulator.engine.keys() == [key]
    assert key not in file.read_text()
    assert vcr.read(file).origin == "recorded"
    again = claw("exec", "--replay", str(file), "--", sys.executable, "-c", ASK)
    assert (again.returncode, again.stdout) == (0, "Hello.\n"), again.stderr
    unused = claw("exec", "--replay", str(file), "--", "true")
    assert unused.returncode == 1
    assert "interactions[0]: never used" in unused.stderr
