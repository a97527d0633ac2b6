"""Why a request read less from the cache than it could have: place, cause, price.

A request is compared with the earlier one that it continues. Two requests belong together when the later one holds
most of what the earlier one held; a new conversation is no miss.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from simulators.core.account_file import CacheRules
from simulators.core.prompt_cache import Lookup, Remembered, positions
from simulators.core.turn import Block, Level

_LEVELS: tuple[Level, ...] = ("tools", "system", "messages")
_REASONS = {"tools": "tools_changed", "system": "system_changed", "messages": "messages_changed"}
_SNIPPET = 40  # characters shown on either side of the first difference


def explain(found: Lookup, recent: Iterable[Remembered], rules: CacheRules) -> dict[str, Any] | None:
    """The `miss` of a journal entry, or None if the cache gave what it could.

    {level, at, why, vendor_reason, lost_tokens, before, after}. `vendor_reason` is the word of Anthropic's cache
    diagnostics, None where the request itself did not change (expired, no breakpoint, look-back); `before` and `after`
    are short pieces of the block that changed.
    """
    earlier = _predecessor(found, recent)
    if earlier is None:
        return None
    if found.read >= earlier.cached:
        lost = found.ideal - found.read
        if lost < max(found.model.min_cacheable_tokens, 1):
            return _too_small(found, rules)
        at = min(found.hit + 1, len(found.call.blocks) - 1)
        return _miss(found.call.blocks[at], "no breakpoint covers what could be read", None, lost)
    lost = earlier.cached - found.read
    if earlier.model != found.model.id:
        block = found.call.blocks[0]
        return _miss(block, f"model changed: {earlier.model} → {found.model.id}", "model_changed", lost)
    place = _first_difference(earlier.blocks, found.call.blocks)
    if place <= earlier.cached_end:
        return _moved(earlier, found, place, lost)
    return _unmoved(earlier, found, rules, lost)


_SETTING_REASONS = (
    "prompt_cache_key", "text_format", "reasoning_effort", "verbosity", "service_tier", "tools",
)  # fmt: skip


def explain_regime(found: Lookup, recent: Iterable[Remembered], rules: CacheRules) -> dict[str, Any] | None:
    """The same for caches that need no marks (`cache_regimes`); `vendor_reason` is a word of OpenAI's diagnostics."""
    earlier = _predecessor(found, [before for before in recent if before.kind == found.call.kind])
    if earlier is None or found.read >= earlier.cached or found.call.cache is None:
        return None
    lost = earlier.cached - found.read
    blocks = found.call.blocks
    if earlier.model != found.model.id:
        return _miss(blocks[0], f"model changed: {earlier.model} → {found.model.id}", "model_changed", lost)
    place = _first_difference(earlier.blocks, blocks)
    if place <= earlier.cached_end:
        if found.read and place < len(blocks) and found.ends[place] - found.read < found.call.cache.step:
            return None  # the conversation was cut short, and all that is left of it was read
        miss = _moved(earlier, found, place, lost)
        if miss["why"] == "block removed" and earlier.blocks[place].kind == "thinking":
            return miss | {"why": "reasoning of an earlier turn is left out of the prompt", "vendor_reason": None}
        return miss | {"vendor_reason": "tools_changed" if miss["level"] == "tools" else "input_changed"}
    block = blocks[earlier.cached_end]
    if not rules.enabled:
        return _miss(block, "the cache is switched off", None, lost)
    settings = dict(found.call.cache.depends) | {"prompt_cache_key": found.call.cache.key or ""}
    for name in _SETTING_REASONS:
        old, new = earlier.settings.get(name, ""), settings.get(name, "")
        if old != new:
            why = f"{name.replace('_', ' ')} changed: {old or 'default'} → {new or 'default'}"
            return _miss(blocks[0], why, f"{name}_changed", lost)
    if not earlier.begun[0]:
        return _miss(block, "the answer that writes it has not begun", None, lost)
    if found.now - earlier.at >= earlier.ttl:
        age, ttl = found.now - earlier.at, earlier.ttl
        return _miss(block, f"expired: {age:.0f} s old, kept for {ttl:.0f} s", None, lost)
    if found.call.cache.regime == "breakpoints" and not found.marks:
        return _miss(block, "no breakpoint covers what could be read", None, lost)
    if rules.overflow_rpm is not None:
        return _miss(block, f"routed to a cold machine: more than {rules.overflow_rpm} requests a minute", None, lost)
    return _miss(block, "expired", None, lost)


def _too_small(found: Lookup, rules: CacheRules) -> dict[str, Any] | None:
    """Breakpoints stand in a prefix that was sent before, and all of them below the model's minimum: nothing can be
    read, so nothing is lost."""
    if not rules.enabled or not found.marks or found.writes or found.hit >= 0:
        return None
    at = found.marks[-1][0]
    if at >= found.known:
        return None
    why = f"too small: {found.ends[at]} tokens up to the last breakpoint, {found.model.min_cacheable_tokens} are needed"
    return _miss(found.call.blocks[at], why, None, 0)


def _predecessor(found: Lookup, recent: Iterable[Remembered]) -> Remembered | None:
    """The request that this one continues: with the longest common beginning, else the latest that fits."""
    seen = found.seen
    if seen is not None and found.known >= len(seen.blocks):
        return seen  # it only went on
    if seen is not None and _continues(seen, found.call.blocks):
        return seen
    for candidate in reversed(list(recent)):
        if candidate is not seen and _continues(candidate, found.call.blocks):
            return candidate
    return None


def _continues(earlier: Remembered, blocks: Sequence[Block]) -> bool:
    """Whether `blocks` holds most of the earlier conversation, wherever the first change stands."""
    old = earlier.blocks
    place = _first_difference(old, blocks)
    if place >= len(old):
        return True
    if place >= len(blocks):
        return False  # went back to an earlier point: nothing of it was lost
    rest = [block.digest for block in old[place + 1 :] if block.level == "messages"]
    if rest:
        now = {block.digest for block in blocks[place:]}
        return 2 * sum(digest in now for digest in rest) >= len(rest)
    if old[place].level != "messages":
        return False
    return len(blocks) > len(old) and _alike(old[place], blocks[place])


def _alike(a: Block, b: Block) -> bool:
    """Two forms of one message: half of the shorter text stands at the start or the end of the other."""
    if a.role != b.role or a.kind != b.kind:
        return False
    short = min(len(a.text), len(b.text))
    same = _common(a.text, b.text) + _common(a.text[::-1], b.text[::-1])
    return short > 0 and 2 * min(same, short) >= short


def _moved(earlier: Remembered, found: Lookup, place: int, lost: int) -> dict[str, Any]:
    """The prefix itself changed, at block `place`."""
    old, new = earlier.blocks, found.call.blocks
    before, after = old[place], new[place]
    old_rest, new_rest = {b.digest for b in old[place:]}, {b.digest for b in new[place:]}
    if before.digest in new_rest and after.digest in old_rest:
        return _miss(after, "order changed", _REASONS[after.level], lost, _text(before), _text(after))
    if after.digest in old_rest and before.kind == "thinking":
        why = "thinking of an earlier turn left out"
        return _miss(before, why, _REASONS[before.level], lost, _text(before), _text(after))
    if before.digest in new_rest:
        return _miss(after, "block added", _REASONS[after.level], lost, "", _text(after))
    if after.digest in old_rest:
        return _miss(before, "block removed", _REASONS[before.level], lost, _text(before), "")
    why = "tool definition changed" if after.level == "tools" else "content changed"
    return _miss(after, why, _REASONS[after.level], lost, _text(before), _text(after))


def _unmoved(earlier: Remembered, found: Lookup, rules: CacheRules, lost: int) -> dict[str, Any]:
    """The prefix is the same, and yet nothing was found at its end."""
    blocks, end = found.call.blocks, earlier.cached_end
    block = blocks[end]
    if not rules.enabled:
        return _miss(block, "the cache is switched off", None, lost)
    for level in _LEVELS[: _LEVELS.index(block.level) + 1]:
        old, new = earlier.settings.get(level), found.call.settings.get(level)
        if old != new:
            first = next((b for b in blocks if b.level == level), block)
            # The vendor's diagnostics compare model, tools, system and messages, and say of the rest that it differs.
            return _miss(first, f"settings changed: {old or 'default'} → {new or 'default'}", "unavailable", lost)
    if not earlier.begun[0]:
        return _miss(block, "the answer that writes it has not begun", None, lost)
    if found.now - earlier.at >= earlier.ttl:
        age, ttl = found.now - earlier.at, earlier.ttl
        return _miss(block, f"expired: {age:.0f} s old, kept for {ttl:.0f} s", None, lost)
    reached = [at for mark, _ in found.marks for at in positions(blocks, mark, rules)]
    if end not in reached and any(mark >= end for mark, _ in found.marks):
        last = found.marks[-1][0]
        why = f"look-back: {last - end} blocks before the last breakpoint, {rules.lookback} positions are searched"
        return _miss(block, why, None, lost)
    if end not in reached and found.marks:
        there = blocks[found.marks[-1][0]].path
        return _miss(block, f"breakpoint moved: it stood at {block.path}, the last is at {there} now", None, lost)
    if end not in reached:
        return _miss(block, "no breakpoint covers what could be read", None, lost)
    return _miss(block, "expired", None, lost)


def _miss(
    block: Block, why: str, reason: str | None, lost: int, before: str | None = None, after: str | None = None
) -> dict[str, Any]:
    if before is not None and after is not None:
        before, after = _around(before, after)
    return {
        "level": block.level,
        "at": block.path,
        "why": why,
        "vendor_reason": reason,
        "lost_tokens": lost,
        "before": before,
        "after": after,
    }


def _text(block: Block) -> str:
    return f"{block.structure} {block.text}".strip() if block.structure else block.text


def _around(before: str, after: str) -> tuple[str, str]:
    """Both texts around their first difference."""
    start = max(0, _common(before, after) - _SNIPPET)
    lead = "…" if start else ""

    def piece(text: str) -> str:
        end = start + 2 * _SNIPPET
        return f"{lead}{text[start:end]}{'…' if len(text) > end else ''}" if text else ""

    return piece(before), piece(after)


def _common(a: str, b: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _first_difference(old: Sequence[Block], new: Sequence[Block]) -> int:
    """Index of the first block that is not the same; the length of the shorter one if none differs."""
    for i, (a, b) in enumerate(zip(old, new, strict=False)):
        if a.digest != b.digest:
            return i
    return min(len(old), len(new))
