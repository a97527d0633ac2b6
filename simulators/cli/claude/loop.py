"""One turn: the prompt goes in, the model and its tools take turns, a result comes out."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from simulators.cli.claude import compaction, events
from simulators.cli.claude.api import Answer
from simulators.cli.claude.calls import ask, host
from simulators.cli.claude.context import Context, Plan, Steps, Turn
from simulators.cli.claude.errors import NOT_LOGGED_IN, Ending, Trouble, ending, too_long
from simulators.cli.claude.hooks import Verdict, run_hooks
from simulators.cli.claude.limits import broken_off, cut_off, refused
from simulators.cli.claude.permissions import rejected
from simulators.cli.claude.result import fail, finish
from simulators.cli.claude.rows import attachment, stamp
from simulators.cli.claude.session import Row, dump
from simulators.cli.claude.stream import say_interrupted
from simulators.cli.claude.tools import deliver, run_tool
from simulators.cli.claude.usage import Ledger, estimate
from simulators.cli.effects import Effect, Now

ENFORCE = (
    "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now."
)


def run_turn(context: Context, content: Any) -> Generator[Effect, Any, bool]:
    """Process one prompt (text, or blocks of input stream-json). True if it was answered."""
    now = yield Now()
    context.turn = Turn(now)
    context.prompt_id = context.ids.uuid()
    yield from _start_session(context)
    verdict = yield from run_hooks(context, "UserPromptSubmit", {"prompt": _words(content)})
    if verdict.blocked or verdict.stopped:
        return (yield from _turned_away(context, content, verdict))
    yield from _remember_prompt(context, content)
    if not _has_key(context):
        yield from emit_init(context)
        return (yield from fail(context, NOT_LOGGED_IN[context.version.rich_events]))
    yield from emit_init(context)
    if context.options.replay_user_messages:
        yield from _replay(context)
    return (yield from _converse(context))


def _start_session(context: Context) -> Steps:
    """SessionStart hooks run before the first prompt of a process."""
    if not context.started_hooks:
        context.started_hooks = True
        source = "resume" if context.options.resume is not None or context.options.continue_ else "startup"
        about: dict[str, Any] = {"source": source}
        if context.version.rich_events:
            about["model"] = context.model.id
        yield from run_hooks(context, "SessionStart", about, subject=source)


def _turned_away(context: Context, content: Any, verdict: Verdict) -> Generator[Effect, Any, bool]:
    """A UserPromptSubmit hook keeps the prompt from the model."""
    yield from emit_init(context)
    if context.version.rich_events:
        said = f"UserPromptSubmit operation blocked by hook:\n{verdict.reason}\n\nOriginal prompt: {_words(content)}"
        outcome = {"kind": "blocked_by_hook", "prompt_kept": False, "reason": verdict.reason}
        more = {"level": "warning", "prevent_continuation": True, "prompt_submit_outcome": outcome}
        yield from context.emit("system", subtype="informational", content=said, **more)
    context.turn.steps = 0
    yield from finish(context, "success", is_error=False, terminal=None, result="")
    return True


def _words(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(str(b.get("text", "")) for b in content)


def _replay(context: Context) -> Steps:
    """The prompt back on stdout (--replay-user-messages)."""
    row = next(r for r in reversed(context.session.rows) if r["type"] == "user")
    stamped = {"timestamp": row["timestamp"]} if context.version.rich_events else {}
    event = {"type": "user", "message": row["message"], "parent_tool_use_id": None, "session_id": context.session.id}
    yield from context.out.event({**event, "uuid": row["uuid"], **stamped, "isReplay": True})


def emit_init(context: Context) -> Steps:
    """The `init` event that every turn begins with."""
    version = context.version
    tools = [("Task" if n == "Agent" else n) for n in context.tool_names if n != "DeferredToolPlaceholder"]
    if context.options.permission_prompt_tool and version.rich_events:
        tools += ["EnterPlanMode", "ExitPlanMode"]
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
            mode=context.mode,
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
    text = _words(content)
    if context.version.rich_events:
        yield from context.note("queue-operation", operation="enqueue", timestamp=stamp(now), content=text)
    yield from context.note("queue-operation", operation="dequeue", timestamp=stamp(now))
    context.prompt_index += 1
    body: dict[str, Any] = {"message": {"role": "user", "content": content}}
    if context.version.rich_events:
        position = {"promptIndex": 0, "turnIndex": context.prompt_index}
        body = {"promptId": context.prompt_id, **body, "promptSource": "sdk", "turnPosition": position}
    yield from context.add("user", **body, permissionMode=context.mode)
    yield from _announce_missing(context)


def _announce_missing(context: Context) -> Steps:
    """What this conversation has not been told yet since its root or its last compaction."""
    told = {(r.get("attachment") or {}).get("type") for r in context.session.chain()}
    if "environment" not in told:
        yield from compaction.announce(context)
    yield from compaction.announce_tokens(context)
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
            return (yield from fail(context, _ending(context, answer)))
        yield from _remember_answer(context, answer)
        stop = answer.message.get("stop_reason")
        calls = [b for b in answer.message["content"] if b.get("type") == "tool_use"]
        if answer.cut and context.version.rich_events:
            over = yield from broken_off(context, continuations)
            if over is not None:
                return over
            continuations += 1
        elif stop in ("max_tokens", "model_context_window_exceeded"):
            over = yield from cut_off(context, stop, continuations)
            if over is not None:
                return over
            continuations += 1
        elif stop == "refusal":
            over = yield from refused(context, answer, refusals)
            if over is not None:
                return over
            refusals += 1
        elif calls and stop != "pause_turn":
            if (yield from _use_tools(context, calls)):
                yield from say_interrupted(context, tools=True)
                return False
            if context.turn.structured is not None:
                return (yield from _succeed(context, answer))
            yield from compaction.announce_tokens(context)
            limit = context.options.max_turns
            if limit is not None and _model_steps(context) >= limit:
                return (yield from _too_many_turns(context, limit))
            if _over_budget(context):
                return (yield from _budget_gone(context))
        elif (yield from _goes_on(context, answer)):
            continue
        else:
            return (yield from _succeed(context, answer))


def _goes_on(context: Context, answer: Answer) -> Generator[Effect, Any, bool]:
    """Whether something keeps the model at work that thought it was done: a missing structured output, a Stop hook."""
    if context.options.json_schema is not None and not context.turn.reminded:
        context.turn.reminded = True
        yield from _push(context, ENFORCE)
        return True
    texts = [b["text"] for b in answer.message["content"] if b.get("type") == "text"]
    about: dict[str, Any] = {"stop_hook_active": context.turn.pushed}
    if context.version.rich_events:
        about |= {"last_assistant_message": texts[-1] if texts else "", "background_tasks": [], "session_crons": []}
    verdict = yield from run_hooks(context, "Stop", about)
    if not verdict.blocked or verdict.stopped:
        return False
    context.turn.pushed = True
    yield from _push(context, f"Stop hook feedback:\n{verdict.reason}")
    return True


def _push(context: Context, text: str) -> Steps:
    """Words put into the user's mouth: kept as a text, printed as a block."""
    row = yield from context.add("user", message={"role": "user", "content": text}, isMeta=True)
    context.turn.steps += 1
    if context.version.rich_events:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        event = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": context.session.id}
        yield from context.out.event({**event, "uuid": row["uuid"], "timestamp": row["timestamp"], "isSynthetic": True})


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
        worked = yield from compaction.automatic(context, refusal=answer)
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


def _use_tools(context: Context, calls: Sequence[Mapping[str, Any]]) -> Generator[Effect, Any, bool]:
    """Run the calls of one message. True if the user stops the turn; what is left is refused then."""
    stopped = False
    for call in calls:
        outcome = rejected(call["id"]) if stopped else (yield from run_tool(context, call))
        yield from deliver(context, call, outcome)
        stopped = stopped or outcome.stops
    return stopped


def _ending(context: Context, trouble: Trouble) -> Ending:
    chain = context.session.chain()
    local = sum(estimate(str(r.get("rendered") or (r.get("message") or {}).get("content", ""))) for r in chain)
    first = compaction.groups(chain) < 2
    name = context.model.id
    return ending(trouble, context.version, host=host(context), local=local, first=first, model=name)


def _succeed(context: Context, answer: Answer) -> Generator[Effect, Any, bool]:
    texts = [b["text"] for b in answer.message["content"] if b.get("type") == "text"]
    body: dict[str, Any] = {"result": texts[-1] if texts else ""}
    if context.turn.structured is not None:
        body = {"result": dump(context.turn.structured), "structured_output": context.turn.structured}
    yield from finish(context, "success", is_error=False, terminal="completed", **body)
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


def restore(context: Context) -> None:
    """Take over what an earlier process left: spending and the number of prompts."""
    state = context.session.last("cost-state")
    if context.version.costs == "session" and state is not None:
        context.ledger = Ledger.restore(state.get("modelUsage") or {})
    context.prompt_index = sum(1 for r in context.session.rows if r.get("operation") == "dequeue")
