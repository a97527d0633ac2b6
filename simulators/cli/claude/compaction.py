"""When a conversation is folded into a summary, how the summary is asked for, and what stays.

2.1.332 counts the last call's tokens and the new prompt against window − 33,000, keeps the last exchange verbatim and
renders the system prompt afresh afterwards; native 200k models wait for the provider's refusal. 2.1.19 fires when the
last call's total reaches window − 27,500, and the new prompt goes into the summary.
"""

import re
from collections.abc import Generator, Sequence
from typing import Any

from simulators.cli.claude.api import Answer
from simulators.cli.claude.calls import ask
from simulators.cli.claude.context import Context, Plan, Steps
from simulators.cli.claude.errors import Trouble, too_long
from simulators.cli.claude.events import AGAIN, compact_boundary, summary_prompt
from simulators.cli.claude.rows import REMOTE_NOTE, announcements, attachment
from simulators.cli.claude.session import Row
from simulators.cli.claude.settings_files import memory
from simulators.cli.claude.texts import prose, reminder
from simulators.cli.claude.usage import counts, estimate
from simulators.cli.effects import Effect, Now

_CAMEL = {
    "post_tokens": "postTokens",
    "cumulative_dropped_tokens": "cumulativeDroppedTokens",
    "duration_ms": "durationMs",
    "preserved_segment": "preservedSegment",
    "preserved_messages": "preservedMessages",
    "head_uuid": "headUuid",
    "anchor_uuid": "anchorUuid",
    "tail_uuid": "tailUuid",
    "all_uuids": "allUuids",
}


def threshold(context: Context) -> int | None:
    """Tokens from which a conversation is compacted unasked, or None if it never is."""
    env = context.env
    if env.get("DISABLE_AUTO_COMPACT") == "1" or env.get("DISABLE_COMPACT") == "1":
        return None
    asked = context.options.autocompact or ""
    window = context.settings.auto_compact_window
    for text in (env.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", ""), asked):
        window = int(text) if text.isdigit() and int(text) > 0 else window
    model = context.model
    if window is None and not (model.native_compaction or context.version.compacts_narrow_models):
        return None
    size = min(window or model.window, model.window)
    percent = env.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "")
    if percent.isdigit() and 0 < int(percent) <= 100:
        return (size - 20_000) * int(percent) // 100
    return size - context.version.compact_reserve


def load(context: Context) -> tuple[int, int]:
    """(tokens of the last call since the last compaction, estimated tokens of what came after it); 0 if none."""
    chain = context.session.chain()
    kept = _kept_ids(chain)
    after: list[Row] = []
    for row in reversed(chain):
        if row["uuid"] in kept:
            break
        if row["type"] == "assistant" and not row.get("isApiErrorMessage") and row["message"]["model"] != "<synthetic>":
            return counts(row["message"].get("usage")).total, sum(estimate(_text(r)) for r in after)
        if row["type"] == "user":
            after.append(row)
    return 0, 0


def due(context: Context) -> bool:
    """Whether the next call must be preceded by a compaction."""
    limit = threshold(context)
    last, new = load(context)
    if limit is None or last == 0:
        return False
    return last + (new if context.version.compact_keeps_tail else 0) >= limit


def groups(chain: Sequence[Row]) -> int:
    """Exchanges: runs of user rows that an assistant answered, and the open one at the end."""
    count, open_ = 0, False
    for row in chain:
        if row["type"] == "user" and not open_:
            count, open_ = count + 1, True
        elif row["type"] == "assistant" and not row.get("isApiErrorMessage"):
            open_ = False
    return count


def automatic(context: Context, *, refusal: Trouble | None = None) -> Generator[Effect, Any, bool]:
    """Compact before the next call, or because the provider found it too long (`refusal`). Whether it worked."""
    rich = context.version.rich_events
    more = {"compact_output_chars": 0} if rich else {}
    yield from context.emit("system", subtype="status", status="compacting", **more)
    chain = context.session.chain()
    if rich and groups(chain) < context.version.compact_min_groups:
        yield from _finished(context, error="too_few_groups")
        return False
    began = yield Now()
    last, new = load(context)
    summarised, kept = _split(context, chain, refusal)
    summary = yield from _summarise(context, summarised, "", tail=bool(kept) and refusal is None)
    if summary is None:
        yield from _finished(context, error="exhausted")
        return False
    yield from _finished(context)
    rows = yield from _record(context, chain, kept, summary, trigger="auto", pre=last + new, began=began)
    boundary, text = rows
    yield from context.out.event(boundary)
    yield from say_summary(context, [{"type": "text", "text": text}], isSynthetic=True)
    context.turn.steps += 1
    return True


def manual(context: Context, instructions: str) -> Generator[Effect, Any, tuple[dict[str, Any], str] | None]:
    """`/compact`: the boundary event and the summary, or None if the model gave none."""
    rich = context.version.rich_events
    yield from context.emit("system", subtype="status", status="compacting")
    chain = context.session.chain()
    began = yield Now()
    last, new = load(context)
    kept = [r for r in chain if r["type"] == "assistant"][-1:] if rich else []
    summary = yield from _summarise(context, chain, instructions, tail=bool(kept))
    if summary is None:
        yield from _finished(context, error="exhausted")
        return None
    yield from _finished(context)
    return (yield from _record(context, chain, kept, summary, trigger="manual", pre=last + new, began=began))


def say_summary(context: Context, content: Any, **more: Any) -> Steps:
    """The summary as stdout shows it, under the id of its row."""
    rich = context.version.rich_events
    row = next(r for r in reversed(context.session.rows) if r.get("isCompactSummary"))
    extra: dict[str, Any] = {"uuid": row["uuid"]} | ({"timestamp": row["timestamp"]} if rich else {}) | more
    message = {"role": "user", "content": content}
    event = {"type": "user", "message": message, "session_id": context.session.id, "parent_tool_use_id": None}
    yield from context.out.event({**event, **extra})


def _finished(context: Context, error: str | None = None) -> Steps:
    body: dict[str, Any] = {}
    if context.version.rich_events:
        body = {"compact_result": "failed" if error else "success"} | ({"compact_error": error} if error else {})
    yield from context.emit("system", subtype="status", status=None, **body)


def _split(context: Context, chain: list[Row], refusal: Trouble | None) -> tuple[list[Row], list[Row]]:
    """(rows that the summary covers, rows that stay). The open prompt stays where the version keeps a tail; results of
    tools are covered as well, for no request may hold a call without its result."""
    if not context.version.compact_keeps_tail:
        return chain, []
    open_at = _open_prompt(chain)
    answered, prompt = chain[:open_at], chain[open_at:]
    messages = [r for r in answered if r["type"] in ("user", "assistant")]
    if refusal is None:
        tail = [r for r in messages if r["type"] == "assistant"][-1:]
        between_tools = any(r["type"] == "user" and _is_tool_result(r) for r in prompt)
        return chain if between_tools else answered, tail + [r for r in prompt if r["type"] != "attachment"]
    turns = [i for i, r in enumerate(answered) if r["type"] == "user" and not _is_tool_result(r)]
    cut = turns[_oldest(answered, turns, refusal)] + 1 if len(turns) > 1 else len(answered)
    return answered[:cut], [r for r in answered[cut:] + prompt if r["type"] in ("user", "assistant")]


def _is_tool_result(row: Row) -> bool:
    content = row["message"]["content"]
    return isinstance(content, list) and any(b.get("type") == "tool_result" for b in content)


def _oldest(rows: Sequence[Row], turns: Sequence[int], refusal: Trouble | None) -> int:
    """Which turn is the last of the oldest part, which a refused request gives up: twice the share by which it was
    too long, at least two turns, all but the last where the refusal names no figures."""
    found = re.search(r"(\d+) tokens > (\d+)", refusal.message if refusal else "")
    if found is None:
        return len(turns) - 1
    sizes = [sum(estimate(_text(r)) + 1 for r in rows[: turn + 1]) for turn in turns]
    wanted = 2 * (int(found[1]) - int(found[2])) / int(found[1]) * sum(estimate(_text(r)) + 1 for r in rows)
    enough = next((i for i, size in enumerate(sizes) if size >= wanted), len(turns) - 1)
    return min(max(enough, 1), len(turns) - 1)


def _open_prompt(chain: Sequence[Row]) -> int:
    """Where the rows begin that the model has not answered yet."""
    at = len(chain)
    while at > 0 and not (chain[at - 1]["type"] == "assistant" and not chain[at - 1].get("isApiErrorMessage")):
        at -= 1
    return at


def _summarise(
    context: Context, chain: Sequence[Row], instructions: str, *, tail: bool
) -> Generator[Effect, Any, str | None]:
    """The model's summary of these rows, or None.

    If even that is too long, half of them are tried. 2.1.332 wants `<summary>` tags: without them it asks once more,
    and takes the first answer as it was if the second has none either.
    """
    asked = summary_prompt(context.version, instructions, tail=tail)
    rows = list(chain)
    first: str | None = None
    for _ in range(2):
        plan = Plan(context.model, summary=True, instructions=asked, chain=rows)
        answer: Answer | Trouble = yield from ask(context, plan)
        if isinstance(answer, Answer):
            text = "".join(b.get("text", "") for b in answer.message["content"])
            tagged = re.search(r"<summary>(.*?)</summary>", text, re.S)
            if tagged or not context.version.compact_prefix_shared:
                return f"Summary:\n{tagged[1].strip()}" if tagged else text or None
            if first is not None:
                return first or None
            first, asked = text, asked + AGAIN
            continue
        half = _open_prompt(rows[: max(len(rows) // 2, 1)])
        if not too_long(answer) or not 0 < half < len(rows):
            return first
        rows = rows[:half]
    return first


def _record(
    context: Context, chain: Sequence[Row], kept: Sequence[Row], summary: str, *, trigger: str, pre: int, began: float
) -> Generator[Effect, Any, tuple[dict[str, Any], str]]:
    """Write the boundary, the summary and what is announced again. Returns the boundary's event and the summary."""
    now = yield Now()
    rich = context.version.rich_events
    text = summary_text(context, summary, trigger, tail=bool(kept))
    leaf = context.session.leaf
    anchor = context.ids.uuid()
    post = sum(estimate(_text(r)) for r in kept) + estimate(text) + (2300 if rich else 0)
    context.dropped_tokens += max(pre - post, 0)
    ids = [r["uuid"] for r in kept]
    metadata: dict[str, Any] = {}
    if rich:
        metadata = {
            "post_tokens": post,
            "cumulative_dropped_tokens": context.dropped_tokens,
            "duration_ms": round((now - began) * 1000),
        }
        if ids:
            metadata["preserved_segment"] = {"head_uuid": ids[0], "anchor_uuid": anchor, "tail_uuid": ids[-1]}
            metadata["preserved_messages"] = {"anchor_uuid": anchor, "uuids": ids, "all_uuids": ids}
    event = compact_boundary(
        context.version,
        session=context.session.id,
        uuid=context.ids.uuid(),
        trigger=trigger,
        pre=pre,
        more=metadata,
        parent=leaf,
    )
    boundary = context.row(
        "system",
        now,
        uuid=event["uuid"],
        parent=None,
        logicalParentUuid=leaf,
        subtype="compact_boundary",
        content="Conversation compacted",
        isMeta=False,
        level="info",
        compactMetadata={"trigger": trigger, "preTokens": pre, **_camel(metadata)},
    )
    yield from context.session.append(boundary)
    if trigger == "auto":
        yield from announce_day(context)
    yield from context.add(
        "user",
        uuid=anchor,
        message={"role": "user", "content": text},
        isVisibleInTranscriptOnly=True,
        isCompactSummary=True,
    )
    if trigger == "auto":
        yield from announce(context)
        yield from announce_host(context)
    return event, text


def summary_text(context: Context, summary: str, trigger: str, *, tail: bool) -> str:
    """The user message that stands for everything before: as long around the summary as the real one."""
    version = context.version
    text = "This session is being continued from a previous conversation that ran out of context. "
    if not version.compact_keeps_tail:
        text += f"{prose('continued', 66)}\n\n{summary}\n\n{prose('transcript', 163)} {context.session.path}"
        return text + (f"\n{prose('go on', 164)}" if trigger == "auto" else "")
    used = reminder("<tools-used-before-summary></tools-used-before-summary>")
    text += f"{prose('continued', 66)}\n\n{used}\n{summary}\n\n{prose('transcript', 158)} {context.session.path}"
    return text + f"\n{prose('go on', 276)}" + (f"\n\n{prose('kept verbatim', 218)}" if tail else "")


def announce(context: Context) -> Steps:
    """The attachments that tell a fresh conversation what there is (nothing in versions without them)."""
    if not context.version.reminders:
        return
    for kind, body, text in announcements(
        context.version,
        model=context.model,
        cwd=context.start.cwd,
        bridged=context.mcp.tool_names() if context.mcp is not None else (),
    ):
        yield from context.add("attachment", **attachment(kind, body, text))
    yield from announce_memory(context)
    if context.mode == "plan":
        place = f"{context.home}/.claude/plans/{context.session.id[:8]}.md"
        body = {"reminderType": "full", "isSubAgent": False, "planFilePath": place, "planExists": False}
        yield from context.add("attachment", **attachment("plan_mode", body, prose("plan mode", 4928)))


def announce_memory(context: Context) -> Steps:
    """What stands in CLAUDE.md files, beside the user's own words."""
    found = yield from memory(context)
    if found:
        parts = [f"Contents of {path} (instructions of the user or the project):\n\n{text}" for path, text in found]
        said = "Context that you can use when you answer:\n# claudeMd\n" + "\n\n".join(parts)
        body = {"files": [path for path, _ in found]}
        yield from context.add("attachment", **attachment("instructions", body, said, "user"))


def announce_day(context: Context) -> Steps:
    """The attachments for the session's surroundings and the date."""
    if not context.version.reminders:
        return
    now = yield Now()
    day = context.row("", now)["timestamp"][:10]
    yield from context.add("attachment", **attachment("session_context", {"context": {}}, None))
    yield from context.add("attachment", **attachment("date", {"date": day}, f"Today's date is {day}."))


def announce_tokens(context: Context) -> Steps:
    """How many tokens are left in this turn, for models that are told: 15,000,000 less what its calls had."""
    if context.version.reminders and context.model.told_tokens:
        left = 15_000_000 - context.turn.spent.total
        text = f"<total_tokens>{left} tokens left</total_tokens>"
        yield from context.add("attachment", **attachment("total_tokens_reminder", {"left": left}, text))


def announce_host(context: Context) -> Steps:
    """The last attachment before the first request: shown beside the user's own words."""
    if context.version.reminders:
        yield from context.add("attachment", **attachment("remote_session_change", {"url": None}, REMOTE_NOTE, "user"))


def _kept_ids(chain: Sequence[Row]) -> set[str]:
    if not chain or chain[0].get("subtype") != "compact_boundary":
        return set()
    kept = (chain[0].get("compactMetadata") or {}).get("preservedMessages") or {}
    return set(kept.get("uuids", ()))


def _text(row: Row) -> str:
    content = (row.get("message") or {}).get("content", "")
    if isinstance(content, str):
        return content
    return " ".join(str(b.get("text") or b.get("content") or b.get("input") or "") for b in content)


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_CAMEL.get(k, k): _camel(v) for k, v in value.items()}
    return value
