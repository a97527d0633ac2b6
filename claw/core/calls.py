"""What the runtime asks of the two things that can answer: a provider's API, or a CLI under its control."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from claw.core.errors import ProviderFailure
from claw.core.messages import Message
from claw.core.stream import StreamEvent
from claw.core.thinking import Thinking as Thinking
from claw.core.usage import Usage

Purpose = Literal["main", "summary", "flush"]
CacheRetention = Literal["none", "short", "long"]


class SystemBlock(msgspec.Struct, frozen=True):
    """A piece of the system prompt. Stable pieces come first; the cache breakpoint goes after the last of them."""

    text: str
    stable: bool = True


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model sees it: `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model. Serialising the same request twice gives the same bytes."""

    model: str
    system: tuple[SystemBlock, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int
    purpose: Purpose = "main"
    thinking: Thinking = "off"
    stream: bool = True
    cache: CacheRetention = "short"
    session: str = ""  # for prompt_cache_key and metadata
    params: Mapping[str, Any] = {}  # extra vendor parameters of the configuration


class Provider(Protocol):
    """One wire API over its official SDK: retries off, no timer of its own."""

    api: str

    def call(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Stream one call. Raises `ProviderError`; a stream that ends without its terminator is `truncated`."""


class CliRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a CLI: `cli_session` is the id to resume, or the fresh id to use when `resume` is false.

    `spent` is what the session had used by the end of its last run, for a CLI that counts on from there; None: unknown.
    """

    prompt: str
    system: str  # the whole system prompt; the back end decides by `prompt_when` whether argv carries it
    model: str
    cli_session: str | None
    resume: bool
    workspace: str
    thinking: Thinking = "off"
    prompt_when: Literal["always", "first", "never"] = "always"
    tools: Literal["native", "claw", "hybrid"] = "native"
    mcp_config: str | None = None  # path
    context_window: int | None = None
    spent: Usage | None = None


class CliCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What to start: `env` is added to the caller's environment, then `clear_env` names are removed."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = {}
    clear_env: tuple[str, ...] = ()


class CliSession(msgspec.Struct, frozen=True):
    """The CLI named its session."""

    id: str


class CliUsage(msgspec.Struct, frozen=True):
    """Usage of one main-thread call of the CLI's own loop (`last_call`), or the sum it reported at the end: of this run
    (`run_total`), or of all runs of its session (`session_total`)."""

    usage: Usage
    scope: Literal["last_call", "run_total", "session_total"]
    cost_usd: float | None = None
    context_window: int | None = None


class CliTool(msgspec.Struct, frozen=True, kw_only=True):
    """The CLI ran a tool of its own: phase `start`, then `end` with `ok`."""

    id: str
    name: str
    phase: Literal["start", "end"]
    input: Mapping[str, Any] = {}
    ok: bool | None = None
    text: str = ""


class CliCompaction(msgspec.Struct, frozen=True, kw_only=True):
    """The CLI compacts by itself. After `end` the context size is unknown until its next call."""

    phase: Literal["start", "end"]
    trigger: str = "auto"
    pre_tokens: int | None = None
    post_tokens: int | None = None
    ok: bool = True


class CliRetry(msgspec.Struct, frozen=True, kw_only=True):
    """The CLI retries by itself."""

    attempt: int
    delay_s: float
    status: int | None
    error: str


class CliReply(msgspec.Struct, frozen=True, kw_only=True):
    """The CLI's final word, or why there is none."""

    text: str
    stop: str
    failure: ProviderFailure | None = None


CliEvent = StreamEvent | CliSession | CliUsage | CliTool | CliCompaction | CliRetry | CliReply


class CliDecoder(Protocol):
    """Reads one run's output. Pure: bytes in, events out."""

    def feed(self, data: bytes) -> Sequence[CliEvent]:
        """More of stdout, cut anywhere."""

    def finish(self, exit_code: int, stderr: bytes) -> Sequence[CliEvent]:
        """The process is gone; ends with exactly one `CliReply`."""


class CliBackend(Protocol):
    """One CLI: builds its command line and reads what it prints. Pure."""

    name: str

    def command(self, run: CliRun) -> CliCommand: ...

    def decoder(self, run: CliRun) -> CliDecoder: ...
