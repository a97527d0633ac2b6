"""What a CLI fake asks of the world. A fake is a generator that yields effects and is sent their results.

In process a shell performs them under virtual time; as a program another shell performs them for real. Only the
standard library is imported here, so that a fake starts quickly.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes to stdout or stderr, flushed. Result: None."""

    data: bytes
    stream: Literal["stdout", "stderr"] = "stdout"


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass. Result: None. `float("inf")` hangs until a signal."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadStdin:
    """Result: the next line with its newline, or b"" at the end; `all` reads to the end.

    Where nothing comes for `timeout_s` seconds the result is b"".
    """

    all: bool = False
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class WatchStdin:
    """From now on stdin is read while the fake waits for something else, too. Result: None.

    A line that contains one of `words` (blanks do not count) is not kept for `ReadStdin`, it is thrown into the fake as
    `Heard`, at the effect that it waits for. All other lines stay in order.
    """

    words: Sequence[bytes]

    def wants(self, line: bytes) -> bool:
        """Whether a line is thrown rather than kept."""
        squeezed = line.replace(b" ", b"")
        return any(word in squeezed for word in self.words)


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP request to the provider. Result: a `Reply`, whose body is then read with `NextChunk`.

    A connection that cannot be made or breaks is sent as `CallFailed` (a value, not an exception).
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class NextChunk:
    """Result: more of the body of the current reply (bytes, b"" at its end) or `CallFailed`."""


@dataclass(frozen=True, slots=True)
class Hangup:
    """Leave the current reply. Result: None."""


@dataclass(frozen=True, slots=True)
class Exec:
    """Run a program to its end (a tool). Result: `Executed`."""

    argv: Sequence[str]
    cwd: str
    stdin: bytes = b""
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class StartServer:
    """Start a program that is talked to by lines (an MCP server), under this name. Result: whether it started."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]  # added to the fake's own


@dataclass(frozen=True, slots=True)
class TellServer:
    """Write to a started server's stdin. Result: None; a server that is gone hears nothing."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class HearServer:
    """Result: the next line of a started server's stdout, b"" at its end or when none comes in time."""

    name: str
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Result: the bytes, or None if there is no such file."""

    path: str


@dataclass(frozen=True, slots=True)
class ListFiles:
    """Result: the names in a folder, sorted; () if there is none."""

    path: str


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Create or replace (or append to) a file, folders made. Result: None, or an OSError as a value."""

    path: str
    data: bytes
    append: bool = False


@dataclass(frozen=True, slots=True)
class Now:
    """Result: Unix seconds."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The process ends with this code; nothing after it is run."""

    code: int


@dataclass(frozen=True, slots=True)
class Die:
    """The process ends by this signal (its number), as if it had been sent from outside."""

    signal: int


@dataclass(frozen=True, slots=True)
class IgnoreSigterm:
    """From now on SIGTERM does nothing. Result: None."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """Leave a child behind that holds stdout and stderr open for this long after the end. Result: None."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """Result of `Call`: header names in lower case."""

    status: int
    headers: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class CallFailed:
    kind: Literal["connect", "reset", "timeout", "cut"]
    message: str = ""


@dataclass(frozen=True, slots=True)
class Executed:
    code: int  # negative: a signal
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


Effect = (
    Write
    | Wait
    | ReadStdin
    | WatchStdin
    | Call
    | NextChunk
    | Hangup
    | Exec
    | StartServer
    | TellServer
    | HearServer
    | ReadFile
    | ListFiles
    | WriteFile
    | Now
    | Exit
    | Die
    | IgnoreSigterm
    | Orphan
)
Result = object
Program = Generator[Effect, Result, None]


@dataclass(frozen=True, slots=True)
class Start:
    """How a fake is started: argv without the program's name, environment, working directory, whether by root, and
    whether stdin is a terminal."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    seed: int = 0
    root: bool = False
    tty: bool = False


class Interrupted(Exception):
    """Thrown into a fake at the effect that it waits for: the user pressed Ctrl-C (SIGINT)."""


class Heard(Exception):
    """Thrown into a fake at the effect that it waits for: `line` came on a watched stdin."""

    def __init__(self, line: bytes) -> None:
        super().__init__(line.decode("utf-8", "replace").strip())
        self.line = line


# Where a fake waits for the world; only there something is thrown into it, so that what it writes stays whole.
WAITING = (Wait, Call, NextChunk, Exec, HearServer, ReadStdin)
