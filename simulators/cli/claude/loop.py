"""One turn: the prompt goes in, the model and its tools take turns, a result comes out."""

from collections.abc import Generator, Mapping
from typing import Any

from simulators.cli.claude import compaction, events
from simulators.cli.claude.api import Answer
from simulators.cli.claude.calls import ask, host, say_block
from simulators.cli.claude.context import Context, Plan, Steps, Turn
from simulators.cli.claude.errors import NOT_LOGGED_IN, Ending, Trouble, ending, too_long
from simulators.cli.claude.rows import attachment, stamp
from simulators.cli.claude.session import Row
from simulators.cli.claude.texts import prose, reminder
from simulators.cli.claude.tools import context_mode, run_tool
from simulators.cli.claude.usage import Ledger, estimate
from simulators.cli.effects import Effect, Now

_CONTINUATIONS = 3
_OVER_BUDGET = (
    "API Error: Claude's response exceeded the {budget} output token maximum. To configure this behavior, set the "
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
)
_REFUSAL_FALLBACK = "claude-opus-4-8"


def run_turn(context: Context, content: Any) -> Generator[Effect, Any, bool]:
    """Process one prompt (text, or blocks of input stream-json). True if it was answered."""
    now = yield Now()
    context.turn = Turn(now)
    yield from _remember_prompt(context, content)
    if not _has_key(context):
        yield from emit_init(context)
        return (yield from _fail(context, NOT_LOGGED_IN[context.version.rich_events]))
    yield from emit_init(context)
    return (yield from _converse(context))


def emit_init(context: Context) -> Steps:
    """The `init` event that every turn begins with."""
    version = context.version
    tools = [("Task" if n == "Agent" else n) for n in context.tool_names if n != "DeferredToolPlaceholder"]
    tools = sorted([*tools, *version.deferred_tools], key=lambda n: (n != "Task", n)) if version.rich_events else tools
    servers: list[dict[str, Any]] = []
    if context.mcp is not None:
        tools, servers = tools + context.mcp.tool_names(), context.mcp.servers()
    yield from context.out.event(
        events.init(
            version,
            cwd=context.start.cwd,
            home=context.home,
            session=context.session.id,
            tools=tools,
            mcp_servers=servers,
            model=context.model.id,
            mode=context_mode(context),
            key_source="ANTHROPIC_API_KEY" if context.env.get("ANTHROPIC_API_KEY") else "none",
            uuid=context.ids.uuid(),
            temp=context.env.get("TMPDIR", "/tmp"),
        )
    )


def _has_key(context: Context) -> bool:
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    return context.settings.alone or any(context.env.get(name) for name in names)


def _remember_prompt(context: Context, content: Any) -> Steps:
    """The prompt is on disk before anything is sent."""
    now = yield Now()
    text = content if isinstance(content, str) else " ".join(str(b.get("text", "")) for b in content)
    if context.version.rich_events:
        yield from context.note("queue-operation", operation="enqueue", timestamp=stamp(now), content=text)
    yield from context.note("queue-operation", operation="dequeue", timestamp=stamp(now))
    context.prompt_index += 1
    body: dict[str, Any] = {"message": {"role": "user", "content": content}}
    if context.version.rich_events:
        position = {"promptIndex": 0, "turnIndex": context.prompt_index}
        body = {"promptId": context.ids.uuid(), **body, "promptSource": "sdk", "turnPosition": position}
    yield from context.add("user", **body, permissionMode=context_mode(context))
    yield from _announce_missing(context)


def _announce_missing(context: Context) -> Steps:
    """What this conversation has not been told yet since its root or its last compaction."""
    told = {(r.get("attachment") or {}).get("type") for r in context.session.chain()}
    if "environment" not in told:
        yield from compaction.announce(context)
    if "date" not in told:
        yield from compaction.announce_day(context)
    if "remote_session_change" not in told:
        yield from compaction.announce_host(context)


def _converse(context: Context) -> Generator[Effect, Any, bool]:
    continuations = refusals = 0
    while True:
        if compaction.due(context):
            yield from compaction.automatic(context)
        answer = yield from _ask_compacting(context)
        if isinstance(answer, Trouble):
            return (yield from _fail(context, _ending(context, answer)))
        yield from _remember_answer(context, answer)
        stop = answer.message.get("stop_reason")
        calls = [b for b in answer.message["content"] if b.get("type") == "tool_use"]
        if stop in ("max_tokens", "model_context_window_exceeded"):
            over = yield from _cut_off(context, stop, continuations)
            if over is not None:
                return over
            continuations += 1
        elif stop == "refusal":
            over = yield from _refused(context, answer, refusals)
            if over is not None:
                return over
            refusals += 1
        elif calls and stop != "pause_turn":
            for call in calls:
                yield from _use_tool(context, call)
            limit = context.options.max_turns
            if limit is not None and _model_steps(context) >= limit:
                return (yield from _too_many_turns(context, limit))
            if _over_budget(context):
                return (yield from _budget_gone(context))
        else:
            return (yield from _succeed(context, answer))


def _model_steps(context: Context) -> int:
    """Calls of the main loop in this turn, by its messages."""
    index = next(
        i for i in range(len(context.session.rows) - 1, -1, -1) if context.session.rows[i].get("operation") == "dequeue"
    )
    ids = {r["message"]["id"] for r in context.session.rows[index:] if r.get("type") == "assistant"}
    return len(ids)


def _ask_compacting(context: Context) -> Generator[Effect, Any, Answer | Trouble]:
    """Ask; when the provider finds the prompt too long, compact once and ask again."""
    yield from _record_prompt(context)
    answer: Answer | Trouble = yield from ask(context, Plan(context.model))
    if isinstance(answer, Answer) or not too_long(answer) or not context.version.reactive_compaction:
        return answer
    disabled = any(context.env.get(name) == "1" for name in ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"))
    if disabled or compaction.groups(context.session.chain()) < context.version.compact_min_groups:
        return answer
    for _ in range(2):
        worked = yield from compaction.automatic(context, reactive=True)
        if not worked:
            return answer
        yield from _record_prompt(context)
        answer = yield from ask(context, Plan(context.model))
        if isinstance(answer, Answer) or not too_long(answer):
            return answer
    return answer


def _record_prompt(context: Context) -> Steps:
    """The system prompt is recorded with the first request and after a compaction."""
    if not context.records_prompt:
        return
    known = any((r.get("attachment") or {}).get("type") == "prompt_snapshot" for r in context.session.chain())
    if not known:
        sections, appended = context.rendered_prompt()
        body: Row = {"systemPrompt": sections, "reminderFold": False, "echoWireToolInputs": False}
        if appended:
            body["appended"] = True
        yield from context.add("attachment", **attachment("prompt_snapshot", body, None))


def _remember_answer(context: Context, answer: Answer) -> Steps:
    """One row for each block, with the final figures where the version has them."""
    source = answer.message if context.version.final_usage_on_disk else answer.starting
    for index, block in enumerate(answer.message["content"]):
        body: dict[str, Any] = {"message": {**source, "content": [block]}}
        if context.version.final_usage_on_disk:
            body["apiBlockIndex"] = index
        if answer.request_id:
            body["requestId"] = answer.request_id
        yield from context.add("assistant", **body)
    names = [b["name"] for b in answer.message["content"] if b.get("type") == "tool_use"]
    if names and context.version.rich_events:
        yield from context.note("tools-used", tools=names)


def _use_tool(context: Context, call: Mapping[str, Any]) -> Steps:
    outcome = yield from run_tool(context, call)
    rich = context.version.rich_events
    turn = context.turn
    turn.steps += 1
    if outcome.denied is not None:
        turn.denials.append({"tool_name": call["name"], "tool_use_id": call["id"], "tool_input": call["input"]})
        if rich:
            body = {"subtype": "permission_denied", "tool_name": call["name"], "tool_use_id": call["id"]}
            if outcome.denied_by_mode:
                body["decision_reason_type"] = "mode"
            yield from context.emit("system", **body, message=outcome.denied)
    message = {"role": "user", "content": [outcome.block]}
    yield from context.add("user", message=message, toolUseResult=outcome.report)
    now = yield Now()
    event: dict[str, Any] = {"type": "user", "message": message, "parent_tool_use_id": None}
    event |= {"session_id": context.session.id, "uuid": context.ids.uuid()}
    if rich:
        event["timestamp"] = stamp(now)
    event["tool_use_result"] = outcome.report
    if rich and outcome.decision is not None:
        event["tool_result_meta"] = [{"id": call["id"], **outcome.meta, "permission_decision": outcome.decision}]
    yield from context.out.event(event)


def _cut_off(context: Context, stop: str, continuations: int) -> Generator[Effect, Any, bool | None]:
    """The answer hit a limit: ask for the rest, at most three times. None to go on."""
    if stop == "max_tokens":
        text = _OVER_BUDGET.format(budget=context.budget(context.model))
        end = Ending(text, "max_output_tokens", api_error="max_output_tokens", has_api_type=False)
    else:
        end = Ending(
            "API Error: The model has reached its context window limit.", "max_output_tokens", has_api_type=False
        )
    if continuations >= _CONTINUATIONS:
        return (yield from _fail(context, end))
    if context.version.rich_events:
        context.turn.steps += 1
        nudge = reminder("Output token limit hit. " + prose("continue", 220 - 37 - 24))
    else:
        yield from _say_ending(context, end)
        nudge = "Your response was cut off because it exceeded the output token limit. " + prose("continue", 60)
    yield from context.add("user", message={"role": "user", "content": nudge}, isMeta=True)
    return None


def _refused(context: Context, answer: Answer, refusals: int) -> Generator[Effect, Any, bool | None]:
    """The model's safeguards stopped it: the newer version asks once more, then another model, then gives up."""
    context.turn.safety_stops += 1
    details = answer.message.get("stop_details")
    title = context.model.title
    if not context.version.rich_events:
        text = "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy (https://www.anthropic.com/legal/aup)."
        return (yield from _fail(context, Ending(text, "invalid_request", has_api_type=False)))
    if refusals == 0:
        said = f"{title}'s safeguards stopped the response above · continuing once with that noted"
        yield from context.emit("system", subtype="informational", content=said, level="notice")
        note = prose("refusal", 224)
        content = [{"type": "text", "text": note}]
        body = {"isSynthetic": True, "refused_message_id": answer.message.get("id"), "refusal_retry": True}
        yield from context.emit("user", message={"role": "user", "content": content}, parent_tool_use_id=None, **body)
        yield from context.add("user", message={"role": "user", "content": reminder(note)}, isMeta=True)
        context.turn.steps += 1
        return None
    category = (details or {}).get("category")
    about = {"request_id": answer.request_id, "api_refusal_category": category}
    if refusals == 1 and context.model.id != _REFUSAL_FALLBACK:
        from simulators.cli.claude.models import lookup

        old, context.model = context.model, lookup(_REFUSAL_FALLBACK)
        said = f"{old.title}'s safeguards flagged this session."
        about |= {"original_model": old.id, "fallback_model": context.model.id}
        yield from context.emit(
            "system",
            subtype="model_refusal_fallback",
            trigger="refusal",
            direction="retry",
            scope="session",
            **about,
            content=said,
        )
        return None
    yield from context.emit(
        "system", subtype="model_refusal_no_fallback", original_model=context.model.id, **about, content=""
    )
    text = f"API Error: {title}'s safeguards flagged this message."
    return (yield from _fail(context, Ending(text, "invalid_request", stop="refusal", has_api_type=False)))


def _ending(context: Context, trouble: Trouble) -> Ending:
    chain = context.session.chain()
    local = sum(estimate(str(r.get("rendered") or (r.get("message") or {}).get("content", ""))) for r in chain)
    return ending(trouble, context.version, host=host(context), local=local, first=compaction.groups(chain) < 2)


def _say_ending(context: Context, end: Ending) -> Steps:
    """The synthetic assistant message that carries an error, on stdout and in the transcript."""
    message = events.synthetic_message(context.version, end.text, id=context.ids.uuid(), stop=end.stop)
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
    yield from context.out.event(event)


def _fail(context: Context, end: Ending) -> Generator[Effect, Any, bool]:
    yield from _say_ending(context, end)
    body = {"result": end.text}
    context.turn.stop_reason = end.stop
    yield from finish(context, "success", is_error=True, terminal=end.terminal, end=end, **body)
    return False


def _succeed(context: Context, answer: Answer) -> Generator[Effect, Any, bool]:
    texts = [b["text"] for b in answer.message["content"] if b.get("type") == "text"]
    yield from finish(context, "success", is_error=False, terminal="completed", result=texts[-1] if texts else "")
    return True


def _too_many_turns(context: Context, limit: int) -> Generator[Effect, Any, bool]:
    rich = context.version.rich_events
    errors = [f"Reached maximum number of turns ({limit})"] if rich else []
    yield from finish(context, "error_max_turns", is_error=rich, terminal="max_turns", errors=errors)
    return not rich


def _over_budget(context: Context) -> bool:
    budget = context.options.max_budget_usd
    return budget is not None and context.ledger.cost >= budget


def _budget_gone(context: Context) -> Generator[Effect, Any, bool]:
    rich = context.version.rich_events
    errors = [f"Reached maximum budget (${context.options.max_budget_usd})"] if rich else []
    yield from finish(context, "error_max_budget_usd", is_error=rich, terminal="budget_exhausted", errors=errors)
    return not rich


def finish(
    context: Context, subtype: str, *, is_error: bool, terminal: str | None, end: Ending | None = None, **body: Any
) -> Steps:
    """Print the `result` event and close the turn's books on disk. `body` has `result` or `errors`."""
    now = yield Now()
    if context.version.rich_events:
        yield from _close_books(context, now)
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
    yield from context.note("last-prompt", leafUuid=context.session.leaf)
    yield from context.note("mode", mode="normal")
    yield from context.note(
        "cost-state",
        totalCostUSD=context.ledger.cost,
        totalAPIDuration=round(context.turn.api_seconds * 1000),
        totalDuration=round((now - context.turn.started) * 1000),
        modelUsage=context.ledger.state(),
        hasUnknownModelCost=False,
    )


def restore(context: Context) -> None:
    """Take over what an earlier process left: spending and the number of prompts."""
    state = context.session.last("cost-state")
    if context.version.costs == "session" and state is not None:
        context.ledger = Ledger.restore(state.get("modelUsage") or {})
    context.prompt_index = sum(1 for r in context.session.rows if r.get("operation") == "dequeue")


__all__ = ["emit_init", "finish", "restore", "run_turn", "say_block"]
