"""The pytest fixtures: code under test needs no change, and a script that does not fit its calls fails the test."""

import asyncio
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import httpx2
import pytest

from simulators.shells.virtual_time import EPOCH

ASK = {"model": "sim-test", "max_tokens": 99, "messages": [{"role": "user", "content": "hello"}]}


def call_provider() -> str:
    """Code under test, which knows nothing of simulators: base URL and key come from the environment."""
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    answer = httpx2.post(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages", json=ASK, headers=headers)
    return str(answer.json()["content"][0]["text"]) if answer.status_code == 200 else str(answer.status_code)


def test_code_that_reads_the_environment_is_answered(claw_sim) -> None:
    claw_sim.script(["first", {"text": "second"}])
    assert [call_provider(), call_provider()] == ["first", "second"]
    assert [exchange["answered_by"] for exchange in claw_sim.journal] == ["turns[0]", "turns[1]"]
    assert os.environ["OPENAI_BASE_URL"] == f"{claw_sim.url}/v1"
    assert os.environ["GOOGLE_GEMINI_BASE_URL"] == claw_sim.url
    assert os.environ["OPENAI_API_KEY"] == os.environ["GEMINI_API_KEY"] == claw_sim.key


def test_without_a_script_a_persona_answers(claw_sim) -> None:
    assert call_provider()


def test_a_fault_can_be_added_at_any_time(claw_sim) -> None:
    claw_sim.script(["first", "second"])
    assert call_provider() == "first"
    claw_sim.fault("overloaded", call=2)
    assert [call_provider(), call_provider()] == ["529", "second"]


@pytest.mark.claw(turns=["from the marker"], limits={"rpm": 1})
def test_a_marker_brings_a_document(claw_sim) -> None:
    assert [call_provider(), call_provider()] == ["from the marker", "429"]
    claw_sim.advance(61)
    claw_sim.script(["anew"])
    assert call_provider() == "anew"


def test_the_same_account_answers_in_process(claw_sim) -> None:
    claw_sim.script(["socket", "no socket"])
    assert call_provider() == "socket"
    with httpx2.Client(transport=claw_sim.transport()) as client:
        headers = {"x-api-key": "whatever", "anthropic-version": "2023-06-01"}
        answer = client.post("http://x/v1/messages", json=ASK, headers=headers)
    assert answer.json()["content"][0]["text"] == "no socket"
    assert len(claw_sim.journal) == 2


async def test_an_async_test_runs_under_virtual_time(claw_sim, claw_time) -> None:
    """An hour of waiting for the first token, of an SDK-like timeout, of sleep."""
    claw_sim.script({"turns": ["late"], "pacing": {"first_token_ms": 3_600_000}})
    async with httpx2.AsyncClient(transport=claw_sim.transport(), timeout=4000) as client:
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
        assert (await client.post("http://x/v1/messages", json=ASK, headers=headers)).status_code == 200
    assert claw_time.now() == claw_sim.simulator.now() == EPOCH + 3600
    await asyncio.sleep(100)
    assert claw_time.now() == EPOCH + 3700
    claw_time.advance(1)
    assert claw_time.now() == EPOCH + 3701


def test_virtual_time_goes_on_from_run_to_run(claw_time) -> None:
    claw_time.run(asyncio.sleep(10))
    claw_time.advance(5)
    assert claw_time.run(asyncio.sleep(10, "done")) == "done"
    assert claw_time.now() == EPOCH + 25


def run_pytest(folder: Path, source: str, *args: str) -> tuple[int, str]:
    """pytest in a process of its own, on one file, with the plugin installed as users have it."""
    (folder / "test_it.py").write_text(HELPER + textwrap.dedent(source))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args, "test_it.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


HELPER = """
import os, httpx2, pytest

def call(model="sim-test"):
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    ask = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    return httpx2.post(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages", json=ask, headers=headers).status_code

"""


@pytest.mark.slow
def test_what_does_not_fit_fails_the_test(tmp_path: Path) -> None:
    """Unmatched calls with the nearest miss, unused turns, unused faults; `unused: allow` lets the last two be."""
    code, out = run_pytest(
        tmp_path,
        """
        def test_unmatched(claw_sim):
            claw_sim.script(rules=[{"when": {"model": "claude-*"}, "reply": {"text": "x"}}])
            assert call() == 400

        def test_unused_turn(claw_sim):
            claw_sim.script(["one", "two"])
            call()

        def test_unused_fault(claw_sim):
            claw_sim.script(["one"]).fault("overloaded", call=7)
            call()

        def test_allowed(claw_sim):
            claw_sim.script({"turns": ["one", "two"], "unused": "allow"})
            call()
        """,
    )
    assert code == 1
    assert "ERROR at teardown of test_unmatched" in out
    assert "request 1 (/v1/messages): no scripted answer" in out
    assert "rules[0]" in out
    assert "turns[1]: never used" in out
    assert "faults[0]: never used" in out
    assert "4 passed, 3 errors" in out


@pytest.mark.slow
def test_a_test_that_fails_by_itself_tells_what_was_unmatched(tmp_path: Path) -> None:
    """Once, as a section of its own report, not as another error."""
    code, out = run_pytest(
        tmp_path,
        """
        def test_it(claw_sim):
            claw_sim.script([])
            assert call() == 200
        """,
    )
    assert code == 1
    assert "claw_sim: the script and the calls do not fit" in out
    assert "no scripted answer" in out
    assert "1 failed" in out
    assert "error" not in out.splitlines()[-1]


@pytest.mark.slow
def test_a_bad_document_is_named_at_setup(tmp_path: Path) -> None:
    code, out = run_pytest(
        tmp_path,
        """
        @pytest.mark.claw(turns=[{"txet": "hello"}])
        def test_it(claw_sim):
            pass
        """,
    )
    assert code == 1
    assert "turns[0].txet" in out
    assert "did you mean `text`?" in out


@pytest.mark.slow
def test_loading_the_plugin_imports_nothing_heavy(tmp_path: Path) -> None:
    code, out = run_pytest(
        tmp_path,
        """
        import sys
        import httpx2

        def test_it():
            heavy = {"uvicorn", "anthropic", "openai", "tiktoken", "simulators.shells"}
            assert heavy & set(sys.modules) == set()
        """,
        "-p", "no:anyio", "-p", "no:recording",
    )  # fmt: skip
    assert code == 0, out


def test_helpers_are_plain_values(claw_sim) -> None:
    """The journal is what the control API gives: JSON values, so that it can be saved."""
    import msgspec

    claw_sim.script(["one"])
    call_provider()
    saved: Any = msgspec.json.decode(msgspec.json.encode(claw_sim.journal))
    assert saved[0]["request"] == ASK


def run_claude(*args: str) -> subprocess.CompletedProcess[str]:
    """Code under test that drives a CLI it finds on PATH."""
    return subprocess.run(["claude", "-p", *args, "hello"], capture_output=True, text=True, timeout=60)


@pytest.mark.slow
@pytest.mark.claw(turns=["from the simulator"], otherwise="echo")
def test_the_clis_on_path_are_fakes_that_call_the_simulator(claw_cli, claw_sim) -> None:
    assert run_claude().stdout.strip() == "from the simulator"
    assert claw_sim.journal[0]["path"] == "/v1/messages"
    assert Path(os.environ["HOME"]) == claw_cli.home
    assert list(claw_cli.home.rglob("*.jsonl"))


@pytest.mark.slow
def test_fakes_alone_have_providers_of_their_own_and_misbehave(claw_cli) -> None:
    claw_cli.configure(provider={"turns": [{"text": "alone"}]})
    assert run_claude().stdout.strip() == "alone"
    claw_cli.configure(misbehave=[{"kind": "die", "at": "start", "code": 7}])
    assert run_claude().returncode == 7
    with pytest.raises(ValueError, match="misbehave"):
        claw_cli.configure(misbehave=[{"kind": "dye"}])
