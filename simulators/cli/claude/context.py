"""What one started CLI knows and carries: flags, version, model, session, spending, and its way to print and to ask."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulators.cli.claude import request
from simulators.cli.claude.conversation import Message, messages
from simulators.cli.claude.flags import Options
from simulators.cli.claude.models import Model, lookup
from simulators.cli.claude.output import Output
from simulators.cli.claude.rows import chained, envelope
from simulators.cli.claude.session import Row, Session, dump
from simulators.cli.claude.texts import prose
from simulators.cli.claude.usage import Counts, Ledger
from simulators.cli.claude.versions import Version
from simulators.cli.effects import Effect, Now, Start
from simulators.cli.ids import SeededIds

if TYPE_CHECKING:
    from simulators.cli.claude.control import Control
    from simulators.cli.claude.mcp import Mcp

Steps = Generator[Effect, Any, None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a fake's document adds to the command line. `auto_compact_window` in tokens."""

    version: str
    auto_compact_window: int | None = None
    alone: bool = False


@dataclass(slots=True)
class Turn:
    """One prompt's processing: what its result will report. Times in Unix seconds."""

    started: float
    spent: Counts = field(default_factory=Counts)
    ledger: Ledger = field(default_factory=Ledger)
    steps: int = 1
    denials: list[dict[str, Any]] = field(default_factory=list)
    api_seconds: float = 0.0
    first_event: float | None = None
    first_request: float | None = None
    stop_reason: str | None = None
    geo: str = ""
    begun: list[str] = field(default_factory=list)
    safety_stops: int = 0
    refused: bool = False
    streamed: bool = True
    underway: Counts | None = None  # of an answer that has begun and is not booked yet
    reminded: bool = False  # of the structured output that is missing
    pushed: bool = False  # a Stop hook has sent the model on
    structured: Any = None  # what the model handed to StructuredOutput


@dataclass(slots=True)
class Plan:
    """How one request is made: everything that retries and fall-backs change about it."""

    model: Model
    summary: bool = False
    stream: bool = True
    max_tokens: int | None = None
    shed: int = 0  # how many optional betas have been given up
    instructions: str = ""  # appended as the user's last message (summaries)
    chain: Sequence[Row] | None = None  # None: the session's own


class Context:
    """The state of a run. Methods that do something yield effects."""

    def __init__(self, start: Start, options: Options, version: Version, settings: Settings, session: Session) -> None:
        self.start, self.options, self.version, self.settings, self.session = start, options, version, settings, session
        self.env: Mapping[str, str] = start.env
        self.ids = SeededIds(start.seed)
        self.out = Output(options)
        self.home = start.env.get("HOME", "/root")
        self.model = lookup(version.default_model)
        self.ledger = Ledger()
        self.turn = Turn(0.0)
        self.prompt_index = 0
        self.dropped_tokens = 0
        self.device = prose_digest(self.home)
        self.base_url = start.env.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com").rstrip("/")
        self.mcp: Mcp | None = None
        self.control: Control | None = None
        self.hook_settings: Mapping[str, Any] = {}
        self.allowed_rules: list[str] = []  # of settings files and of the host's answers
        self.denied_rules: list[str] = []
        self.model_setting: str | None = None
        self.thinking_budget = options.max_thinking_tokens
        self.prompt_id = ""
        self.started_hooks = False
        self.superseding: tuple[str, ...] = ()  # rows that the next answer takes the place of

    # -- rows ---------------------------------------------------------------------------------------------------

    def row(self, kind: str, now: float, *, uuid: str | None = None, parent: str | None = "", **body: Any) -> Row:
        """A row that hangs on the conversation's end (or on `parent`)."""
        made = chained(
            kind, parent=self.session.leaf if parent == "" else parent, uuid=uuid or self.ids.uuid(), now=now, **body
        )
        return {**made, **envelope(self.version, session=self.session.id, cwd=self.start.cwd)}

    def add(self, kind: str, **body: Any) -> Generator[Effect, Any, Row]:
        """Append a chained row and return it."""
        now = yield Now()
        made = self.row(kind, now, **body)
        yield from self.session.append(made)
        return made

    def note(self, kind: str, **body: Any) -> Steps:
        """Append a row that is not part of the chain."""
        yield from self.session.append({"type": kind, **body, "sessionId": self.session.id})

    # -- events -------------------------------------------------------------------------------------------------

    def emit(self, kind: str, **body: Any) -> Steps:
        """Print an event with the session's id and an id of its own."""
        yield from self.out.event({"type": kind, **body, "session_id": self.session.id, "uuid": self.ids.uuid()})

    @property
    def mode(self) -> str:
        """The permission mode in force."""
        if self.options.dangerously_skip_permissions:
            return "bypassPermissions"
        return self.options.permission_mode or "default"

    def join_host_servers(self) -> Steps:
        """Greet the MCP servers that live in the host, once."""
        from simulators.cli.claude.mcp import join_host

        yield from join_host(self)

    # -- prompt -------------------------------------------------------------------------------------------------

    @property
    def records_prompt(self) -> bool:
        """Whether the system prompt is recorded in the transcript and reused."""
        return (
            self.version.prompt_on_resume == "snapshot"
            and self.options.system_prompt_snapshot != "off"
            and not self.options.bare
        )

    def rendered_prompt(self) -> tuple[list[str], bool]:
        """The system prompt that this launch's flags ask for: its sections, and whether text was appended."""
        appended = self.options.append_system_prompt
        if self.options.system_prompt is not None:
            sections = [self.options.system_prompt] if self.options.system_prompt else []
        else:
            length = self.version.for_model(self.version.system_prompt_length, self.model.id, self.model.form)
            sections = [f"{prose(f'system {self.version.name}', length - 20)} cwd: {self.start.cwd}"]
        return sections + ([appended] if appended else []), bool(appended)

    def prompt(self) -> tuple[list[str], bool]:
        """The system prompt in force: the recorded one since the last compaction, else the rendered one."""
        if self.records_prompt:
            for row in reversed(self.session.chain()):
                attached = row.get("attachment") or {}
                if attached.get("type") == "prompt_snapshot":
                    return list(attached["systemPrompt"]), bool(attached.get("appended"))
        return self.rendered_prompt()

    # -- requests -----------------------------------------------------------------------------------------------

    @property
    def tool_names(self) -> list[str]:
        """Built-in tools that travel, after --tools and --disallowedTools."""
        names = list(self.version.tools)
        if self.options.permission_prompt_tool and self.version.rich_events:
            names.insert(names.index("Agent") + 1, "AskUserQuestion")
        if self.options.json_schema is not None:
            names = with_structured_output(names)
        if self.options.tools is not None and self.options.tools != ["default"]:
            names = [n for n in names if n in self.options.tools or n == "StructuredOutput"]
        denied = {n for n in self.options.disallowed_tools if "(" not in n}
        return [n for n in names if n not in denied]

    @property
    def effort(self) -> str | None:
        if not self.version.rich_requests:
            return None
        return (self.options.effort or self.model.effort) if self.model.effort else None

    def budget(self, model: Model) -> int:
        """`max_tokens` of a request."""
        asked = self.env.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "")
        if asked.isdigit() and int(asked) > 0:
            return int(asked)
        return self.version.fixed_max_tokens or model.max_output

    def conversation(self, chain: Sequence[Row] | None = None, *, form: str | None = None) -> list[Message]:
        """The messages that the model would be sent now, without breakpoints."""
        rows = self.session.chain() if chain is None else chain
        effort = self.effort if self.model.effort_per_turn else None
        return messages(rows, self.version, form=form or self.model.form, effort=effort)

    def compose(self, plan: Plan) -> tuple[str, list[tuple[str, str]], bytes]:
        """Address, headers and body of the request that `plan` describes."""
        version, model = self.version, plan.model
        control = request.cache_control(self.env)
        made = self.conversation(plan.chain, form=model.form)
        if plan.summary:
            made = with_request(made, plan.instructions)
        sections, appended = self.prompt()
        names = self.tool_names
        if plan.summary and not version.compact_prefix_shared:
            sections, names = [SUMMARISER], [n for n in names if n == "Read"]
        display = "updates" if self.out.streams else "omitted"
        betas, named, shows = self._shed(plan, names)
        body = request.body(
            version,
            model,
            messages=made,
            system=request.system_blocks(
                version, sections=sections, appended=appended, first_user=first_text(made), control=control
            ),
            tools=[
                *request.tools(version, model, names=named, schema=self.options.json_schema),
                *self._bridged_tools(plan),
            ],
            user_id=request.user_id(version, device=self.device, session=self.session.id),
            max_tokens=plan.max_tokens or (20_000 if sections == [SUMMARISER] else self.budget(model)),
            effort=self.effort if model.effort else None,
            display=display,
            control=control,
            summary=plan.summary,
        )
        if not shows and model.form == "announced" and version.rich_requests:
            body["thinking"] = {"type": "adaptive"}
        if self.thinking_budget is not None and version.rich_requests:
            budget = self.thinking_budget
            body["thinking"] = {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}
        if not plan.stream:
            body["stream"] = False
            if not version.rich_requests:
                del body["stream"]
        if self.mode == "plan" and version.rich_requests:
            betas = request.guarded(betas)
            body = request.with_safeguards(body, cwd=self.start.cwd, home=self.home)
        headers = request.headers(version, env=self.env, session=self.session.id, beta=betas, alone=self.settings.alone)
        url = f"{self.base_url}/v1/messages?beta=true"
        return url, headers, dump(body).encode("utf-8", "surrogatepass")

    def _bridged_tools(self, plan: Plan) -> list[dict[str, Any]]:
        """Tools of MCP servers, where the version does not defer them."""
        if self.mcp is None or self.version.defers_mcp_tools or plan.summary:
            return []
        return self.mcp.declared()

    def _shed(self, plan: Plan, names: list[str]) -> tuple[list[str], list[str], bool]:
        """Betas, tools and whether thinking is displayed after giving up `plan.shed` optional things (see `calls`)."""
        credit = plan.summary or self.turn.refused
        betas = request.betas(self.version, plan.model, credit=credit, streaming_json=self.out.streams)
        if plan.shed % 3 >= 1:
            betas = [b for b in betas if not b.startswith("thinking-token-count")]
        shows = plan.shed % 3 < 2
        if not shows:
            betas = [b for b in betas if not b.startswith("thinking-display-updates")]
        if plan.shed >= 3:
            betas = [b for b in betas if not b.startswith("advanced-tool-use")]
            hidden = ("ToolSearch", "DeferredToolPlaceholder")
            names = sorted([n for n in names if n not in hidden] + list(self.version.deferred_tools))
        return betas, names, shows


def with_structured_output(names: list[str]) -> list[str]:
    """The tools with the one that --json-schema adds, where it stands on the wire."""
    at = names.index("ToolSearch") if "ToolSearch" in names else len(names)
    return [*names[:at], "StructuredOutput", *names[at:]]


SUMMARISER = "You are a helpful AI assistant tasked with summarizing conversations."


def with_request(made: list[Message], instructions: str) -> list[Message]:
    """The conversation with the request for a summary as the user's last word."""
    if made and made[-1]["role"] == "user":
        content = made[-1]["content"]
        blocks = [{"type": "text", "text": content + "\n"}] if isinstance(content, str) else list(content)
        return [*made[:-1], {"role": "user", "content": [*blocks, {"type": "text", "text": instructions}]}]
    return [*made, {"role": "user", "content": instructions}]


def first_text(made: Sequence[Message]) -> str:
    """The first user text that is no reminder."""
    for message in made:
        if message["role"] == "user":
            blocks = message["content"]
            if isinstance(blocks, str):
                return blocks
            texts = [b["text"] for b in blocks if b.get("type") == "text"]
            return next((t for t in texts if not t.startswith("<system-reminder>")), "")
    return ""


def prose_digest(home: str) -> str:
    """A device id: 64 hex digits that depend on the home alone."""
    from hashlib import sha256

    return sha256(f"device {home}".encode()).hexdigest()
