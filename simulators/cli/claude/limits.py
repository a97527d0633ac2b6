"""Answers that stopped before their end: cut off by a limit, or by the model's safeguards."""

from collections.abc import Generator, Mapping
from typing import Any

from simulators.cli.claude.api import Answer
from simulators.cli.claude.context import Context, Steps
from simulators.cli.claude.errors import Ending
from simulators.cli.claude.models import lookup
from simulators.cli.claude.result import fail, say_ending
from simulators.cli.claude.rows import stamp
from simulators.cli.claude.texts import prose, reminder
from simulators.cli.claude.usage import counts
from simulators.cli.effects import Effect, Now

_CONTINUATIONS = 3
_OVER_BUDGET = (
    "API Error: Claude's response exceeded the {budget} output token maximum. To configure this behavior, set the "
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
)
_LOST = "API Error: Connection lost mid-response. The response above may be incomplete."
_WINDOW_FULL = "API Error: The model has reached its context window limit."
_REFUSAL_FALLBACK = "claude-opus-4-8"
_POLICY = (
    "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy "
    "(https://www.anthropic.com/legal/aup)."
)


def cut_off(context: Context, stop: str, continuations: int) -> Generator[Effect, Any, bool | None]:
    """The answer hit a limit: ask for the rest, at most three times. None to go on."""
    text, cut = _WINDOW_FULL, {"cut": "context_window"}
    if stop == "max_tokens":
        text, cut = _OVER_BUDGET.format(budget=context.budget(context.model)), {"cut": "output_limit"}
    end = Ending(text, "max_output_tokens", api_error="max_output_tokens", params=cut, has_api_type=False)
    if continuations >= _CONTINUATIONS:
        return (yield from fail(context, end))
    if context.version.rich_events:
        context.turn.steps += 1
        text = "Output token limit hit. " + prose("continue", 183 - 24)
        yield from say_note(context, text)
        nudge = reminder(text)
    else:
        yield from say_ending(context, end)
        nudge = "Your response was cut off because it exceeded the output token limit. " + prose("continue", 60)
    yield from context.add("user", message={"role": "user", "content": nudge}, isMeta=True)
    return None


def broken_off(context: Context, continuations: int) -> Generator[Effect, Any, bool | None]:
    """The connection broke after a part of the answer: ask for the rest, at most three times. None to go on."""
    if continuations >= _CONTINUATIONS:
        end = Ending(_LOST, "server_error", api_error="connection_failed", has_api_type=False)
        return (yield from fail(context, end))
    context.turn.steps += 1
    text = "Your response above was cut off mid-stream. " + prose("resume", 111)
    yield from say_note(context, text)
    yield from context.add("user", message={"role": "user", "content": reminder(text)}, isMeta=True)
    return None


def say_note(context: Context, text: str, **more: Any) -> Steps:
    """A user message that the CLI wrote itself, as stdout shows it."""
    now = yield Now()
    content = [{"type": "text", "text": text}]
    extra = {"timestamp": stamp(now), "isSynthetic": True, **more}
    yield from context.emit("user", message={"role": "user", "content": content}, parent_tool_use_id=None, **extra)


def refused(context: Context, answer: Answer, refusals: int) -> Generator[Effect, Any, bool | None]:
    """The model's safeguards stopped it: the newer version asks once more, then another model, then gives up."""
    context.turn.safety_stops += 1
    title = context.model.title
    if not context.version.rich_events:
        return (yield from fail(context, Ending(_POLICY, "invalid_request", has_api_type=False)))
    context.turn.refused = True
    if refusals == 0:
        said = f"{title}'s safeguards stopped the response above · continuing once with that noted"
        yield from context.emit("system", subtype="informational", content=said, level="notice")
        note = prose("refusal", 224)
        yield from say_note(context, note, refused_message_id=answer.message.get("id"), refusal_retry=True)
        yield from context.add("user", message={"role": "user", "content": reminder(note)}, isMeta=True)
        context.turn.steps += 1
        return None
    about = _about(context, answer)
    if context.model.id != _REFUSAL_FALLBACK:
        yield from _fall_back(context, answer, about)
        return None
    old = {"original_model": context.model.id}
    yield from context.emit("system", subtype="model_refusal_no_fallback", **old, **about, content="")
    text = f"API Error: {title}'s safeguards flagged this message. Try rephrasing it or attempting another approach."
    refused_id = {"refused_message_id": answer.message.get("id")}
    details = answer.message.get("stop_details")
    end = Ending(
        text, "invalid_request", stop="refusal", has_api_type=False, request_id=answer.request_id,
        shown=refused_id, stop_details=details,
    )  # fmt: skip
    return (yield from fail(context, end))


def _about(context: Context, answer: Answer) -> dict[str, Any]:
    details: Mapping[str, Any] = answer.message.get("stop_details") or {}
    prompt = next((r["uuid"] for r in reversed(context.session.rows) if r.get("promptId")), None)
    return {
        "request_id": answer.request_id,
        "api_refusal_category": details.get("category"),
        "api_refusal_explanation": details.get("explanation"),
        "refused_user_message_uuid": prompt,
    }


def _fall_back(context: Context, answer: Answer, about: Mapping[str, Any]) -> Steps:
    """Another model takes over; what the refusing one said last is taken back, and not counted."""
    context.options.effort = context.effort  # stays as it was for the session's own model
    old, context.model = context.model, lookup(_REFUSAL_FALLBACK)
    last = context.session.rows[-1]
    retracted = [last["uuid"]]
    context.session.retract(last["uuid"])
    context.turn.spent.subtract(counts(answer.message.get("usage")))
    said = f"{old.title}'s safeguards flagged this session."
    yield from context.emit(
        "system",
        subtype="model_refusal_fallback",
        trigger="refusal",
        direction="retry",
        scope="session",
        original_model=old.id,
        fallback_model=context.model.id,
        **about,
        retracted_message_uuids=retracted,
        content=said,
    )
    context.superseding = tuple(retracted)
