"""Condensing a thread: the model writes a summary, or (the vendor's own service) an encrypted item of its own."""

from collections.abc import Generator
from typing import Any

from simulators.cli.codex import context, texts
from simulators.cli.codex.api import Done, Hearing, Trouble
from simulators.cli.codex.calls import Plan, call
from simulators.cli.codex.records import (
    attribution,
    count_tokens,
    settings_applied,
    turn_context,
    usage_payload,
    usage_record,
)
from simulators.cli.codex.rollout import PASSTHROUGH, Item, Thread
from simulators.cli.codex.run import Run
from simulators.cli.codex.usage import Usage
from simulators.cli.effects import Effect, Now

_KEPT_USER_TOKENS = 20_000  # of the user's own messages, the newest first


def due(run: Run) -> bool:
    """Whether the thread has reached the size at which it is condensed."""
    return bool(run.thread.items) and run.thread.context_tokens >= run.compact_limit


def compact(run: Run, *, trigger: str, phase: str) -> Generator[Effect, Any, Trouble | None]:
    """Condense now; the trouble if it could not be done. `phase`: pre_turn, mid_turn or standalone_turn."""
    remote = run.config.provider.remote_compaction
    id = yield from run.new_id()
    started = yield Now()
    yield from run.listener.started({"id": id, "type": "contextCompaction"})
    if not remote:
        yield from count_tokens(run)
        yield from run.listener.tokens(run)
    outcome, found = yield from _ask(run, trigger, phase, remote)
    if isinstance(outcome, Trouble):
        return outcome
    yield from _book(run, outcome, found, remote, attributed=phase != "mid_turn")
    yield from _replace(run, outcome, found, remote)
    ended = yield Now()
    yield from run.thread.event(
        "item_completed",
        thread_id=run.thread.id,
        turn_id=run.turn.id,
        item={"type": "ContextCompaction", "id": id},
        started_at_ms=int(started * 1000),
        completed_at_ms=int(ended * 1000),
    )
    yield from run.listener.completed({"id": id, "type": "contextCompaction"})
    return None


def _ask(run: Run, trigger: str, phase: str, remote: bool) -> Generator[Effect, Any, tuple[Done | Trouble, list[Item]]]:
    """Ask for the summary; where even that is too long, without the oldest item, again and again."""
    reason = "user_requested" if trigger == "manual" else "context_limit"
    kind = "responses_compaction_v2" if remote else "responses"
    said = {"trigger": trigger, "reason": reason, "implementation": kind, "phase": phase, "strategy": "memento"}
    plan = Plan(run, compaction=said, with_tools=remote)
    if remote:
        plan.extra = [{"type": "compaction_trigger"}]
    else:
        prompt = run.config.compact_prompt or texts.COMPACT_PROMPT
        plan.extra = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}]
    while True:
        found: list[Item] = []
        outcome = yield from call(run, plan, _collecting(found), _nothing)
        too_long = isinstance(outcome, Trouble) and outcome.overflow
        if not too_long or plan.dropped >= len(run.thread.items) - 1:
            return outcome, found
        plan.dropped += 1


def _collecting(found: list[Item]) -> Hearing:
    def whole(item: Item) -> Generator[Effect, Any, None]:
        found.append(item)
        yield from ()

    return Hearing(begun=_nothing, delta=_nothing, whole=whole, stop=_never)


def _nothing(*_: Any) -> Generator[Effect, Any, None]:
    yield from ()


def _never() -> Generator[Effect, Any, bool]:
    yield from ()
    return False


def _book(run: Run, done: Done, found: list[Item], remote: bool, *, attributed: bool) -> Generator[Effect, Any, None]:
    """What the summary cost is in the totals, unless the vendor's service wrote it."""
    thread, usage = run.thread, done.usage or Usage()
    thread.spent = thread.spent + usage
    run.turn.usage = run.turn.usage + usage
    if not remote:
        thread.totals = thread.totals + usage
        for item in found:
            item[PASSTHROUGH] = {"turn_id": run.turn.id, "content_item_kinds": ["unknown"]}
            note = thread.note(attributed=attributed, compaction_output=True)
            yield from thread.record("response_item", item, note)
    yield from usage_record(run, done.response_id, usage)
    if not remote:
        yield from count_tokens(run, usage)
        yield from run.listener.tokens(run)


def _replace(run: Run, done: Done, found: list[Item], remote: bool) -> Generator[Effect, Any, None]:
    """The new history: old messages of the user, the surroundings told anew before the last of them, the summary."""
    thread = run.thread
    users = _user_messages(thread)
    retained = _retained(thread)
    state = yield from context.world(run)
    about = yield from context.initial(run, state)
    summary = yield from _summary(run, found, remote)
    message = "" if remote else summary[0]["content"][0]["text"]
    for item in (*about, *summary):
        item.get(PASSTHROUGH, {}).pop("create_time", None)
    fresh = [(item, thread.note()) for item in about]
    kind: Item = {"compaction_without_file_error_sources": True, "compaction_model_hash": run.model.comp_hash}
    last = [(item, thread.note(attributed=True, **(kind if remote else {}))) for item in summary]
    entries = [*users[:-1], *fresh, *users[-1:], *last]
    thread.items, thread.notes = [item for item, _ in entries], [note for _, note in entries]
    thread.window_number += 1
    before, thread.window_uuid = thread.window_uuid, (yield from run.new_id())
    payload: Item = {
        "message": message,
        "replacement_history": thread.items,
        "replacement_history_metadata": thread.notes,
        "retained_context": retained,
        "window_number": thread.window_number,
        "first_window_id": thread.first_window or before,
        "previous_window_id": before,
        "window_id": thread.window_uuid,
        "compaction_response_id": done.response_id,
        "latest_token_usage_record": usage_payload(run, done.response_id, done.usage or Usage()),
        "resume_metadata": _resume_metadata(run),
    }
    yield from thread.record("compacted", payload)
    thread.world = state
    yield from thread.record("world_state", {"full": True, "state": state})
    yield from turn_context(run)
    yield from settings_applied(run)
    size = sum(len(str(item)) for item in thread.items) // 4
    yield from count_tokens(run, Usage(total=size), estimated=True, limits=not remote)
    yield from run.listener.tokens(run)


def _resume_metadata(run: Run) -> Item:
    return {
        "dynamic_tools": {"thread_id": run.thread.id, "tools": []},
        "multi_agent_version": "v2" if run.model.inline_tools else "v1",
        "last_started_turn_id": run.turn.id,
        "turn_attribution": attribution(run),
        "previous_turn_settings": {
            "model": run.model.id,
            "comp_hash": run.model.comp_hash,
            "realtime_active": False,
        },
    }


def _retained(thread: Thread) -> Item:
    """What both sides said, as it can be found again."""
    said: dict[str, list[Item]] = {"user": [], "assistant": []}
    for item, note in zip(thread.items, thread.notes, strict=True):
        source = note.get("retained_source")
        if source is not None:
            text = "".join(str(part.get("text", "")) for part in item.get("content") or [])
            id = source["id"]
            told = {"revision": source["revision"], "order": note.get("user_input_order"), "turn_id": id["turn_id"]}
            said[id["role"]].append({**told, "message_id": id["message_id"], "text": text, "complete": True})
    return {
        "verified_answers": [],
        "incomplete": False,
        "user_messages": said["user"],
        "user_messages_incomplete": False,
        "assistant_messages": said["assistant"],
        "assistant_messages_incomplete": False,
        "next_order": thread.next_order,
    }


def _summary(run: Run, found: list[Item], remote: bool) -> Generator[Effect, Any, list[Item]]:
    if remote:
        return [item for item in found if item.get("type") == "compaction"]
    messages = [item for item in found if item.get("type") == "message"]
    said = "".join(str(part.get("text", "")) for item in messages for part in item.get("content", []))
    kind = [(texts.SUMMARY_PREFIX + said, "compaction.summary", {"type": "harness", "hook": False})]
    return [(yield from context.message(run, "user", kind))]


def _user_messages(thread: Thread) -> list[tuple[Item, Item]]:
    """What the user said, the newest up to a limit, with what the file says of each."""
    found: list[tuple[Item, Item]] = []
    left = _KEPT_USER_TOKENS * 4
    for item, note in zip(reversed(thread.items), reversed(thread.notes), strict=True):
        kinds = (item.get(PASSTHROUGH) or {}).get("content_item_kinds") or []
        if item.get("role") == "user" and "user.text" in kinds:
            left -= sum(len(str(part.get("text", ""))) for part in item["content"])
            if left < 0 and found:
                break
            found.insert(0, (item, note))
    return found
