"""The real file system, with the two promises the runtime rests on: a write is whole, a synced append is on disk."""

import asyncio
import errno
import itertools
import os
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

_POLL_S = (0.005, 0.25)  # first and longest pause between two tries for a lock
_SERIAL = itertools.count()


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lock: written into the lock file, for people and for error messages."""

    pid: int
    started: str  # of the process; tells a holder from a later process with the same pid


class HostFiles:
    """`claw.ports.Files` on the disk. A symbolic link is followed: its target is replaced, not the link."""

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def listdir(self, path: str) -> Sequence[str]:
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def write(self, path: str, data: bytes) -> None:
        """Replace `path` in one step. A reader sees the old bytes or the new ones, also after a crash.

        What is there and no regular file (a FIFO, a device) is written to, never replaced.
        """
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "wb", buffering=0) as special:
                _write_all(special.fileno(), data)
            return
        path = os.path.realpath(path)
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        temporary = f"{folder}/.{os.path.basename(path)[:200]}.{os.getpid()}-{next(_SERIAL)}.tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            try:
                with suppress(FileNotFoundError):
                    os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
                _write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(folder)

    def append(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Add to the end. When the disk is full nothing stays behind: a torn line would spoil the next one."""
        folder = os.path.dirname(path)
        new = not os.path.exists(path)
        if new:
            os.makedirs(folder, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(fd).st_size
            try:
                _write_all(fd, data)
                if sync:
                    os.fsync(fd)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)
        if new and sync:
            _sync_folder(folder)

    def remove(self, path: str) -> None:
        """Gone afterwards, whether it was there or not."""
        with suppress(FileNotFoundError):
            os.unlink(path)

    @asynccontextmanager
    async def lock(self, path: str, *, wait_s: float) -> AsyncIterator[None]:
        """Exclusive by `path + ".lock"`, between processes and between tasks of one.

        The kernel holds the lock, so a holder that was killed leaves none behind: a stale file is simply taken.
        Raises `TimeoutError` naming the holder after `wait_s` seconds; 0 tries once.
        """
        name = f"{path}.lock"
        os.makedirs(os.path.dirname(name), exist_ok=True)
        fd = await _acquire(name, wait_s)
        try:
            yield
        finally:
            # Unlinked while still held; a waiter that got the old file notices and tries again.
            with suppress(OSError):
                os.unlink(name)
            os.close(fd)


async def _acquire(name: str, wait_s: float) -> int:
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + wait_s, _POLL_S[0]
    while (fd := _try_lock(name)) is None:
        if loop.time() >= deadline:
            raise TimeoutError(f"{name}: still held by {_holder(name)} after {wait_s:g} s")
        await asyncio.sleep(min(pause, max(0.001, deadline - loop.time())))
        pause = min(pause * 2, _POLL_S[1])
    return fd


def _try_lock(name: str) -> int | None:
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if _kernel_lock(fd) and _same_file(fd, name):
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(Holder(os.getpid(), started(os.getpid()))), 0)
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _kernel_lock(fd: int) -> bool:
        try:
            os.lseek(fd, 1 << 20, os.SEEK_SET)  # a byte beyond the text, so that others can read who holds it
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _kernel_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True


def _same_file(fd: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(name))
    except FileNotFoundError:
        return False


def _holder(name: str) -> str:
    try:
        with open(name, "rb") as file:
            holder = msgspec.json.decode(file.read(), type=Holder)
    except (OSError, msgspec.DecodeError):
        return "another process"
    mine = holder.pid == os.getpid()
    return f"process {holder.pid}" + (" (this one)" if mine else "")


def started(pid: int) -> str:
    """When a process began, in the kernel's own ticks (Linux); empty where that cannot be told or it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync_folder(folder: str) -> None:
    """Make a new name durable. Not every platform can open a folder; there the name may be lost, never the bytes."""
    if sys.platform == "win32":  # pragma: no cover
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
