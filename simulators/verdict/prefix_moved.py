"""The part of the prompt that providers cache changed, and was paid for again: where, and what it cost.

The place and the tokens are the simulated cache's own account (`cache.miss` of the exchange). Good reasons are left
out: another model, an entry that expired, a summary or a refused size in between, another conversation, and old
thinking that the provider itself leaves out of the prompt.
"""

from simulators.core.models import catalogue
from simulators.core.turn import ModelInfo
from simulators.verdict._reading import Journal, Seen, Verdict

MOVED = frozenset({"tools_changed", "system_changed", "messages_changed", "input_changed", "unavailable"})


def look(journal: Journal) -> Verdict:
    measured = [call for call in journal.main if call.raw.get("cache") and call.status == 200]
    if len(measured) < 2:
        return "not_checked", (), "fewer than two answered requests"
    moved = [call for call in measured if _moved(journal, call)]
    if moved:
        first, lost = moved[0], sum(call.raw["cache"]["miss"]["lost_tokens"] for call in moved)
        miss = first.raw["cache"]["miss"]
        prices = [price_usd(call.model, call.raw["cache"]["miss"]["lost_tokens"]) for call in moved]
        money = f", ${sum(p or 0.0 for p in prices):.6f} more" if all(p is not None for p in prices) else ""
        more = f" (and in {len(moved) - 1} more)" if len(moved) > 1 else ""
        why = f"the prefix moved at {miss['at']} in request {first.n}{more}: {miss['why']}"
        return "bad", [call.n for call in moved], f"{why}; {lost:,} tokens paid again{money}"
    if not any(call.raw["cache"].get("ideal_read") for call in measured):
        return "not_checked", (), "no request had anything to read from the cache"
    return "ok", (), f"the prefix held over {len(measured)} requests"


def _moved(journal: Journal, call: Seen) -> bool:
    miss = call.raw["cache"].get("miss")
    if not miss or miss.get("vendor_reason") not in MOVED:
        return False
    link = journal.links.get(call.n)
    if link and link.how == "extends" and miss["level"] == "messages" and not miss["why"].startswith("settings"):
        return False  # every message was sent as before; it is the provider that leaves old thinking out
    before = link.before if link else _previous(journal, call)
    return before is None or not (journal.compacted(before, call) or journal.another_agent(before, call))


def _previous(journal: Journal, call: Seen) -> Seen | None:
    earlier = [other for other in journal.main if other.n < call.n and other.key == call.key]
    return earlier[-1] if earlier else None


def price_usd(model: str, tokens: int) -> float | None:
    """What `tokens` cost more when they are written anew than when they are read; None for a model without prices."""
    try:
        info: ModelInfo = catalogue()[model]
    except KeyError:
        return None
    paid = info.cache_write_5m or info.input
    return tokens * max(paid - info.cache_read, 0.0) / 1_000_000 if paid else None
