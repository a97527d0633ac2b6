"""What differs between releases of the CLI, as data. A third version is one more entry here.

2.1.332 is written up from recorded runs; 2.1.19 was run here against a local server (request form, events, error
texts, files). Where one of them was not seen, the field's comment says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Version:
    """One release. Token figures are counted by the CLI from the usage that the provider reports."""

    name: str
    # The system prompt of a resumed conversation: rendered from this launch's flags, or the recorded one.
    prompt_on_resume: Literal["from_flags", "snapshot"]
    model_on_resume: Literal["default", "session"]
    default_model: str
    aliases: Mapping[str, str]
    fixed_max_tokens: int | None  # what requests ask for whatever the model can do
    reported_max_output: int | None  # what modelUsage says
    rich_requests: bool  # thinking, context_management and output_config in the body
    breakpoints: Literal["last", "last_two"]  # messages that carry cache_control
    reminders: bool  # attachments (environment, skills, …) announced in the conversation
    costs: Literal["run", "session"]  # what total_cost_usd and modelUsage cover
    final_usage_on_disk: bool  # transcript rows have the final usage and stop reason
    rich_events: bool  # timestamps, request ids, terminal_reason, api_retry, …
    compact_reserve: int  # compaction begins at window − this
    compacts_narrow_models: bool  # before the provider refuses, for native 200k models too
    compact_keeps_tail: bool  # the last exchange stays verbatim behind the summary
    compact_prefix_shared: bool  # the summary is asked with the conversation's own system prompt and tools
    compact_min_groups: int  # exchanges that there must be
    reactive_compaction: bool  # a refused prompt is compacted and sent again
    max_retries: int
    overloaded_attempts: int  # attempts at a 529 before giving up (or falling back)
    retry_after_limit: float  # a longer retry-after is not waited for
    resume_missing_echoes_id: bool  # in stream-json: the id asked for, else a random one
    defers_mcp_tools: bool  # tools of MCP servers are not in the request, the model is told of them
    path_probe: bool  # a small model is asked which paths a shell command touched
    tools: tuple[str, ...]
    deferred_tools: tuple[str, ...]
    system_prompt_length: Mapping[str, int]  # by request form, or by model where it differs
    betas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by request form, or by model where it differs
    sdk_version: str = "0.128.0"
    init_extra: bool = False

    @staticmethod
    def for_model(table: Mapping[str, T], model: str, form: str) -> T:
        """What a table says of a model: its own entry (dated ids too), that of its request form, or `inline`."""
        own = (value for id, value in table.items() if model.startswith(id))
        return next(own, table.get(form, table["inline"]))


_ALIASES = {
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
    "fable": "claude-fable-5-2",
}
V2_1_332 = Version(
    name="2.1.332",
    prompt_on_resume="snapshot",
    model_on_resume="session",
    default_model="claude-opus-5-5",
    aliases=_ALIASES,
    fixed_max_tokens=None,
    reported_max_output=None,
    rich_requests=True,
    breakpoints="last",
    reminders=True,
    costs="session",
    final_usage_on_disk=True,
    rich_events=True,
    compact_reserve=33_000,
    compacts_narrow_models=False,
    compact_keeps_tail=True,
    compact_prefix_shared=True,
    compact_min_groups=2,
    reactive_compaction=True,
    max_retries=10,
    overloaded_attempts=3,
    retry_after_limit=60.0,
    resume_missing_echoes_id=True,
    defers_mcp_tools=True,
    path_probe=False,
    tools=(
        "Agent", "Bash", "Edit", "ListAgents", "Read", "ReportFindings", "ScheduleWakeup", "Skill", "ToolSearch",
        "Workflow", "DeferredToolPlaceholder", "Write",
    ),
    deferred_tools=(
        "CronCreate", "CronDelete", "CronList", "EnterWorktree", "ExitWorktree", "Monitor", "NotebookEdit",
        "SendMessage", "TaskStop", "WebFetch", "WebSearch",
    ),
    system_prompt_length={"announced": 7049, "inline": 28284, "claude-opus-4-8": 6819},
    betas={
        "announced": (
            "claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27",
            "per-turn-control-2026-07-01", "mid-conversation-tool-changes-2026-07-01",
            "thinking-token-count-2026-05-13", "advanced-tool-use-2025-11-20", "effort-2025-11-24",
        ),
        "inline": (
            "interleaved-thinking-2025-05-14", "context-management-2025-06-27", "claude-code-20250219",
            "thinking-token-count-2026-05-13", "advanced-tool-use-2025-11-20",
        ),
        "claude-opus-4-8": (
            "claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27",
            "mid-conversation-tool-changes-2026-07-01", "thinking-token-count-2026-05-13",
            "advanced-tool-use-2025-11-20", "effort-2025-11-24",
        ),
        "claude-opus-4-5": (
            "claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27",
            "thinking-token-count-2026-05-13", "advanced-tool-use-2025-11-20", "effort-2025-11-24",
        ),
    },
    init_extra=True,
)  # fmt: skip
V2_1_19 = Version(
    name="2.1.19",
    prompt_on_resume="from_flags",
    model_on_resume="default",
    default_model="claude-sonnet-4-5-20250929",
    aliases={
        "opus": "claude-opus-4-5-20251101",
        "sonnet": "claude-sonnet-4-5-20250929",
        "haiku": "claude-haiku-4-5-20251001",
    },
    fixed_max_tokens=32_000,
    reported_max_output=64_000,
    rich_requests=False,
    breakpoints="last_two",
    reminders=False,
    costs="run",
    final_usage_on_disk=False,
    rich_events=False,
    compact_reserve=27_500,  # as documented; the real one, measured at a 200k model, begins at window − 45,000
    compacts_narrow_models=True,
    compact_keeps_tail=False,
    compact_prefix_shared=False,
    compact_min_groups=1,
    reactive_compaction=False,
    max_retries=10,
    overloaded_attempts=3,
    retry_after_limit=60.0,
    resume_missing_echoes_id=False,
    defers_mcp_tools=False,
    path_probe=True,
    tools=(
        "Task", "TaskOutput", "Bash", "Glob", "Grep", "ExitPlanMode", "Read", "Edit", "Write", "NotebookEdit",
        "WebFetch", "TodoWrite", "WebSearch", "TaskStop", "AskUserQuestion", "Skill", "EnterPlanMode",
    ),
    deferred_tools=(),
    system_prompt_length={"inline": 12_482},
    betas={"inline": ("claude-code-20250219", "interleaved-thinking-2025-05-14")},
    sdk_version="0.70.0",
)  # fmt: skip
VERSIONS: Mapping[str, Version] = {version.name: version for version in (V2_1_19, V2_1_332)}
DEFAULT = V2_1_332.name
