"""The official SDK's own contract tests (its source distribution, `tests/api_resources`) against `claw sim serve`.

They are written for a mock server that answers everything, so their requests name a model and a batch that do not
exist: those names are replaced by real ones. What is refused all the same stands in `EXCEPTIONS`, each with its reason;
the list only shrinks. The distribution is fetched by pip, or looked for in CLAW_ANTHROPIC_SDIST.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

VERSION = "2.14.0"
TESTS = (
    "test_messages.py",
    "test_models.py",
    "messages",
    "beta/test_messages.py",
    "beta/test_models.py",
    "beta/messages",
)
PLACEHOLDERS = {'"model_id"': '"claude-opus-5-5"', '"message_batch_id"': 'os.environ["BATCH_ID"]'}
DEFERRED = "its tool has defer_loading and cache_control at once: a documented 400"
# (module, test) → why the request is refused, as the provider refuses it
EXCEPTIONS = {
    (f"{place}test_messages", f"test_method_{test}"): DEFERRED
    for place in ("", "beta.")
    for test in (
        "create_with_all_params_overload_1",
        "create_with_all_params_overload_2",
        "count_tokens_with_all_params",
    )
} | {
    ("beta.messages.test_batches", "test_method_create_with_all_params"): "it asks for the beta `string`: there is none"
}


def sdist(folder: Path) -> Path:
    """The unpacked source distribution; skips if it cannot be had."""
    given = os.environ.get("CLAW_ANTHROPIC_SDIST")
    if given is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        command += ["--disable-pip-version-check", f"anthropic=={VERSION}", "-d", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"the source distribution of anthropic {VERSION} cannot be had: {done.stderr[-300:]}")
        given = str(next(folder.glob("anthropic-*.tar.gz")))
    with tarfile.open(given) as archive:
        archive.extractall(folder / "sdist", filter="data")
    return next((folder / "sdist").iterdir())


def lay_out(source: Path, folder: Path) -> None:
    """The tests with their placeholders replaced, and our fixtures beside them."""
    tests = folder / "tests"
    shutil.copytree(source / "tests" / "api_resources", tests / "api_resources")
    for name in ("__init__.py", "utils.py", "_alias_httpx.py"):
        shutil.copy(source / "tests" / name, tests / name)
    shutil.copy(Path(__file__).parent / "contract_conftest.py", tests / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\n")
    for file in (tests / "api_resources").rglob("test_*.py"):
        pieces = re.split(r"(?=\n    (?:async )?def test_)", file.read_text())
        file.write_text("".join(piece if "respx_mock" in piece else replaced(piece) for piece in pieces))


def replaced(text: str) -> str:
    """A test with real names in place of its placeholders."""
    for name, value in PLACEHOLDERS.items():
        text = re.sub(rf"(?<=[(=]){name}|(?<= ){name}(?=,)", value, text)
    return text


@contextmanager
def served() -> Iterator[str]:
    """A simulator as its own process, as users start it."""
    server = subprocess.Popen([sys.executable, "-m", "claw", "sim", "serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0
        server.stdout.close()


def outcomes(report: Path) -> Iterator[tuple[str, str, str, str]]:
    """(module, test, outcome, first line of what was wrong) of every test."""
    for case in ElementTree.parse(report).iter("testcase"):
        bad = [child for child in case if child.tag in ("failure", "error", "skipped")]
        module = case.attrib["classname"].rpartition(".")[0].removeprefix("tests.api_resources.")
        message = bad[0].attrib.get("message", "").splitlines()[:1] if bad else []
        yield module, re.sub(r"\[.*", "", case.attrib["name"]), bad[0].tag if bad else "passed", "".join(message)


@pytest.mark.slow
def test_the_sdk_passes_its_own_contract_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(sdist(tmp_path), tmp_path)
    report = tmp_path / "report.xml"
    plain = ["-p", "no:claw_simulators", "-p", "no:claw_lab", "-p", "no:cacheprovider", "-p", "tests._alias_httpx"]
    paths = [f"tests/api_resources/{name}" for name in TESTS]
    with served() as url:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=line", f"--junit-xml={report}", *plain, *paths],
            cwd=tmp_path, env={**os.environ, "TEST_API_BASE_URL": url}, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
    assert report.is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    counted: Counter[str] = Counter()
    wrong, needed = [], set()
    for module, test, outcome, message in outcomes(report):
        expected = (module, test) in EXCEPTIONS
        if outcome in ("failure", "error") and expected:
            needed.add((module, test))
            outcome = "exception"
        elif outcome in ("failure", "error"):
            wrong.append(f"{module}::{test}: {message}")
        counted[outcome] += 1
    with capsys.disabled():
        print(f" [{', '.join(f'{number} {outcome}' for outcome, number in sorted(counted.items()))}]", end="")
    assert wrong == []
    assert counted["passed"] > (400 if find_spec("aiohttp") else 340)  # without aiohttp its tests skip themselves
    assert needed == set(EXCEPTIONS), "an exception that is no longer needed must go"
