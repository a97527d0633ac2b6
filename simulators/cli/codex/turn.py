"""One turn: the prompt goes in, the model and its tools take turns until it has nothing more to do."""

from collections.abc import Generator, Mapping
from typing import Any

from simulators.cli.codex import compaction, context
from simulators.cli.codex.api import Done, Hearing, Trouble
from simulators.cli.codex.calls import Plan, call
from simulators.cli.codex.records import attribution, count_tokens, settings_applied, turn_context, usage_record
from simulators.cli.codex.rollout import PASSTHROUGH, Item, begin
from simulators.cli.codex.run import Run, Turn
from simulators.cli.codex.tools import use
from simulators.cli.codex.usage import Usage
from simulators.cli.effects import Effect, Now

Steps = Generator[Effect, Any, None]
_ORDER: Mapping[str, tuple[str, ...]] = {
    "message": ("type", "status", "id", "role", "content"),
    "function_call": ("type", "status", "id", "name", "namespace", "arguments", "call_id"),
    "custom_tool_call": ("type", "id", "status", "call_id", "name", "input"),
    "reasoning": ("type", "id", "summary", "content", "encrypted_content"),
    "compaction": ("type", "id", "encrypted_content"),
}


def start_turn(run: Run) -> Steps:
    """The turn has an id and is noted."""
    now = yield Now()
    id = yield from run.new_id()
    run.turn = Turn(id, now)
    thread = run.thread
    if run.new_file:
        run.new_file = False
        yield from begin(
            thread,
            originator=run.originator,
            version=run.version.name,
            provider=run.config.provider.id,
            now=now,
            source=thread.source,
        )
    if thread.origin != "new" and not run.announced:
        for _ in range(1 + (thread.model != run.model.id or thread.forked_from is not None)):
            yield from settings_applied(run)
        run.announced = True
    yield from thread.event(
        "task_started",
        turn_attribution=attribution(run),
        turn_id=id,
        root_turn_id=id,
        started_at=int(now),
        model_context_window=run.window,
        collaboration_mode_kind="default",
    )


def run_turn(run: Run, prompt: list[Item]) -> Generator[Effect, Any, Trouble | None]:
    """Process one prompt (input parts `{"type": "text" | "image", …}`). None if it was answered, else what happened.

    The turn must have been begun with `start_turn`.
    """
    fresh = not run.announced
    run.announced = True
    trouble = None
    condensed = compaction.due(run)
    if condensed:
        trouble = yield from compaction.compact(run, trigger="auto", phase="pre_turn")
    if trouble is None:
        yield from context.tell(run)
        if not condensed:
            yield from turn_context(run)
        if fresh:
            yield from settings_applied(run)
        run.thread.model = run.model.id
        yield from _user_message(run, prompt)
        trouble = yield from _converse(run)
    yield from finish(run, trouble)
    return trouble


def _user_message(run: Run, prompt: list[Item]) -> Steps:
    parts: list[Item] = []
    for part in prompt:
        if part["type"] == "text":
            parts.append({"type": "input_text", "text": part["text"]})
        else:
            parts.append({"type": "input_image", "image_url": part["url"]})
    id = yield from run.new_id()
    now = yield Now()
    item: Item = {"type": "message", "id": f"msg_{id}", "role": "user", "content": parts}
    item[PASSTHROUGH] = {
        "turn_id": run.turn.id,
        "create_time": now,
        "content_item_kinds": ["user.text" if part["type"] == "text" else "user.image" for part in prompt],
        "content_item_metadata": [{"provenance": {"type": "user"}} for _ in prompt],
    }
    source = yield from _source(run, item)
    yield from run.thread.add(item, retained_source=source, ordered=True, attributed=True)
    shown = [
        {"type": "text", "text": part["text"], "text_elements": []} if part["type"] == "text" else dict(part)
        for part in prompt
    ]
    told = {"id": (yield from run.new_id()), "type": "userMessage", "content": shown}
    yield from run.listener.started(told)
    yield from _completed(run, {"type": "UserMessage", "id": told["id"], "content": shown}, now)
    yield from run.listener.completed(told)
    if not run.thread.preview:
        run.thread.preview = "".join(str(part.get("text", "")) for part in prompt)


def _source(run: Run, item: Item) -> Generator[Effect, Any, Item]:
    """Where something that was said can be found again."""
    revision = yield from run.new_id()
    id = {"message_id": item.get("id"), "turn_id": run.turn.id, "role": item["role"]}
    return {"id": id, "revision": f"retained_{revision}", "complete": True}


def _completed(run: Run, item: Item, started: float) -> Steps:
    now = yield Now()
    yield from run.thread.event(
        "item_completed",
        thread_id=run.thread.id,
        turn_id=run.turn.id,
        item=item,
        started_at_ms=int(started * 1000),
        completed_at_ms=int(now * 1000),
    )


def _converse(run: Run) -> Generator[Effect, Any, Trouble | None]:
    while True:
        waiting: list[Item] = []
        spoken = _Spoken(run, waiting)
        outcome = yield from call(run, Plan(run), spoken.hearing(), spoken.broken)
        if isinstance(outcome, Trouble):
            return outcome
        spoken.book(outcome)
        yield from usage_record(run, outcome.response_id, outcome.usage or Usage())
        going_on = yield from spoken.use_tools()
        yield from count_tokens(run, outcome.usage or Usage())
        yield from run.listener.tokens(run)
        if not going_on:
            return Trouble("interrupted", "interrupted")
        if not spoken.used:
            return None
        if compaction.due(run):
            trouble = yield from compaction.compact(run, trigger="auto", phase="mid_turn")
            if trouble is not None:
                return trouble


class _Spoken:
    """What the model says in one call, attempt after attempt."""

    def __init__(self, run: Run, waiting: list[Item]) -> None:
        self.run, self.waiting = run, waiting
        self.used = self._heard = False
        self._begun: dict[str, float] = {}
        self._told: set[str] = set()
        self._texts: dict[str, str] = {}

    def hearing(self) -> Hearing:
        return Hearing(self._began, self._delta, self._whole, self.run.listener.stop)

    def _began(self, item: Item) -> Steps:
        now = yield Now()
        turn = self.run.turn
        turn.first_token = turn.first_token if turn.first_token is not None else now
        self._begun[str(item.get("id"))] = float(now)
        self._texts[str(item.get("id"))] = "".join(str(part.get("text", "")) for part in item.get("content") or [])

    def _delta(self, item: str, text: str) -> Steps:
        if item not in self._told:
            self._told.add(item)
            yield from self.run.listener.started(
                {"id": item, "type": "agentMessage", "text": self._texts.get(item, "")}
            )
        yield from self.run.listener.delta(item, text)

    def _whole(self, item: Item) -> Steps:
        run, kind, id = self.run, item.get("type"), str(item.get("id"))
        now = yield Now()
        started = self._begun.setdefault(id, float(now))
        kept = _ordered(item)
        if kind == "message":
            text = "".join(str(part.get("text", "")) for part in item.get("content", []))
            run.turn.last_message = text
            shown = {"id": id, "type": "agentMessage", "text": text, "phase": item.get("phase")}
            if id not in self._told:
                yield from run.listener.started(shown)
            self._told.discard(id)
            content = [{"type": "Text", "text": text}]
            yield from _completed(run, {"type": "AgentMessage", "id": id, "content": content}, started)
            yield from run.listener.completed(shown)
            kept[PASSTHROUGH] = {"turn_id": run.turn.id, "content_item_kinds": ["unknown"]}
        else:
            kept[PASSTHROUGH] = {"turn_id": run.turn.id}
        if kind == "reasoning":
            texts = [str(part.get("text", "")) for part in item.get("summary") or []]
            recorded = {"type": "Reasoning", "id": id, "summary_text": texts, "raw_content": []}
            shown = {"id": id, "type": "reasoning", "summary": texts}
            yield from run.listener.started(shown)
            yield from _completed(run, recorded, started)
            yield from run.listener.completed(shown)
        run.thread.sampled = run.thread.sequence if not self._heard else run.thread.sampled
        self._heard = True
        said = {"retained_source": (yield from _source(run, kept))} if kind == "message" else {}
        yield from run.thread.add(kept, ordered=kind in ("message", "function_call"), **said)
        if kind in ("function_call", "custom_tool_call"):
            self.waiting.append(kept)

    def use_tools(self) -> Generator[Effect, Any, bool]:
        """Carry out what was asked for, once. False if the turn is to end."""
        while self.waiting:
            self.used = True
            if not (yield from use(self.run, self.waiting.pop(0))):
                return False
        return True

    def book(self, done: Done) -> None:
        """Add a call's figures to the turn's and the thread's."""
        usage, thread = done.usage or Usage(), self.run.thread
        thread.totals, thread.spent = thread.totals + usage, thread.spent + usage
        self.run.turn.usage = self.run.turn.usage + usage

    def broken(self, trouble: Trouble) -> Steps:
        """An attempt failed: what it had asked for is carried out all the same, and its figures are noted."""
        run, thread = self.run, self.run.thread
        if trouble.retry != "interrupted":
            yield from self.use_tools()
        if trouble.usage is not None:
            self.book(Done("", trouble.usage))
            yield from usage_record(run, "", trouble.usage)
            yield from count_tokens(run, Usage(), estimated=None)
        elif trouble.began:
            yield from count_tokens(run)
        if trouble.overflow:
            full, before = run.window, thread.totals.total
            thread.totals = Usage(total=full)
            yield from count_tokens(run, Usage(total=full - before), estimated=None, limits=trouble.began)


def _ordered(item: Item) -> Item:
    order = _ORDER.get(str(item.get("type")))
    if order is None:
        return dict(item)
    found = {key: item[key] for key in order if key in item}
    if item["type"] == "reasoning":
        found.setdefault("content", None)
        found = {key: found[key] for key in order if key in found}
    for part in found.get("content") or []:
        part.pop("logprobs", None)
        if part.get("type") == "output_text":
            part.setdefault("annotations", [])
    return found


def finish(run: Run, trouble: Trouble | None) -> Steps:
    """The end of a turn, noted."""
    now = yield Now()
    turn = run.turn
    frame = {"root_turn_id": turn.id, "turn_id": turn.id}
    times = {"started_at": int(turn.started), "completed_at": int(now), "duration_ms": int((now - turn.started) * 1000)}
    if trouble is not None and trouble.retry == "interrupted":
        said = "<turn_aborted>\nThe user stopped the last turn. What its tools began may still go on.\n</turn_aborted>"
        note = yield from context.message(run, "user", [(said, "turn_aborted", {"type": "harness", "hook": False})])
        yield from run.thread.add(note)
        yield from run.thread.event("turn_aborted", **frame, reason="interrupted", **times)
        return
    payload: Item = {**frame, "last_agent_message": None if trouble else turn.last_message}
    if trouble is not None:
        payload["error"] = {"message": trouble.message, "codex_error_info": trouble.info}
    payload |= times
    if turn.first_token is not None:
        payload["time_to_first_token_ms"] = int((turn.first_token - turn.started) * 1000)
    yield from run.thread.event("task_complete", **payload)
