"""Where things are, and how a command ends on a mistake."""

import subprocess
import sys
from pathlib import Path

import pytest

from claw.cli.home import home, load_config, told
from claw.core.errors import ClawError


def test_home_is_absolute_and_the_variable_decides(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAW_HOME", "here")
    assert home() == tmp_path / "here"
    monkeypatch.delenv("CLAW_HOME")
    assert home() == Path.home() / ".claw"


def test_no_configuration_is_the_default_one_and_an_unreadable_one_is_told(tmp_path):
    assert load_config(tmp_path / "config.toml").model.primary.startswith("anthropic/")
    (tmp_path / "config.toml").write_bytes(b"\xff")
    with pytest.raises(ClawError, match=r"config\.toml: cannot be read"):
        load_config(tmp_path / "config.toml")


def test_what_the_user_has_to_put_right_ends_with_2(capsys):
    with pytest.raises(SystemExit) as ended, told("claw x"):
        raise ClawError("put it right")
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", "claw x: put it right\n")


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_command_quietly(tmp_path):
    script = "import sys; from claw.cli.home import told\nwith told('x'):\n for n in range(10**6): print('line', n)"
    command = f'{sys.executable} -c "{script}" 2>err | head -1'
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, timeout=20, check=True)
    assert (tmp_path / "err").read_text() == ""
