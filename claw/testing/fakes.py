"""Ports for tests: a provider that answers from a script, files in memory, processes that say what they are told.

All of them work under a real or a virtual event loop; none touches the world.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from claw.core.calls import ModelRequest, Provider
from claw.core.errors import FailureKind, ProviderError, ProviderFailure
from claw.core.stream import MessageEnd, MessageStart, PartDelta, PartEnd, PartStart, Stop, StreamEvent
from claw.core.usage import Usage
from claw.ports import ModelFacts, Ports, Process


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One scripted answer. `cut_after`: the stream ends without its end after so many events; `delay_s`: silence
    before the first event, `stall_s` before the last one."""

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()  # (id, name, input)
    stop: Stop | None = None
    usage: Usage = Usage(input=100, output=10)
    cut_after: int | None = None
    delay_s: float = 0.0
    stall_s: float = 0.0


Scripted = Reply | ProviderFailure | str | Callable[[ModelRequest], "Reply | ProviderFailure | str"]


class ScriptedProvider:
    """`claw.core.calls.Provider` that answers in the order of the script, and keeps every request.

    A string is a text answer, a `ProviderFailure` is raised, a function gets the request. `summary` answers summary
    calls without using up the script. When the script is used up a call fails as `bad_request`.
    """

    api = "scripted"

    def __init__(self, script: Iterable[Scripted], *, summary: Scripted | None = None) -> None:
        self.script = list(script)
        self.summary = summary
        self.requests: list[ModelRequest] = []
        self.open_streams = 0

    async def call(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        answer = self._next(request)
        if isinstance(answer, ProviderFailure):
            raise ProviderError(answer)
        reply = Reply(text=answer) if isinstance(answer, str) else answer
        self.open_streams += 1
        try:
            await asyncio.sleep(reply.delay_s)
            events = list(stream(reply, f"msg_{len(self.requests)}", request.model))
            for event in events[: reply.cut_after]:
                if isinstance(event, MessageEnd):
                    await asyncio.sleep(reply.stall_s)
                yield event
        finally:
            self.open_streams -= 1

    def _next(self, request: ModelRequest) -> Reply | ProviderFailure | str:
        if request.purpose == "summary" and self.summary is not None:
            answer = self.summary
        elif self.script:
            answer = self.script.pop(0)
        else:
            return ProviderFailure(kind=FailureKind.BAD_REQUEST, message="the script is used up")
        return answer if isinstance(answer, Reply | ProviderFailure | str) else answer(request)


def stream(reply: Reply, id: str, model: str) -> Iterable[StreamEvent]:
    """A reply as a provider streams it: a word at a time, tool input in pieces of 16 characters."""
    yield MessageStart(id, model)
    index = 0
    for kind, text in (("thinking", reply.thinking), ("text", reply.text)):
        if text:
            yield PartStart(index=index, kind="thinking" if kind == "thinking" else "text")
            for word in re.findall(r"\S*\s*", text)[:-1]:
                yield PartDelta(index, word)
            yield PartEnd(index=index)
            index += 1
    for call, name, input in reply.tool_calls:
        yield PartStart(index=index, kind="tool_call", id=call, name=name)
        text = msgspec.json.encode(input).decode()
        for at in range(0, len(text), 16):
            yield PartDelta(index, text[at : at + 16])
        yield PartEnd(index=index)
        index += 1
    yield MessageEnd(reply.stop or ("tool_use" if reply.tool_calls else "end_turn"), reply.usage)


class ScriptedProviders:
    """`claw.ports.Providers`: one provider for every key, or one by key; `opened` lists (provider, base URL, key)."""

    def __init__(self, providers: Provider | Mapping[str, Provider]) -> None:
        self._providers = providers
        self.opened: list[tuple[str, str | None, str]] = []
        self.posts: list[tuple[int, Mapping[str, str], bytes]] = []
        self.posted: list[tuple[str, dict[str, str]]] = []

    def open(self, provider: str, *, base_url: str | None, key: str, api: str | None = None) -> Provider:
        self.opened.append((provider, base_url, key))
        return self._providers[key] if isinstance(self._providers, Mapping) else self._providers

    async def post(self, url: str, form: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        """Answers with what `posts` holds, in order; after the last one 404."""
        self.posted.append((url, dict(form)))
        await asyncio.sleep(0.1)
        return self.posts.pop(0) if self.posts else (404, {}, b"")


class MemoryFiles:
    """`claw.ports.Files` in a dictionary, path to bytes. `crash()` drops what was not synced."""

    def __init__(self, files: Mapping[str, bytes | str] | None = None) -> None:
        self.files = {path: data.encode() if isinstance(data, str) else data for path, data in (files or {}).items()}
        self._synced = dict(self.files)
        self._locks: dict[str, asyncio.Lock] = {}

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files or any(name.startswith(path.rstrip("/") + "/") for name in self.files)

    def listdir(self, path: str) -> Sequence[str]:
        inside = path.rstrip("/") + "/"
        return sorted({name[len(inside) :].split("/")[0] for name in self.files if name.startswith(inside)})

    def write(self, path: str, data: bytes) -> None:
        self.files[path] = self._synced[path] = data

    def append(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self.files[path] = self.files.get(path, b"") + data
        if sync:
            self._synced[path] = self.files[path]

    def remove(self, path: str) -> None:
        self.files.pop(path, None)
        self._synced.pop(path, None)

    def lock(self, path: str, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        return self._hold(self._locks.setdefault(path, asyncio.Lock()), path, wait_s)

    @asynccontextmanager
    async def _hold(self, lock: asyncio.Lock, path: str, wait_s: float) -> AsyncIterator[None]:
        try:
            await asyncio.wait_for(lock.acquire(), wait_s)
        except TimeoutError:
            raise TimeoutError(f"{path} is in use") from None
        try:
            yield
        finally:
            lock.release()

    def crash(self) -> None:
        self.files = dict(self._synced)
        self._locks.clear()


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """What a scripted process does: chunks of stdout with the seconds before each, then stderr and the exit code.

    `hangs`: it never ends by itself; `stubborn`: nor when it is asked to.
    """

    stdout: tuple[bytes | tuple[float, bytes], ...] = ()
    stderr: bytes = b""
    code: int = 0
    hangs: bool = False
    stubborn: bool = False


class Spawned(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    stdin: bytes


class FakeProcesses:
    """`claw.ports.Processes` that runs a script of `Spoken`, one a spawn, and keeps what was spawned."""

    def __init__(self, script: Iterable[Spoken | OSError | Callable[[Spawned], Spoken]]) -> None:
        self.script = list(script)
        self.spawned: list[Spawned] = []
        self.running: list[FakeProcess] = []

    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes = b"", pty: bool = False
    ) -> Process:
        self.spawned.append(Spawned(argv=tuple(argv), cwd=cwd, env=dict(env), stdin=stdin))
        if not self.script:
            raise FileNotFoundError(2, "No such file or directory", argv[0])
        act = self.script.pop(0)
        if isinstance(act, OSError):
            raise act
        process = FakeProcess(len(self.spawned), act if isinstance(act, Spoken) else act(self.spawned[-1]), self)
        self.running.append(process)
        return process


class FakeProcess:
    """`claw.ports.Process` of a `Spoken`."""

    def __init__(self, pid: int, act: Spoken, home: FakeProcesses) -> None:
        self.pid = pid
        self.signals: list[str] = []
        self._act = act
        self._home = home
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def stdout(self) -> AsyncIterator[bytes]:
        for chunk in self._act.stdout:
            delay, data = chunk if isinstance(chunk, tuple) else (0.0, chunk)
            if delay and not self._ended.done():
                await asyncio.wait([self._ended], timeout=delay)
            if self._ended.done():
                return
            yield data
        if self._act.hangs:
            await asyncio.shield(self._ended)
        self._end(self._act.code)

    async def stderr(self) -> AsyncIterator[bytes]:
        if self._act.stderr:
            yield self._act.stderr

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def terminate(self) -> None:
        self.signals.append("terminate")
        if not self._act.stubborn:
            self._end(-15)

    def kill(self) -> None:
        self.signals.append("kill")
        self._end(-9)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)
            self._home.running.remove(self)


class LoopTime:
    """`claw.ports.Clock` of the running loop, Unix time `epoch` at loop time 0."""

    def __init__(self, epoch: float = 1_767_225_600.0) -> None:
        self._epoch = epoch

    def now(self) -> float:
        return self._epoch + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[Any]:
        return asyncio.timeout(seconds)


class CountedIds:
    """`claw.ports.Ids` that count: entries `00000001`, sessions `00000000-0000-4000-8000-000000000001`."""

    def __init__(self) -> None:
        self._count = 0

    def _next(self) -> int:
        self._count += 1
        return self._count

    def entry(self) -> str:
        return f"{self._next():08x}"

    def session(self) -> str:
        return f"00000000-0000-4000-8000-{self._next():012x}"

    def fraction(self) -> float:
        return 0.5


class FixedModels:
    """`claw.ports.Models`: the same facts for every model, but for those given by name."""

    def __init__(self, facts: ModelFacts | None = None, **named: ModelFacts) -> None:
        self._facts = facts or ModelFacts(id="any")
        self._named = named

    def get(self, provider: str, model: str) -> ModelFacts:
        return self._named.get(model, msgspec.structs.replace(self._facts, id=model))


def fake_ports(
    provider: Provider | Mapping[str, Provider] | None = None, *, files: MemoryFiles | None = None, **overrides: Any
) -> Ports:
    """All ports as fakes: one provider for every key, or one by key. `overrides`: any port by its name."""
    made: dict[str, Any] = {
        "clock": LoopTime(),
        "files": files or MemoryFiles(),
        "processes": FakeProcesses([]),
        "ids": CountedIds(),
        "models": FixedModels(),
        "providers": ScriptedProviders(provider or ScriptedProvider([])),
    }
    return Ports(**(made | overrides))


__all__ = [
    "CountedIds", "FakeProcess", "FakeProcesses", "FixedModels", "LoopTime", "MemoryFiles", "Reply", "Scripted",
    "ScriptedProvider", "ScriptedProviders", "Spawned", "Spoken", "fake_ports", "stream",
]  # fmt: skip
