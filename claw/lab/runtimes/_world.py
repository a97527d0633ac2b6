"""The world of an in-process runtime: files under fixed names, processes that are watched, a life that can be cut.

The runtime sees `/lab/home` and `/lab/workspace`, whatever the play's folder is called, so that prompts which name a
path have the same bytes in every play. When its life ends (kill -9), nothing that it still does reaches the world, and
bytes that were not synced are gone.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from claw.host import HostFiles
from claw.lab.evidence import Spawn
from claw.ports import Process, Processes

ROOT = "/lab"
SETTLE_S = 2.0  # how long a child that was told to end may take


class Dead(Exception):
    """Something was tried after the end of the runtime's life."""


class Life:
    """One process of a runtime. Ends at most once."""

    def __init__(self) -> None:
        self.over = False

    def check(self) -> None:
        if self.over:
            raise Dead("this process was killed")


class World:
    """Maps the runtime's paths to the play's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unsynced: dict[str, int] = {}  # real path: length that is on disk for certain
        for name in ("home", "workspace"):
            (folder / name).mkdir()

    def real(self, path: str) -> str:
        if path == ROOT or path.startswith(f"{ROOT}/"):
            return f"{self.folder}{path[len(ROOT) :]}"
        return path

    def real_text(self, value: str) -> str:
        """A variable or an argument that may hold paths, separated by colons."""
        return ":".join(self.real(part) for part in value.split(":")) if ROOT in value else value

    def crash(self) -> None:
        """What was not synced is gone."""
        for path, length in self.unsynced.items():
            if os.path.exists(path):
                os.truncate(path, length)
        self.unsynced.clear()


class LabFiles:
    """`claw.ports.Files` of one life."""

    def __init__(self, world: World, life: Life) -> None:
        self._world, self._life, self._host = world, life, HostFiles()

    def read(self, path: str) -> bytes:
        self._life.check()
        return self._host.read(self._world.real(path))

    def exists(self, path: str) -> bool:
        return self._host.exists(self._world.real(path))

    def listdir(self, path: str) -> Sequence[str]:
        return self._host.listdir(self._world.real(path))

    def write(self, path: str, data: bytes) -> None:
        self._life.check()
        self._world.unsynced.pop(self._world.real(path), None)
        self._host.write(self._world.real(path), data)

    def append(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self._life.check()
        real = self._world.real(path)
        if sync:
            self._world.unsynced.pop(real, None)
        else:
            self._world.unsynced.setdefault(real, os.path.getsize(real) if os.path.exists(real) else 0)
        self._host.append(real, data, sync=sync)

    def remove(self, path: str) -> None:
        self._life.check()
        self._host.remove(self._world.real(path))

    def lock(self, path: str, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        return self._host.lock(self._world.real(path), wait_s=wait_s)


class WatchedProcess:
    """A process whose end is noted."""

    def __init__(self, process: Process, spawn: Spawn) -> None:
        self._process, self.spawn, self.pid = process, spawn, process.pid

    def stdout(self) -> AsyncIterator[bytes]:
        return self._process.stdout()

    def stderr(self) -> AsyncIterator[bytes]:
        return self._process.stderr()

    async def wait(self) -> int:
        self.spawn.code = await self._process.wait()
        return self.spawn.code

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


class WatchedProcesses:
    """`claw.ports.Processes` that remembers what was started. `clis` are the programs that the runtime drives."""

    def __init__(self, world: World, inner: Processes, *, clis: Sequence[str] = ()) -> None:
        self._world, self._inner, self._clis = world, inner, tuple(clis)
        self.spawns: list[Spawn] = []
        self._running: list[WatchedProcess] = []

    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes = b"", pty: bool = False
    ) -> Process:
        program = os.path.basename(argv[0])
        spawn = Spawn(argv=tuple(argv), at=asyncio.get_running_loop().time(), cli=program in self._clis)
        process = await self._start(argv, spawn, cwd=cwd, env=env, stdin=stdin, pty=pty)
        self.spawns.append(spawn)
        watched = WatchedProcess(process, spawn)
        self._running.append(watched)
        return watched

    async def _start(self, argv: Sequence[str], spawn: Spawn, *, cwd: str, env: Mapping[str, str], **rest: Any) -> Any:
        if spawn.cli:
            return await self._inner.spawn(argv, cwd=cwd, env=env, **rest)
        mapped = {name: self._world.real_text(value) for name, value in env.items()}
        return await self._inner.spawn(argv, cwd=self._world.real(cwd), env=mapped, **rest)

    async def end(self) -> list[Spawn]:
        """Give what was told to end the time to do so; what is left then is ended here, and given back."""
        left = []
        for process in self._running:
            if process.spawn.code is None and not await _ends(process):
                left.append(process.spawn)
                process.kill()
        self._running.clear()
        return left

    def kill_all(self) -> None:
        """The machine's part of a kill -9: nobody is there to read what the children say."""
        for process in self._running:
            if process.spawn.code is None:
                process.kill()
                process.spawn.code = -9
        self._running.clear()


async def _ends(process: WatchedProcess) -> bool:
    try:
        async with asyncio.timeout(SETTLE_S):
            await process.wait()
    except TimeoutError:
        return False
    return True


class MortalProcesses:
    """Processes of one life: nothing is started after its end."""

    def __init__(self, life: Life, inner: WatchedProcesses) -> None:
        self._life, self._inner = life, inner

    async def spawn(self, argv: Sequence[str], **options: Any) -> Process:
        self._life.check()
        return await self._inner.spawn(argv, **options)
