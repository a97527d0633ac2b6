"""What the runtime needs of the world, as Protocols. `claw/host` has the real ones, `claw/testing` the fakes."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec

from claw.core.calls import Provider
from claw.core.usage import Price


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None: ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[Any]:
        """Raises `TimeoutError` inside the block after `seconds`; None never does."""


class Files(Protocol):
    """Paths are absolute strings. A write is all or nothing; errors are `OSError`."""

    def read(self, path: str) -> bytes: ...

    def exists(self, path: str) -> bool: ...

    def listdir(self, path: str) -> Sequence[str]:
        """Names, sorted; empty if there is no such folder."""

    def write(self, path: str, data: bytes) -> None:
        """Replace the file in one step, folders made, synced before it is visible."""

    def append(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Add to the end, folders made; with `sync` it is on disk when this returns."""

    def remove(self, path: str) -> None: ...

    def lock(self, path: str, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        """Exclusive between processes, by a lock file beside `path`. Raises `TimeoutError`."""


class Process(Protocol):
    """A started program, leader of its own process group."""

    pid: int

    def stdout(self) -> AsyncIterator[bytes]: ...

    def stderr(self) -> AsyncIterator[bytes]: ...

    async def wait(self) -> int:
        """The exit code; negative for a signal, as subprocess has it."""

    def terminate(self) -> None:
        """Ask the whole group to end."""

    def kill(self) -> None:
        """End the whole group."""


class Processes(Protocol):
    async def spawn(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes = b"", pty: bool = False
    ) -> Process:
        """Start a program. Raises `FileNotFoundError` or `PermissionError`."""


class Ids(Protocol):
    def entry(self) -> str:
        """8 hex digits, for session entries and commands."""

    def session(self) -> str:
        """A UUID, for sessions (ours and a CLI's)."""

    def fraction(self) -> float:
        """A number in [0, 1), for jitter."""


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime must know of a model."""

    id: str
    context_window: int = 200_000
    max_output: int = 32_000
    price: Price = Price()
    thinking: str = "none"  # none | budget | adaptive | always (adaptive, cannot be switched off)


class Models(Protocol):
    def get(self, provider: str, model: str) -> ModelFacts:
        """Facts of a model; an unknown one gets the defaults."""


class Providers(Protocol):
    """Makes an adapter for a provider and a credential; SDKs are imported here, when first used."""

    def open(self, provider: str, *, base_url: str | None, key: str, api: str | None = None) -> Provider:
        """`api`: the API, or the known server, whose manners a provider of another name has."""

    async def post(self, url: str, form: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        """Send a form (to renew a token): status, headers and body. Raises `ProviderError` when nothing answers."""


class Fetch(Protocol):
    async def get(self, url: str, *, timeout_s: float) -> tuple[int, Mapping[str, str], bytes]: ...


class Database(Protocol):
    """The index of sessions: a small SQL store. Statements with `?` places."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Sequence[tuple[Any, ...]]: ...


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a runtime is given."""

    clock: Clock
    files: Files
    processes: Processes
    ids: Ids
    models: Models
    providers: Providers
