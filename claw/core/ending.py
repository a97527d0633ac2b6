"""The end of a run, as an outcome."""

from claw.core.commands import Failure, Finish, Outcome
from claw.core.state import Step
from claw.core.stream import Stop


def finish(out: Step, reply: str, stop: Stop, failure: Failure | None = None) -> None:
    """Nothing comes after this."""
    state = out.state
    outcome = Outcome(
        reply=reply,
        stop=stop,
        provider=state.at.provider,
        model=state.at.model,
        cli=state.at.cli,
        window=state.reported_window or state.size,
        usage=state.last_usage,
        known=state.usage_known,
        usage_total=state.total,
        cost_usd=state.cost,
        attempts=state.attempts,
        tool_calls=state.tool_uses,
        compactions=state.compactions,
        failure=failure,
    )
    out.commands.append(Finish(id=out.id(), outcome=outcome))
    out.set(phase="done", awaited=None)
