"""The turn machine: `step(state, event) -> (state, commands)`. Pure; the driver performs what it asks for.

One machine serves both paths: what differs is only whether `CallModel` or `CallCli` is asked for. An event that nobody
waits for any more (its command was cancelled) changes nothing.
"""

from collections.abc import Sequence

import msgspec

from claw.core import asking, ending
from claw.core.commands import Cancel, Command, RunTool, ToolUse
from claw.core.errors import FailureKind, ProviderFailure
from claw.core.events import (
    Aborted,
    CliReport,
    Event,
    ModelFailed,
    ModelFinished,
    Steered,
    ToolFinished,
    TurnStarted,
    Woke,
)
from claw.core.messages import Message, TextPart, ToolCallPart, ToolResultPart, user
from claw.core.recovery import (
    ask,
    begin,
    begin_compaction,
    fail_compaction,
    failed,
    finish_failed,
    known_window,
    learn_scale,
    summary_finished,
)
from claw.core.state import PendingTool, State, Step
from claw.core.stream import ModelTurn
from claw.core.transcript import CustomEntry, MessageEntry, cap_result, sound_calls
from claw.core.usage import Usage
from claw.core.window import overflowed

RUNNABLE = ("tool_use", "end_turn", "stop_sequence")  # after any other stop, arguments may have been cut
NOT_RUN_BROKEN = "Not run: the arguments were no JSON object."
NOT_RUN_CUT = "Not run: the answer was cut at its length limit. Ask again, with less in one answer."
STOPPED = "The run was stopped while this tool was at work. It may or may not have taken effect."


def step(state: State, event: Event) -> tuple[State, Sequence[Command]]:
    """One step. After `Finish` no event changes anything."""
    out = Step(state)
    if state.phase == "done":
        return state, ()
    match event:
        case TurnStarted() if state.phase == "idle":
            _start(out, event)
        case ModelFinished(id=id) if state.phase == "asking" and id == state.awaited:
            _answered(out, event)
        case ModelFailed(id=id) if state.phase == "asking" and id == state.awaited:
            _book_cli(out, event.cli)
            _book(out, event.usage, event.cli)
            if event.failure.kind is FailureKind.TIMEOUT:
                out.set(waited_s=out.state.waited_s + event.seconds)  # waiting, too, and of the same budget
            failed(out, event.failure, event.delivered)
        case Woke(id=id) if state.phase == "sleeping" and id == state.awaited:
            ask(out)
        case ToolFinished():
            _tool_finished(out, event)
        case Steered(text=text):
            _steer(out, text)
        case Aborted():
            _abort(out, event)
        case _:
            pass
    return out.state, tuple(out.commands)


def _start(out: Step, event: TurnStarted) -> None:
    out.set(run=event.run, phase="asking", window=known_window(out.state.history, out.state.at.name))
    if event.prompt is None:
        out.set(manual=True)
        out.emit("run_start", model=out.state.at.name)
        if not out.state.at.cli:
            begin_compaction(out, "manual")
        elif not asking.compact_cli(out):
            finish_failed(out, FailureKind.BAD_REQUEST, "there is no session of this CLI to compact")
        return
    entry = MessageEntry(id=out.entry_id(), parent_id=out.state.leaf, message=event.prompt)
    out.persist(entry)
    out.set(prompt=event.prompt.text)
    out.emit("run_start", model=out.state.at.name)
    begin(out)


def _book(out: Step, usage: Usage, cli: CliReport | None) -> None:
    """Add what a call used to the sums. A CLI's own figure goes before ours: it counts its compactions as well."""
    used = cli.total if cli else usage
    cost = cli.cost_usd if cli and cli.cost_usd is not None else out.state.at.price.cost(used)
    out.set(total=out.state.total + used, cost=out.state.cost + cost)


def _book_cli(out: Step, cli: CliReport | None) -> None:
    """What was seen of the CLI's own doings, its session included."""
    if cli is None:
        return
    state = out.state
    out.set(
        tool_uses=(*state.tool_uses, *cli.tools),
        compactions=state.compactions + cli.compactions,
        reported_window=cli.window or state.reported_window,
    )
    if cli.usage is not None:
        out.set(last_usage=cli.usage, usage_known=True)
    elif cli.compactions:
        out.set(usage_known=False)
    if cli.session and cli.session != state.cli_session:
        asking.bind(out, cli.session)
    elif not cli.session and not state.resumed:
        asking.bind(out, None)  # it never began; nothing is there to be resumed
    if cli.session and cli.session_total is not None:
        used = {"session": cli.session, "usage": msgspec.to_builtins(cli.session_total)}
        out.persist(CustomEntry(id=out.entry_id(), parent_id=out.state.leaf, custom_type="cli_usage", data=used))
    if cli.compactions:
        data = {"backend": state.at.provider, "count": cli.compactions}
        out.persist(CustomEntry(id=out.entry_id(), parent_id=out.state.leaf, custom_type="cli_compaction", data=data))


def _answered(out: Step, event: ModelFinished) -> None:
    turn = event.turn
    _book_cli(out, event.cli)
    _book(out, turn.usage, event.cli)
    if out.state.compacting is not None:
        summary_finished(out, turn)
        return
    if out.state.cli_compacting:
        _cli_compacted(out)
        return
    turn = msgspec.structs.replace(turn, message=sound_calls(turn.message, out.state.history))
    failure = _no_answer(turn, out.state.size)
    if failure is not None:
        failed(out, failure, delivered=False)
        return
    learn_scale(out, turn.usage)
    if event.cli is None:
        out.set(last_usage=turn.usage, usage_known=True)
    usage = turn.usage if event.cli is None else event.cli.usage
    out.note_attempt(None)
    out.set(in_row=0, tried=0, level=0, halved=0, skip_threshold=False, fresh=False)
    out.persist(
        MessageEntry(
            id=out.entry_id(),
            parent_id=out.state.leaf,
            message=turn.message,
            model=out.state.at.name,
            usage=usage,
            stop=turn.stop,
        )
    )
    calls = turn.message.tool_calls
    if calls and event.cli is None:
        _begin_tools(out, turn, calls)
    elif turn.stop == "pause_turn" or _join_steered(out):
        ask(out)
    else:
        ending.finish(out, turn.message.text, turn.stop)


def _no_answer(turn: ModelTurn, window: int) -> ProviderFailure | None:
    """The failure that a finished call is, if it is one.

    Some servers do not refuse a prompt that is too large: they cut it, and have no room left for an answer.
    """
    if turn.stop == "refusal":
        return ProviderFailure(kind=FailureKind.REFUSED, message=turn.message.text or "the model declined to answer")
    if turn.stop == "tool_use" and not turn.message.tool_calls:
        return ProviderFailure(kind=FailureKind.EMPTY_RESPONSE, message="the model called a tool and named none")
    if turn.message.text or turn.message.tool_calls or turn.stop == "pause_turn":
        return None
    if turn.stop == "context_window_exceeded" or overflowed(turn.stop, turn.usage, window):
        return ProviderFailure(kind=FailureKind.CONTEXT_OVERFLOW, message="the context was full before an answer began")
    return ProviderFailure(kind=FailureKind.EMPTY_RESPONSE, message=f"the model said nothing and stopped: {turn.stop}")


def _cli_compacted(out: Step) -> None:
    out.set(cli_compacting=False)
    if out.state.manual:
        ending.finish(out, "", "end_turn")
    else:
        ask(out)


# tools


def _begin_tools(out: Step, turn: ModelTurn, calls: tuple[ToolCallPart, ...]) -> None:
    out.set(phase="tools", awaited=None, pending=tuple(PendingTool(call) for call in calls))
    for call in calls:
        if turn.stop not in RUNNABLE:
            _refuse(out, call, NOT_RUN_CUT)
        elif call.broken is not None:
            _refuse(out, call, NOT_RUN_BROKEN)
    _run_tools(out)


def _refuse(out: Step, call: ToolCallPart, why: str) -> None:
    out.emit("tool_start", id=call.id, name=call.name, input=call.input)
    _settle(out, call, ToolResultPart(call.id, call.name, (TextPart(why),), is_error=True))


def _settle(out: Step, call: ToolCallPart, result: ToolResultPart) -> None:
    """A call has its result: on disk, told, and no longer pending."""
    state = out.state
    result = cap_result(result, window=state.size)
    out.persist(MessageEntry(id=out.entry_id(), parent_id=state.leaf, message=Message("tool", (result,))))
    out.set(
        pending=tuple(p for p in out.state.pending if p.call is not call),
        tool_uses=(*state.tool_uses, ToolUse(call.id, call.name, not result.is_error)),
    )
    out.emit("tool_end", id=call.id, name=call.name, ok=not result.is_error, text=result.text)


def _run_tools(out: Step) -> None:
    """Begin what may begin: calls in their order, and one with side effects only while no other is at work."""
    pending = list(out.state.pending)
    if not pending:
        _join_steered(out)
        ask(out)
        return
    alone = out.state.setup.one_at_a_time
    busy = [p for p in pending if p.command]
    for at, tool in enumerate(pending):
        if tool.command:
            if tool.call.name in alone:
                break
            continue
        if tool.call.name in alone and busy:
            break
        id = out.id()
        out.emit("tool_start", id=tool.call.id, name=tool.call.name, input=tool.call.input)
        out.commands.append(RunTool(id=id, call=tool.call))
        pending[at] = PendingTool(tool.call, id)
        busy.append(pending[at])
        if tool.call.name in alone:
            break
    out.set(pending=tuple(pending))


def _tool_finished(out: Step, event: ToolFinished) -> None:
    tool = next((p for p in out.state.pending if p.command == event.id), None)
    if out.state.phase != "tools" or tool is None:
        return
    _settle(out, tool.call, event.result)
    _run_tools(out)


# what comes from outside


def _steer(out: Step, text: str) -> None:
    """Safe on disk at once; joins the conversation where the model next listens."""
    id = out.entry_id()
    out.persist(CustomEntry(id=id, parent_id=out.state.leaf, custom_type="queued", data={"text": text}))
    out.set(steered=(*out.state.steered, (id, text)))
    out.emit("queued", text=text)


def _join_steered(out: Step) -> bool:
    waiting = out.state.steered
    for queued, text in waiting:
        out.persist(MessageEntry(id=out.entry_id(), parent_id=out.state.leaf, message=user(text), joins=queued))
    if waiting:
        out.set(steered=(), prompt="\n\n".join(text for _, text in waiting))
    return bool(waiting)


def _abort(out: Step, event: Aborted) -> None:
    """Cancel what runs, keep what was said, close every open tool call, finish."""
    state = out.state
    running = [state.awaited] if state.phase in ("asking", "sleeping") else []
    for id in [*running, *(p.command for p in state.pending)]:
        if id:
            out.commands.append(Cancel(id=out.id(), target=id))
    if state.compacting is not None:
        fail_compaction(out, "stopped")
    for tool in state.pending:
        result = ToolResultPart(tool.call.id, tool.call.name, (TextPart(STOPPED),), is_error=True)
        if tool.command is None:
            out.emit("tool_start", id=tool.call.id, name=tool.call.name, input=tool.call.input)
        _settle(out, tool.call, result)
    said = event.partial.text if event.partial and state.compacting is None else ""
    if said:
        message = Message("assistant", (TextPart(said),))
        out.persist(
            MessageEntry(
                id=out.entry_id(), parent_id=out.state.leaf, message=message, model=state.at.name, stop="aborted"
            )
        )
    if event.reason == "timeout":
        finish_failed(out, FailureKind.TIMEOUT, "the run took longer than it may", reply=said)
    else:
        ending.finish(out, said, "aborted")
