"""The official SDK's own contract tests (its source distribution, `tests/api_resources`) against `claw sim serve`.

They are written for a mock server that answers everything, so their requests name a response, a completion, a
conversation and a model that do not exist: those names are replaced by real ones. What is refused all the same stands
in `EXCEPTIONS`, each with its reason; the list only shrinks. The distribution is fetched by pip, or looked for in
CLAW_OPENAI_SDIST.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tests.wire.test_anthropic_contract import outcomes, served

VERSION = "3.57.0"
TESTS = (
    "chat", "responses", "conversations", "test_responses.py", "test_conversations.py", "test_models.py",
)  # fmt: skip
PLACEHOLDERS = {
    '"response_id"': 'os.environ["RESPONSE_ID"]',
    '"resp_677efb5139a88190b512bc3fef8e535d"': 'os.environ["RESPONSE_ID"]',
    '"completion_id"': 'os.environ["COMPLETION_ID"]',
    '"conv_123"': 'os.environ["CONVERSATION_ID"]',
    '"conversation_id"': 'os.environ["CONVERSATION_ID"]',
    '"msg_abc"': 'os.environ["ITEM_ID"]',
    '"item_id"': 'os.environ["ITEM_ID"]',
    '"model"': '"gpt-5.4"',
}
_WAYS = ("method", "raw_response", "streaming_response")
_EMPTY = "it sends no model: a 400"
_DELETE = "the fine-tuned model that it removes does not exist: a 404"
_ROLES = "the SDK allows no role but the assistant's in a list that holds the user's messages"
# (module, test) → why the request is refused, or its answer not taken, as with the provider
EXCEPTIONS = (
    {("test_responses", f"test_{way}_create_overload_{n}"): _EMPTY for way in _WAYS for n in (1, 2)}
    | {("test_responses", f"test_{way}_compact"): "it sends nothing to condense: a 400" for way in _WAYS}
    | {("test_models", f"test_{way}_delete"): _DELETE for way in _WAYS}
    | {("chat.completions.test_messages", f"test_{way}_list"): _ROLES for way in _WAYS}
    | {("chat.completions.test_messages", "test_method_list_with_all_params"): _ROLES}
    | {
        ("test_responses", f"test_method_create_with_all_params_overload_{n}"): "it goes on from a response and a "
        "conversation at once: a 400"
        for n in (1, 2)
    }
    | {("test_responses", "test_method_compact_with_all_params"): "GPT-6 keeps no prompt cache in memory: a 400"}
    | {
        ("chat.test_completions", f"test_method_create_with_all_params_overload_{n}"): "it allows 0 tokens: a 400"
        for n in (1, 2)
    }
    | {
        (
            "responses.test_input_tokens",
            "test_method_count_with_all_params",
        ): "it names a conversation and a response at once: a 400"
    }
)


def sdist(folder: Path) -> Path:
    """The unpacked source distribution; skips if it cannot be had."""
    given = os.environ.get("CLAW_OPENAI_SDIST")
    if given is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        command += ["--disable-pip-version-check", f"openai=={VERSION}", "-d", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"the source distribution of openai {VERSION} cannot be had: {done.stderr[-300:]}")
        given = str(next(folder.glob("openai-*.tar.gz")))
    with tarfile.open(given) as archive:
        archive.extractall(folder / "sdist", filter="data")
    return next((folder / "sdist").iterdir())


def lay_out(source: Path, folder: Path) -> None:
    """The tests with their placeholders replaced, and our fixtures beside them."""
    tests = folder / "tests"
    shutil.copytree(source / "tests" / "api_resources", tests / "api_resources")
    for name in ("__init__.py", "utils.py"):
        shutil.copy(source / "tests" / name, tests / name)
    for name in ("respx2", "compat"):
        shutil.copytree(source / "tests" / name, tests / name)
    shutil.copy(Path(__file__).parent / "openai_contract_conftest.py", tests / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\n")
    for file in (tests / "api_resources").rglob("test_*.py"):
        text = file.read_text()
        for name, value in PLACEHOLDERS.items():
            text = re.sub(rf"(?<=[(=]){re.escape(name)}|(?<= ){re.escape(name)}(?=,)", lambda _, v=value: v, text)
        file.write_text(text)


@pytest.mark.slow
def test_the_sdk_passes_its_own_contract_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(sdist(tmp_path), tmp_path)
    report = tmp_path / "report.xml"
    plain = ["-p", "no:claw_simulators", "-p", "no:claw_lab", "-p", "no:cacheprovider"]
    paths = [f"tests/api_resources/{name}" for name in TESTS]
    with served() as url:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=line", f"--junit-xml={report}", *plain, *paths],
            cwd=tmp_path, env={**os.environ, "TEST_API_BASE_URL": f"{url}/v1"}, capture_output=True, text=True,
            timeout=600,
        )  # fmt: skip
    assert report.is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    counted: Counter[str] = Counter()
    wrong, needed = [], set()
    for module, test, outcome, message in outcomes(report):
        if outcome in ("failure", "error") and (module, test) in EXCEPTIONS:
            needed.add((module, test))
            outcome = "exception"
        elif outcome in ("failure", "error"):
            wrong.append(f"{module}::{test}: {message}")
        counted[outcome] += 1
    with capsys.disabled():
        print(f" [{', '.join(f'{count} {name}' for name, count in sorted(counted.items()))}]", end="")
    assert wrong == []
    assert set(EXCEPTIONS) - needed == set(), "these pass now: take them out"
    assert counted["passed"] > 350
