"""Writes are whole, appends leave no torn line, and one holder has the lock."""

import asyncio
import errno
import os
import subprocess
import sys

import pytest

from claw.host import HostFiles


@pytest.fixture
def files():
    return HostFiles()


def test_a_write_makes_folders_and_replaces_in_one_step(files, tmp_path):
    path = str(tmp_path / "a" / "b.json")
    files.write(path, b"one")
    files.write(path, b"two")
    assert files.read(path) == b"two"
    assert files.listdir(str(tmp_path / "a")) == ["b.json"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(files, tmp_path, monkeypatch):
    path = str(tmp_path / "state.json")
    files.write(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        files.write(path, b"new")
    assert files.read(path) == b"old"
    assert files.listdir(str(tmp_path)) == ["state.json"]


def test_a_write_keeps_the_mode_and_follows_a_link(files, tmp_path):
    target, link = tmp_path / "auth.json", tmp_path / "link.json"
    target.write_bytes(b"x")
    target.chmod(0o600)
    link.symlink_to(target)
    files.write(str(link), b"y")
    assert link.is_symlink()
    assert target.read_bytes() == b"y"
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_append_that_fails_half_way_is_taken_back(files, tmp_path, monkeypatch):
    path = str(tmp_path / "s.jsonl")
    files.append(path, b"line 1\n")
    real = os.write
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    with pytest.raises(OSError, match="full"):
        files.append(path, b"line 2\n")
    assert files.read(path) == b"line 1\n"


def test_a_short_write_of_the_kernel_is_continued(files, tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    files.append(str(tmp_path / "s"), b"0123456789")
    assert files.read(str(tmp_path / "s")) == b"0123456789"


def test_a_missing_folder_lists_empty_and_a_missing_file_may_be_removed(files, tmp_path):
    assert files.listdir(str(tmp_path / "none")) == []
    files.remove(str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        files.read(str(tmp_path / "none"))


def test_two_tasks_take_the_lock_one_after_the_other(files, tmp_path):
    path, order = str(tmp_path / "s.jsonl"), []

    async def user(name):
        async with files.lock(path, wait_s=5):
            order.append(f"{name} in")
            await asyncio.sleep(0.01)
            order.append(f"{name} out")

    async def story():
        await asyncio.gather(user("a"), user("b"))

    asyncio.run(story())
    assert order in (["a in", "a out", "b in", "b out"], ["b in", "b out", "a in", "a out"])
    assert files.listdir(str(tmp_path)) == []


def test_a_lock_that_stays_held_times_out_and_names_the_holder(files, tmp_path):
    path = str(tmp_path / "s.jsonl")

    async def story():
        async with files.lock(path, wait_s=0), files.lock(path, wait_s=0.02):
            raise AssertionError("two holders")

    with pytest.raises(TimeoutError, match=rf"s\.jsonl\.lock: still held by process {os.getpid()}"):
        asyncio.run(story())


def test_the_lock_of_a_killed_process_is_free(files, tmp_path):
    path = str(tmp_path / "s.jsonl")
    holder = (
        "import asyncio, os, sys; from claw.host.files import HostFiles\n"
        "async def main():\n"
        f"    async with HostFiles().lock({path!r}, wait_s=0): os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())"
    )
    assert subprocess.run([sys.executable, "-c", holder], timeout=20).returncode == -9
    assert files.listdir(str(tmp_path)) == ["s.jsonl.lock"]

    async def story():
        async with files.lock(path, wait_s=0):
            return "taken"

    assert asyncio.run(story()) == "taken"
