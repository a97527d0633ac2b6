"""How a turn ends: the synthetic message of an error, the `result` event, and the books on disk."""

from collections.abc import Generator, Mapping
from typing import Any

from simulators.cli.claude import events
from simulators.cli.claude.context import Context, Steps
from simulators.cli.claude.errors import Ending
from simulators.cli.claude.rows import stamp
from simulators.cli.effects import Effect, Now


def say_ending(context: Context, end: Ending) -> Steps:
    """The synthetic assistant message that carries an error, on stdout and in the transcript."""
    message = events.synthetic_message(context.version, end.text, id=context.ids.uuid(), stop=end.stop)
    if context.version.rich_events:
        message["stop_details"] = end.stop_details
    now = yield Now()
    extra: dict[str, Any] = {}
    if end.error and not (end.api_error == "max_output_tokens" and not context.version.rich_events):
        extra["error"] = end.error
    row = {k: v for k, v in message.items() if k != "context_management"}
    yield from context.add("assistant", message=row, isApiErrorMessage=True, **extra)
    event: dict[str, Any] = {"type": "assistant", "message": message, "parent_tool_use_id": None}
    event |= {"session_id": context.session.id, "uuid": context.session.leaf}
    if context.version.rich_events:
        event["timestamp"] = stamp(now)
    event |= extra
    if context.version.rich_events:
        if end.request_id:
            event["request_id"] = end.request_id
        event["is_api_error_message"] = True
        if end.status is not None and end.has_api_type:
            event |= {"api_error_status": end.status, "api_error_type": end.type}
        if end.api_error:
            event["api_error"] = end.api_error
        if end.params is not None:
            event["api_error_params"] = dict(end.params)
        event |= end.shown
    yield from context.out.event(event)


def fail(context: Context, end: Ending) -> Generator[Effect, Any, bool]:
    yield from say_ending(context, end)
    body = {"result": end.text}
    context.turn.stop_reason = end.stop
    yield from finish(context, "success", is_error=True, terminal=end.terminal, end=end, **body)
    return False


def finish(
    context: Context, subtype: str, *, is_error: bool, terminal: str | None, end: Ending | None = None, **body: Any
) -> Steps:
    """Print the `result` event and close the turn's books on disk. `body` has `result` or `errors`."""
    now = yield Now()
    yield from _close_books(context, now)
    if context.version.rich_events:
        event = _rich_result(context, subtype, is_error, terminal, end, now, body)
    else:
        event = _plain_result(context, subtype, is_error, now, body)
    yield from context.out.result(event)


def _plain_result(
    context: Context, subtype: str, is_error: bool, now: float, body: Mapping[str, Any]
) -> dict[str, Any]:
    turn, version = context.turn, context.version
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": is_error,
        "duration_ms": round((now - turn.started) * 1000),
        "duration_api_ms": round(turn.api_seconds * 1000),
        "num_turns": turn.steps,
        **({"result": body["result"]} if "result" in body else {}),
        "session_id": context.session.id,
        "total_cost_usd": context.ledger.cost,
        "usage": events.usage_totals(version, turn.spent, geo=""),
        "modelUsage": context.ledger.report(version),
        "permission_denials": turn.denials,
        "uuid": context.ids.uuid(),
        **({"errors": body["errors"]} if "errors" in body else {}),
    }


def _rich_result(
    context: Context,
    subtype: str,
    is_error: bool,
    terminal: str | None,
    end: Ending | None,
    now: float,
    body: Mapping[str, Any],
) -> dict[str, Any]:
    turn, version = context.turn, context.version
    made: dict[str, Any] = {
        "duration_api_ms": round(turn.api_seconds * 1000),
        "stop_reason": turn.stop_reason,
        "session_id": context.session.id,
        "total_cost_usd": context.ledger.cost,
        "usage": events.usage_totals(version, turn.spent, geo=turn.geo),
        "modelUsage": context.ledger.report(version),
        "permission_denials": turn.denials,
    }
    if terminal is not None:
        made["terminal_reason"] = terminal
    made |= {"fast_mode_state": "off", "fast_mode_disabled_reason": "sdk_opt_in_required"}
    made |= {"subagent_stats": events.SUBAGENTS, "safety_stops": turn.safety_stops, "is_error": is_error}
    made |= {"num_turns": turn.steps, "subtype": subtype}
    if subtype == "success" and terminal is not None:
        made["api_error_status"] = end.status if end is not None else None
        if end is not None and end.has_api_type and end.status is not None:
            made["api_error_type"] = end.type
        if end is not None and end.api_error:
            made["api_error"] = end.api_error
    made |= body
    if turn.first_event is not None and not is_error:
        first = round((turn.first_event - turn.started) * 1000)
        made["ttft_ms"] = first
    made |= {"type": "result", "duration_ms": round((now - turn.started) * 1000), "uuid": context.ids.uuid()}
    if turn.first_event is not None and not is_error and turn.streamed:
        asked = round(((turn.first_request or turn.started) - turn.started) * 1000)
        made |= {
            "ttft_stream_ms": made["ttft_ms"],
            "time_to_request_ms": asked,
            "first_content_frame_ms": made["ttft_ms"],
        }
    if context.out.partial:
        made["begun_message_ids"] = turn.begun
    made |= {"queued_turn_count": 0, "result_index": context.out.results}
    if context.out.streams:
        made["model_usage_since_last_result"] = events.since_last(version, turn.ledger)
    return made


def _close_books(context: Context, now: float) -> Steps:
    """`last-prompt`, `mode` and `cost-state`: what a resumed session reads back."""
    if context.version.rich_events:
        yield from context.note("last-prompt", leafUuid=context.session.leaf)
        yield from context.note("mode", mode="normal")
    if context.version.costs != "session":
        return
    yield from context.note(
        "cost-state",
        totalCostUSD=context.ledger.cost,
        totalAPIDuration=round(context.turn.api_seconds * 1000),
        totalDuration=round((now - context.turn.started) * 1000),
        modelUsage=context.ledger.state(),
        hasUnknownModelCost=False,
    )
