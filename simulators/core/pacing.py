"""How long an answer takes, as `Wait` events: a delta is one word, about a token, and takes 1/tokens_per_s seconds."""

from collections.abc import Callable, Iterator

from simulators.core.account_file import Pacing
from simulators.core.wire import Chunk, Wait, WireEvent

_QUIET = frozenset({"message_delta", "ping"})  # bring no token of their own


def before_head(pacing: Pacing, chance: Callable[[str], float], output: int, stream: bool) -> float:
    """Seconds until the head leaves: the first token, and all of them where the answer comes in one piece."""
    seconds = pacing.first_token_ms / 1000
    if not stream and pacing.tokens_per_s:
        seconds += output / pacing.tokens_per_s
    return _jittered(seconds, pacing.jitter, chance, "pacing:head") if seconds else 0.0


def paced(events: Iterator[WireEvent], pacing: Pacing, chance: Callable[[str], float]) -> Iterator[WireEvent]:
    """The events of a stream with a wait before each delta but the first."""
    if not pacing.tokens_per_s:
        yield from events
        return
    step, count = 1 / pacing.tokens_per_s, 0
    for event in events:
        if type(event) is Chunk and is_delta(event.event):
            if count:
                yield Wait(_jittered(step, pacing.jitter, chance, f"pacing:{count}"))
            count += 1
        yield event


def is_delta(name: str) -> bool:
    """Whether an event of this name brings output (dialects without event names: every event)."""
    return not name or ("delta" in name and name not in _QUIET)


def _jittered(seconds: float, jitter: float, chance: Callable[[str], float], purpose: str) -> float:
    return seconds * (1 + jitter * (2 * chance(purpose) - 1)) if jitter else seconds
