"""What a run came to: exactly the object that `claw agent --json` prints."""

from typing import Literal

import msgspec

from claw.core.commands import Attempt, Failure, Outcome, ToolUse
from claw.core.stream import Stop
from claw.core.usage import Usage


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of the last main call, and how full the context is.

    `context_percent` is rounded to a whole number. The context figures are None when they are not known: before any
    call, and after a compaction inside a CLI until its next call.
    """

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    context_tokens: int | None = None
    context_window: int | None = None
    context_percent: int | None = None

    @classmethod
    def of(cls, usage: Usage | None, *, window: int | None, known: bool = True) -> "UsageReport":
        """The report of one call's `usage`; `known` false: it no longer tells the context."""
        counts = {name: getattr(usage, name) for name in Usage.__struct_fields__} if usage else {}
        if usage is None or not known:
            return cls(**counts)
        tokens = usage.context_tokens
        percent = round(100 * tokens / window) if window else None
        return cls(**counts, context_tokens=tokens, context_window=window, context_percent=percent)


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """`model` is `PROVIDER/MODEL` of the last call. `usage_total` sums all calls, summaries included."""

    session: str
    reply: str
    stop: Stop
    path: Literal["embedded", "cli"]
    model: str
    usage: UsageReport
    usage_total: Usage
    cost_usd: float
    attempts: tuple[Attempt, ...] = ()
    tool_calls: tuple[ToolUse, ...] = ()
    compactions: int = 0
    failure: Failure | None = None

    @classmethod
    def of(cls, session: str, outcome: Outcome) -> "RunResult":
        return cls(
            session=session,
            reply=outcome.reply,
            stop=outcome.stop,
            path="cli" if outcome.cli else "embedded",
            model=f"{outcome.provider}/{outcome.model}",
            usage=UsageReport.of(outcome.usage, window=outcome.window, known=outcome.known),
            usage_total=outcome.usage_total,
            cost_usd=round(outcome.cost_usd, 9),
            attempts=outcome.attempts,
            tool_calls=outcome.tool_calls,
            compactions=outcome.compactions,
            failure=outcome.failure,
        )
