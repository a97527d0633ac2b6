"""`claw fake`: the fakes installed as commands."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from claw.cli.fake import app

run = CliRunner()


def test_install_writes_a_command_for_the_release_that_was_asked_for(tmp_path: Path) -> None:
    done = run.invoke(app, ["install", str(tmp_path / "bin"), "--version", "claude=2.1.19", "--json"])
    assert done.exit_code == 0
    path = tmp_path / "bin/claude"
    rows = json.loads(done.stdout)["installed"]
    assert [row["name"] for row in rows] == ["claude", "codex", "gemini"]
    assert rows[0] == {"name": "claude", "version": "2.1.19", "path": str(path)}
    assert os.access(path, os.X_OK)
    assert "claude@2.1.19" in path.read_text()


def test_on_windows_each_command_is_three_files(tmp_path: Path) -> None:
    """One for POSIX shells, one for cmd, one for PowerShell; each passes arguments and the exit code on."""
    done = run.invoke(app, ["install", str(tmp_path / "bin"), "--platform", "windows", "--json"])
    assert done.exit_code == 0
    names = {path.name for path in (tmp_path / "bin").iterdir()}
    assert names == {f"{name}{ending}" for name in ("claude", "codex", "gemini") for ending in ("", ".cmd", ".ps1")}
    assert json.loads(done.stdout)["installed"][0]["path"].endswith("claude.cmd")
    starts = "-P -m simulators.shells.program claude@"
    shell, cmd, ps1 = ((tmp_path / "bin" / f"claude{ending}").read_bytes() for ending in ("", ".cmd", ".ps1"))
    assert all(starts.encode() in text for text in (shell, cmd, ps1))
    assert shell.startswith(b"#!/bin/sh\n") and shell.endswith(b'"$@"\n') and b"\r" not in shell
    assert cmd.startswith(b"@ECHO off\r\n") and b" %*\r\nEXIT /b %ERRORLEVEL%\r\n" in cmd
    assert b"$input |" in ps1 and ps1.endswith(b"exit $LASTEXITCODE\n")


def test_another_platform_is_refused(tmp_path: Path) -> None:
    done = run.invoke(app, ["install", str(tmp_path / "bin"), "--platform", "beos"])
    assert done.exit_code == 2
    assert "there are posix and windows" in done.stderr
    assert not (tmp_path / "bin").exists()


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("claude", "write it as NAME=VERSION"),
        ("clade=2.1.19", "there is no fake of `clade`; did you mean `claude`?"),
        ("claude=1.0", "known versions of claude are 2.1.19, 2.1.332"),
    ],
)
def test_a_version_that_is_not_there_is_refused_and_nothing_written(tmp_path: Path, said: str, hint: str) -> None:
    done = run.invoke(app, ["install", str(tmp_path / "bin"), "--version", said])
    assert done.exit_code == 2
    assert hint in done.stderr
    assert not (tmp_path / "bin").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").write_text("")
    done = run.invoke(app, ["install", str(tmp_path / "bin")])
    assert (done.exit_code, "is a file; name a folder" in done.stderr) == (2, True)


def test_list_names_the_versions() -> None:
    (row,) = [r for r in json.loads(run.invoke(app, ["list", "--json"]).stdout)["fakes"] if r["name"] == "claude"]
    assert row["versions"] == ["2.1.19", "2.1.332"]
    assert "ANTHROPIC_BASE_URL" in run.invoke(app, ["list"]).stdout


def test_list_says_how_each_is_pointed_at_another_server() -> None:
    rows = {r["name"]: r["base_url_variable"] for r in json.loads(run.invoke(app, ["list", "--json"]).stdout)["fakes"]}
    assert rows == {"claude": "ANTHROPIC_BASE_URL", "codex": None, "gemini": "GOOGLE_GEMINI_BASE_URL"}
    assert "openai_base_url in config.toml" in run.invoke(app, ["list"]).stdout
