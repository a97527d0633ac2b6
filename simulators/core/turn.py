"""What the simulator was asked (`ModelCall`), what it will answer (`ModelTurn`), and who reads and writes them.

A `Dialect` turns a request into a `ModelCall` and a `ModelTurn` back into bytes. Between the two nothing knows
which vendor is spoken: counting, caching, limits, rules and faults work on these types alone.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol

import msgspec

from simulators.core.wire import Chunk, Headers, Request

Level = Literal["tools", "system", "messages"]
# `resource`: about something that the account keeps (`simulators.core.store`); nothing is generated.
Operation = Literal["generate", "count_tokens", "models", "model", "resource", "other"]
CallKind = Literal["main", "summary", "title", "probe"]
Ttl = Literal["5m", "1h", "30m", "12h"]


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One unit of the rendered prompt, in render order tools → system → messages.

    `digest` is its identity for the prompt cache: `cache_control` left out, a lone text block equal to its plain
    string. `text` is the prose that every tokenizer counts (of a tool its description, of a tool call its JSON input);
    `structure` is what a real tokenizer sees besides (a tool's name and schema, a call's name). `opens_message` is
    true for the first block of each message.
    """

    level: Level
    path: str  # "tools[0]", "system[1]", "messages[3].content[0]"
    kind: str  # tool | text | image | document | tool_use | tool_result | thinking | server_result | other
    role: str = ""  # user | assistant | system, "" for tools
    digest: bytes
    text: str = ""
    structure: str = ""
    images: int = 0  # number of images; their tokens come from `image_tokens`
    image_tokens: int = 0
    hidden: int = 0  # tokens of what the vendor adds here unseen; counted by `default` alone
    ttl: Ttl | None = None  # a cache breakpoint ends here
    opens_message: bool = False


class CacheAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asks of a prompt cache that is not marked block by block (see `cache_regimes`).

    `automatic`: every prefix of at least `minimum` tokens is kept for `lifetime` seconds after its last use, at most
    `longest` in all, and read in steps of `step`. `breakpoints`: prefixes end at marks; `implicit` sets one at the end.
    `key` routes requests together; `depends` are settings without which a prefix is another one, by the vendor's name.
    """

    regime: Literal["automatic", "breakpoints", "none"]
    key: str | None = None
    minimum: int = 1024
    step: int = 1
    lifetime: float = 300.0
    longest: float = float("inf")
    implicit: bool = True
    ttl: Ttl = "30m"
    depends: tuple[tuple[str, str], ...] = ()
    tells: bool = True  # the vendor has words for why a cache missed


class ToolDecl(msgspec.Struct, frozen=True):
    """A tool that the request offers: `schema` is its JSON Schema (the persona makes valid calls from it)."""

    name: str
    schema: Mapping[str, Any] = {}


class ModelCall(msgspec.Struct, kw_only=True):
    """One parsed request, vendor words gone. Built by a dialect, read by everything else."""

    dialect: str  # "anthropic" …
    operation: Operation
    model: str  # as asked
    stream: bool = False
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    # Settings that change the rendered prompt without being text, by the level that they invalidate
    # ({"messages": "tool_choice=any"}); part of the cache key.
    settings: Mapping[str, str] = {}
    automatic_breakpoint: Ttl | None = None  # top-level cache_control
    held: int = 0  # leading blocks out of a cache that the customer made and named; read whatever else is cached
    system: str = ""  # text of the instructions, joined by newlines, for rules and checks
    last_user: str = ""  # text of the last user message ("" after tool results)
    tools: tuple[ToolDecl, ...] = ()
    tool_choice: str = "auto"  # auto | any | none | tool:NAME, where the request says what must or must not be called
    answer_schema: Mapping[str, Any] | None = None  # JSON Schema of the text to come, where it must be JSON
    tool_results: tuple[str, ...] = ()  # names of the tools whose results the last message carries
    # Input plus max_tokens over the window is refused (else generation stops at the window's end).
    strict_window: bool = False
    # `sse`: events; `array`: the pieces of one JSON array, each object as soon as it is there.
    framing: Literal["sse", "array"] = "sse"
    path: str = ""  # of the request; set by the account
    kind: CallKind = "main"  # set by the account from the table of side calls
    body: Mapping[str, Any] = {}  # the decoded request
    headers: Headers = ()
    private: Any = None  # the dialect's own notes between parse and encode
    cache: CacheAsk | None = None  # None: breakpoints and TTLs as the blocks have them
    reserves: bool = False  # admission takes input and `max_tokens` from the bucket, whatever the cache gives
    copies: int = 1  # so many answers of the same turn are generated
    deferred: bool = False  # answered at once, worked at later
    own: "ModelTurn | None" = None  # what the provider answers by itself: no turn is used up
    side: CallKind | None = None  # what the request itself says it is, whatever its text looks like
    # Called once the prompt can be counted, with the call and a `store.Desk`: the call as the server changes it before
    # the model sees it.
    revise: "Callable[[ModelCall, Any], ModelCall] | None" = None
    extra: "Tokens | None" = None  # what a step of the server's own costs, beside the tokens of the answer


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`input` as a string is sent as it stands, so that broken JSON can be scripted."""

    name: str
    input: dict[str, Any] | str = {}
    id: str | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal, dialect-neutral. `kind` is a FailureKind word or a validation class of the dialect.

    `message` and `details` are the vendor's words; a catalogue entry or a raw script sets `body` instead.
    """

    kind: str  # rate_limited | overloaded | server_error | context_overflow | auth | billing | bad_request | …
    message: str = ""
    status: int | None = None  # None: as the dialect has it for this kind
    headers: Headers = ()
    body: bytes | None = None
    events: bytes | None = None  # `body` as a stream, sent where one was asked for
    retry_after: float | None = None
    answered_by: str = "validation"
    details: Mapping[str, Any] = {}


class Refused(Exception):
    """Raised inside the order of work to leave it with a `Failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message or failure.kind)
        self.failure = failure


class ModelTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What will be answered: parts in the order thinking, text, tool calls.

    `stop` None means `tool_use` if there are tool calls, else `end_turn`; the account fills it in before a dialect
    sees the turn. `stop_sequence` is the one that ended the text. `output_tokens` overrides the figure alone.
    `blocks` are raw vendor blocks passed through after the text. `failure` answers an error instead.
    """

    thinking: str | None = None
    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = ()
    beside: tuple[Mapping[str, Any], ...] = ()  # of those, what stands around the answer and is not generated
    stop: str | None = None
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None  # what the vendor says of a refusal besides
    output_tokens: int | None = None
    failure: Failure | None = None
    raw: Mapping[str, Any] | None = None  # {status, headers (pairs), body (bytes)}: sent as it stands
    answered_by: str = ""
    faults: tuple[Any, ...] = ()  # `ArmedFault`s of this turn alone


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """What a call cost in tokens; the first four are disjoint and sum to the whole prompt."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    thinking: int = 0  # the part of `output` that is thinking

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """Everything random or timed that an encoder needs, drawn once per call so that bytes repeat."""

    request_id: str
    message_id: str
    now: float
    tool_ids: tuple[str, ...] = ()
    signature: str = ""
    organization: str = ""
    padding: str = ""  # what the lengths of padding are drawn from; "" for none
    target: str = ""  # path and query of the request, where an answer's words or form depend on it


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the catalogue. Prices in USD per million tokens."""

    id: str
    provider: str
    context_window: int
    max_output: int
    min_cacheable_tokens: int = 1024
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write_5m: float = 0.0
    cache_write_1h: float = 0.0
    features: Mapping[str, Any] = {}  # the remaining facts (supports_…)


class Dialect(Protocol):
    """One wire API. Stateless; errors in the request are raised as `Refused`, in the vendor's order and words.

    A dialect may define more, and is asked for it only if it does: `bind(document)` gives the one that serves an
    account (another server may stand behind the same paths); `extend(call, turn, prompt, output)` gives the turn with
    what the provider appends to it by itself, once `prompt` and `output` tokens are known; `prepare(call, turn,
    tokens)` gives a function from stamps to the pieces of the answer, for one that is given again and again, or None.
    """

    name: str

    def route(self, request: Request) -> Operation | None:
        """What the path asks for, or None if it is not this vendor's."""

    def key(self, request: Request) -> str | None:
        """The credential that the request carries, or None."""

    def parse(self, request: Request, operation: Operation, models: Mapping[str, ModelInfo]) -> ModelCall:
        """Validate and translate. `models` resolves ids and aliases (`sim-…` included)."""

    def encode_stream(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> Iterator[Chunk]:
        """The SSE events of an answer, one chunk each."""

    def encode_json(self, call: ModelCall, turn: ModelTurn, tokens: Tokens, stamp: Stamp) -> bytes:
        """The same answer as one body."""

    def encode_count(self, call: ModelCall, tokens: int, stamp: Stamp) -> bytes:
        """The body of a token-counting answer."""

    def encode_models(self, call: ModelCall, models: Mapping[str, ModelInfo], stamp: Stamp) -> bytes:
        """The body of a model list or of one model."""

    def encode_failure(self, failure: Failure, stamp: Stamp) -> tuple[int, Headers, bytes]:
        """Status, extra headers and body of a refusal."""

    def error_event(self, failure: Failure, stamp: Stamp) -> Chunk:
        """A failure in the middle of a stream that began with 200."""

    def headers(self, call: ModelCall | None, limits: Mapping[str, Any], stamp: Stamp) -> Headers:
        """Headers of every answer: request id, organisation, rate limits (`limits` from the account)."""

    def usage(self, call: ModelCall, tokens: Tokens) -> Mapping[str, Any]:
        """The vendor's own usage object, for the journal."""
