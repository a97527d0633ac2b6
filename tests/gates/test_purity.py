"""Outside the shells nothing reads a clock, draws a random number, opens a file or a socket, or starts a process."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELLS = (
    "claw/cli", "claw/lab", "claw/host", "claw/runtime", "claw/gateway", "claw/bridge", "claw/tui", "claw/testing",
    "simulators/shells", "simulators/cassettes", "simulators/pytest_plugin.py",
)  # fmt: skip
MODULES = {"asyncio", "threading", "socket", "subprocess", "sqlite3", "random", "secrets", "tempfile", "http.client"}
CALLS = {
    "open", "time.time", "time.monotonic", "time.perf_counter", "time.sleep", "datetime.now", "datetime.utcnow",
    "datetime.datetime.now", "date.today", "uuid.uuid4", "uuid4", "os.urandom", "os.environ", "os.getenv",
}  # fmt: skip
METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink"}


def impurities(source: str) -> list[str]:
    """Every banned import or call in a module, as `line: what`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [f"{node.lineno}: import {a.name}" for a in node.names if a.name in MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found.append(f"{node.lineno}: from {node.module} import …")
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in CALLS or (isinstance(node.func, ast.Attribute) and node.func.attr in METHODS):
                found.append(f"{node.lineno}: {name}()")
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ",):
            found.append(f"{node.lineno}: os.environ")
    return found


def pure_modules() -> list[Path]:
    files = [*ROOT.glob("claw/**/*.py"), *ROOT.glob("simulators/**/*.py")]
    return [f for f in files if not f.relative_to(ROOT).as_posix().startswith(SHELLS)]


# Reading data that ships inside the package, once, is no I/O of the outside world; each place has its reason.
ALLOWED: dict[str, str] = {}


@pytest.mark.parametrize("path", pure_modules(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_module_is_pure(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    found = [f for f in impurities(path.read_text()) if f"{name}:{f.split(': ')[1]}" not in ALLOWED]
    assert found == []


def test_the_gate_sees_what_it_bans() -> None:
    source = "import asyncio\nfrom random import random\nx = open('f')\nt = time.time()\np.read_text()\n"
    assert len(impurities(source)) == 5


def test_the_gate_looks_at_something() -> None:
    assert len(pure_modules()) > 10
