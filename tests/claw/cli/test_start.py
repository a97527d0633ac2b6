"""`claw --help` starts quickly because nothing heavy is imported for it."""

import json
import subprocess
import sys
import time

HEAVY = ("anthropic", "openai", "google.genai", "httpx2", "httpx", "typer", "rich", "asyncio", "simulators", "msgspec")


def imported(*arguments):
    """The heavy modules that a command has imported by its end."""
    code = (
        "import sys, contextlib, io\nfrom claw.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main({list(arguments)!r})\n"
        f"import json; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


def test_help_imports_nothing_heavy():
    assert imported("--help") == []


def test_help_of_the_agent_imports_no_sdk_and_no_simulator():
    assert not {"anthropic", "openai", "google.genai", "httpx2", "httpx", "simulators"} & set(
        imported("agent", "--help")
    )


def test_help_takes_at_most_three_tenths_of_a_second():
    """The best of five: what the machine is busy with besides is not the command's doing."""

    def once():
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "claw", "--help"], capture_output=True, check=True, timeout=30)
        return time.perf_counter() - began

    assert min(once() for _ in range(5)) <= 0.3
