"""What is installed from a wheel is whole: the library, the data, the types, and both commands play scenarios."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.gates.markdown import ROOT

DATA = (
    "claw/py.typed", "simulators/py.typed", "claw/host/models.json", "simulators/core/models.json",
    "simulators/shells/inspector.html", "simulators/errors/anthropic.json",
)  # fmt: skip


def call(*command: str | Path, cwd: Path) -> str:
    """Run a command to its end; its output, or a failure that shows it."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it could lead back here
    ended = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files that git knows: what lies about here beside them must not be needed."""
    folder = tmp_path_factory.mktemp("wheel")
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: no wheel was built")
    call("git", "clone", "--quiet", "--no-hardlinks", ROOT, folder / "checkout", cwd=folder)
    built = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, folder / "checkout"]
    call(*built, cwd=folder)
    (made,) = folder.glob("clawlab-*.whl")
    return made


@pytest.mark.slow
def test_it_has_the_library_and_the_data(wheel: Path) -> None:
    inside = set(ZipFile(wheel).namelist())
    scenarios = call("git", "ls-files", "scenarios", cwd=ROOT).split()
    assert [name for name in scenarios if f"claw/library/{name}" not in inside] == []
    assert [name for name in DATA if name not in inside] == []
    assert any(name.startswith("claw/library/workloads/") for name in inside)
    assert not [name for name in inside if name.split("/")[0] not in ("claw", "simulators") and "dist-info" not in name]


@pytest.mark.slow
def test_installed_it_plays_the_library(wheel: Path, tmp_path: Path) -> None:
    """In an environment that has the same packages and not this checkout."""
    home = tmp_path / "env"
    venv.create(home, symlinks=True)
    packages = next((home / "lib").glob("python*")) / "site-packages"
    call(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages, wheel, cwd=tmp_path)
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    python = home / "bin" / "python"
    where = call(python, "-c", "import claw; print(claw.__file__)", cwd=tmp_path)
    assert where.startswith(str(home))
    assert "passed, 0 failed" in call(python, "-m", "claw", "scenario", "run", "--area", "resume", cwd=tmp_path)
    assert "resume/banana" in call(python, "-m", "claw", "scenario", "list", cwd=tmp_path)
    assert "chat" in call(
        python, "-m", "claw", "bench", "cache", "--workload", "chat", "--runtime", "claw", cwd=tmp_path
    )
