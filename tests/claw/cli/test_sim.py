"""`claw sim`: a server that says when it is ready, ends with 0 and refuses what it should; variables for clients."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

CLAW = [sys.executable, "-m", "claw"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CLAW_SIM_")}
    return {**kept, "XDG_RUNTIME_DIR": str(tmp_path)}


@contextmanager
def serving(*args: str, env: dict[str, str]) -> Iterator[tuple[Any, subprocess.Popen[str]]]:
    """The ready line, read, and the process; it is ended if the test has not done so."""
    process = subprocess.Popen([*CLAW, "sim", "serve", *args], stdout=-1, stderr=-1, text=True, env=env)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline()), process
    finally:
        process.kill()
        process.communicate()


def claw(*args: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLAW, "sim", *args], capture_output=True, text=True, env=env, timeout=60)


@pytest.mark.slow
def test_serve_says_when_it_is_ready_and_ends_with_0(env: dict[str, str], tmp_path: Path) -> None:
    """One JSON line, nothing else on stdout; a hanging client does not keep it from ending."""
    script = tmp_path / "script.yaml"
    script.write_text("turns: [{text: scripted}]\nfaults: [{kind: hang, on: {call: 2}}]\n")
    with serving("--script", str(script), "--seed", "3", env=env) as (ready, process):
        assert ready == {"url": ready["url"], "pid": process.pid}
        assert ready["url"].startswith("http://127.0.0.1:")
        with httpx2.Client(base_url=ready["url"], headers={"x-api-key": "k"}) as client:
            assert client.get("/__sim__/health").json()["ok"] is True
            asked = {"model": "sim-test", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}
            headers = {"anthropic-version": "2023-06-01"}
            answer = client.post("/v1/messages", json=asked, headers=headers)
            assert answer.json()["content"][0]["text"] == "scripted"
            with pytest.raises(httpx2.ReadTimeout):
                client.post("/v1/messages", json=asked, headers=headers, timeout=0.1)
            assert f"ANTHROPIC_BASE_URL={ready['url']}\n" in claw("env", env=env).stdout
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        assert process.stdout.read() == ""
    assert ready["url"] not in claw("env", env=env).stdout


@pytest.mark.slow
def test_every_flag_is_a_variable_too(env: dict[str, str]) -> None:
    with serving(env={**env, "CLAW_SIM_STRICT_KEYS": "1", "CLAW_SIM_PORT": "0", "CLAW_SIM_SEED": "4"}) as (
        ready,
        process,
    ):
        answer = httpx2.get(f"{ready['url']}/v1/models", headers={"x-api-key": "stranger", "anthropic-version": "1"})
        assert answer.status_code == 401
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),
        (["--script", "missing.yaml"], "missing.yaml: No such file"),
        (["--script", "bad.yaml"], "bad.yaml:2: turns[0].txet"),
        (["--port", "99999"], "--port"),
        (["--host", "192.0.2.1", "--allow-remote"], "cannot listen on 192.0.2.1"),
        (["--cassette", "x"], "--cassette"),
    ],
    ids=["remote", "no script", "bad script", "bad port", "foreign address", "unknown flag"],
)
def test_bad_input_is_refused_with_2_and_its_remedy(
    env: dict[str, str], tmp_path: Path, args: list[str], said: str
) -> None:
    (tmp_path / "bad.yaml").write_text("turns:\n  - txet: hello\n")
    done = subprocess.run(
        [*CLAW, "sim", "serve", *args], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_env_speaks_shell(env: dict[str, str]) -> None:
    done = claw("env", "--shell", "--url", "http://127.0.0.1:9/", "--key", "sk a'b", env=env)
    script = done.stdout + 'printf "%s|%s|%s" "$ANTHROPIC_BASE_URL" "$OPENAI_BASE_URL" "$GEMINI_API_KEY"'
    out = subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout
    assert out == "http://127.0.0.1:9|http://127.0.0.1:9/v1|sk a'b"


@pytest.mark.slow
def test_env_without_a_server_says_how_to_start_one(env: dict[str, str]) -> None:
    done = claw("env", env=env)
    assert done.returncode == 0
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:4141\n" in done.stdout
    assert "claw sim serve --port 4141" in done.stderr
    assert "OPENAI_BASE_URL=http://127.0.0.1:5000/v1\n" in claw("env", env={**env, "CLAW_SIM_PORT": "5000"}).stdout


@pytest.mark.slow
def test_a_proxy_is_told_with_what_to_trust(env: dict[str, str]) -> None:
    """`env` finds both; the authority is gone with the server."""
    with serving("--proxy", env=env) as (ready, process):
        assert Path(ready["ca"]).read_text().startswith("-----BEGIN CERTIFICATE-----")
        printed = claw("env", env=env).stdout.splitlines()
        assert {f"HTTPS_PROXY={ready['url']}", f"NODE_EXTRA_CA_CERTS={ready['ca']}"} <= set(printed)
        assert claw("env", "--url", ready["url"], "--ca", ready["ca"], env=env).stdout.splitlines() == printed
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert not Path(ready["ca"]).parent.exists()
    refused = claw("env", "--ca", ready["ca"], env=env)
    assert (refused.returncode, "no such file" in refused.stderr) == (2, True)
