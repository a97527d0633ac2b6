"""A model call with the CLI's own patience: waits, retries, gives up optional features, falls back to other models."""

from collections.abc import Generator, Mapping
from typing import Any
from urllib.parse import urlsplit

from simulators.cli.claude.api import Answer, Listener, Message, attempt
from simulators.cli.claude.context import Context, Plan, Steps
from simulators.cli.claude.errors import Trouble, delay, lowered_budget, retry_word, retryable, too_long
from simulators.cli.claude.models import lookup
from simulators.cli.claude.usage import counts
from simulators.cli.effects import Effect, Now, Wait

_STREAM_FREE_BUDGET = {True: 64_000, False: 21_333}  # max_tokens of a call without streaming, newer and older versions
_REPEAT_EVERY = 30.0  # a long wait is announced again


def ask(context: Context, plan: Plan) -> Generator[Effect, Any, Answer | Trouble]:
    """Ask the model until it answers or the CLI gives up. Spending is booked; blocks are printed as they come."""
    limit = _max_retries(context)
    failures = overloads = 0
    while True:
        outcome = yield from _once(context, plan)
        if isinstance(outcome, Answer):
            yield from _book(context, plan, outcome)
            return outcome
        failures += 1
        overloads += outcome.status == 529
        lowered = lowered_budget(outcome)
        if lowered is not None and plan.max_tokens is None:
            plan.max_tokens = lowered
            continue
        if _sheds(context, plan, outcome):
            plan.shed += 1
            continue
        if overloads >= context.version.overloaded_attempts:
            fallback = _fallback(context, plan)
            if fallback is None:
                return outcome
            yield from _switch(context, plan, fallback)
            failures = overloads = 0
            continue
        if (
            retryable(outcome, context.version)
            and failures <= limit
            and not (outcome.kind == "cut" and not _retries_cuts(context))
        ):
            yield from _pause(context, outcome, failures, limit)
            continue
        if plan.stream and _tries_without_stream(context, outcome):
            if outcome.kind == "malformed" and outcome.message and context.version.rich_events:
                yield from context.out.error(outcome.message)
            plan.stream, plan.max_tokens = False, _STREAM_FREE_BUDGET[context.version.rich_requests]
            detail = outcome.detail
            outcome = yield from _once(context, plan)
            if isinstance(outcome, Answer):
                yield from _book(context, plan, outcome)
            else:
                outcome.detail = outcome.detail or detail
        return outcome


def _max_retries(context: Context) -> int:
    asked = context.env.get("CLAUDE_CODE_MAX_RETRIES", "")
    return int(asked) if asked.isdigit() else context.version.max_retries


def _retries_cuts(context: Context) -> bool:
    return context.version.rich_events


def _tries_without_stream(context: Context, trouble: Trouble) -> bool:
    """A last call without streaming follows when streams fail; so does one at an unknown model (newer version)."""
    if trouble.kind == "http":
        return trouble.status == 404 and context.version.rich_events
    return trouble.kind in ("cut", "empty", "malformed", "error_event")


def _sheds(context: Context, plan: Plan, trouble: Trouble) -> bool:
    """A 400 that nothing explains makes the newer version give up optional betas, one after the other."""
    explained = too_long(trouble) or lowered_budget(trouble) or "credit balance" in trouble.message.lower()
    return bool(
        context.version.rich_requests
        and trouble.kind == "http"
        and trouble.status == 400
        and not explained
        and plan.stream
        and plan.shed < 5
    )


def _fallback(context: Context, plan: Plan) -> str | None:
    names = [n.strip() for n in (context.options.fallback_model or "").split(",") if n.strip()]
    ids = [context.version.aliases.get(n, n) for n in names]
    if plan.model.id in ids:
        ids = ids[ids.index(plan.model.id) + 1 :]
    return next((i for i in ids if i != plan.model.id), None)


def _switch(context: Context, plan: Plan, name: str) -> Steps:
    old, plan.model = plan.model, lookup(name)
    if not plan.summary:
        context.model = plan.model
    if context.version.rich_events:
        said = f"Switched to {plan.model.title} due to high demand for {old.title}"
        yield from context.emit(
            "system",
            subtype="model_fallback",
            trigger="overloaded",
            original_model=old.id,
            fallback_model=name,
            content=said,
        )


def _pause(context: Context, trouble: Trouble, attempt_number: int, limit: int) -> Steps:
    """Wait before the next try, announced by `api_retry` events where the version has them."""
    seconds = delay(attempt_number, trouble.retry_after, context.ids.fraction())
    rich = context.version.rich_events and trouble.kind != "error_event"
    if rich and trouble.kind == "http":
        error = {
            "message": f"{trouble.status} {trouble.raw}",
            "status": trouble.status,
            "requestId": trouble.request_id,
        }
        yield from context.add(
            "system",
            subtype="api_error",
            level="error",
            error=error,
            retryInMs=seconds * 1000,
            retryAttempt=attempt_number,
            maxRetries=limit,
        )
    repeats = seconds >= 60
    while True:
        if rich:
            yield from context.emit(
                "system",
                subtype="api_retry",
                attempt=attempt_number,
                max_retries=limit,
                retry_delay_ms=round(seconds * 1000),
                error_status=trouble.status,
                error=retry_word(trouble),
            )
        step = min(_REPEAT_EVERY, seconds) if repeats else seconds
        yield Wait(step)
        seconds -= step
        if seconds <= 0:
            return


def _once(context: Context, plan: Plan) -> Generator[Effect, Any, Answer | Trouble]:
    url, headers, body = context.compose(plan)
    began = yield Now()
    if context.turn.first_request is None:
        context.turn.first_request = began
    if context.out.partial and not plan.summary and context.version.rich_events:
        yield from context.emit("system", subtype="status", status="requesting")
    outcome = yield from attempt(url, headers, body, stream=plan.stream, listener=_listener(context, plan))
    if isinstance(outcome, Answer) and outcome.cut and plan.summary:
        return Trouble("cut")
    if isinstance(outcome, Answer):
        ended = yield Now()
        context.turn.api_seconds += 0.0 if plan.summary else ended - began
    elif outcome.kind == "error_event" and outcome.began and context.version.rich_events:
        _charge(context, plan, _usage_of(outcome))
    return outcome


def _usage_of(trouble: Trouble) -> dict[str, Any]:
    import json

    usage = json.loads(trouble.raw or "{}")
    return usage if isinstance(usage, dict) else {}


def _listener(context: Context, plan: Plan) -> Listener:
    if plan.summary:
        return Listener.deaf()
    return Listener(event=lambda m, d: _forward(context, m, d), block=lambda m, b, r: say_block(context, m, b, r))


def _forward(context: Context, starting: Message, data: Mapping[str, Any]) -> Steps:
    """`stream_event` lines of --include-partial-messages."""
    if data.get("type") == "message_start":
        context.turn.underway = counts(starting.get("usage"))
    if not context.out.partial:
        return
    rich = context.version.rich_events
    body: dict[str, Any] = {"event": dict(data)}
    thinks = _thinks(data)
    if rich and thinks and data.get("type") == "content_block_delta":
        yield from context.emit("system", subtype="thinking_tokens", estimated_tokens=1, estimated_tokens_delta=1)
    made: dict[str, Any] = {"type": "stream_event", **body, "session_id": context.session.id}
    made |= {"parent_tool_use_id": None, "uuid": context.ids.uuid()}
    if rich and data.get("type") == "message_start":
        now = yield Now()
        context.turn.begun.append(starting.get("id", ""))
        made["ttft_ms"] = round((now - (context.turn.first_request or now)) * 1000)
    if rich and ((thinks and "signature" not in (data.get("delta") or {})) or data.get("type") == "message_start"):
        made["thinking_display"] = "updates"
    if rich:
        made["api_message_id"] = starting.get("id")
    yield from context.out.event(made)


def _thinks(data: Mapping[str, Any]) -> bool:
    """Whether an event belongs to thinking."""
    part = data.get("content_block") or data.get("delta") or {}
    return str(part.get("type", "")) in ("thinking", "thinking_delta", "signature_delta")


def say_block(context: Context, message: Message, block: Message, request_id: str | None) -> Steps:
    """An `assistant` event: one content block, with the usage that is known when it is whole."""
    now = yield Now()
    shown = {**message, "content": [block], "context_management": None}
    body: dict[str, Any] = {"message": shown, "parent_tool_use_id": None, "session_id": context.session.id}
    body["uuid"] = context.ids.uuid()
    if context.version.rich_events:
        from simulators.cli.claude.rows import stamp

        body |= {"timestamp": stamp(now), "request_id": request_id}
        if block.get("type") == "thinking":
            body |= {"thinking_duration_ms": 1, "thinking_display": "updates"}
        found = context.mcp.find(str(block.get("name", ""))) if context.mcp is not None else None
        if found is not None:
            server, tool = found
            meta = {"id": block["id"], "display_name": tool.capitalize(), "server_display_name": server.name}
            body["tool_use_meta"] = [{**meta, "tool_name": tool}]
        if context.superseding:
            body["supersedes"] = list(context.superseding)
            context.superseding = ()
    yield from context.out.event({"type": "assistant", **body})


def _book(context: Context, plan: Plan, answer: Answer) -> Steps:
    usage = answer.message.get("usage") or {}
    if (answer.cut or not answer.streamed) and not context.version.rich_events:
        usage = {}  # the older version charges at the end of a stream, and only there
    _charge(context, plan, usage)
    turn = context.turn
    turn.underway = None
    if not plan.summary:
        if turn.first_event is None:
            turn.first_event = answer.first_event_at
        turn.streamed = answer.streamed
        turn.stop_reason = answer.message.get("stop_reason")
        turn.geo = usage.get("inference_geo", turn.geo) or ""
        if not answer.streamed:
            for block in answer.message["content"]:
                yield from say_block(context, answer.message, block, answer.request_id)


def _charge(context: Context, plan: Plan, usage: Mapping[str, Any]) -> None:
    if not usage:
        return
    spent = counts(usage)
    if not plan.summary:
        context.turn.spent.add(spent)
    context.turn.ledger.add(plan.model.id, spent)
    context.ledger.add(plan.model.id, spent)


def host(context: Context) -> str:
    """Where requests go, as error texts name it."""
    return urlsplit(context.base_url).netloc
