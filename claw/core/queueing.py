"""What happens to a message that arrives while a run is at work: the modes of a session's queue, and what is dropped.

Modes: `steer` (the model sees it at its next call), `followup` (a run of its own afterwards), `collect` (one run for
all that came, after a quiet moment), `interrupt` (the run at work ends, the newest message is answered). As OpenClaw.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

Mode = Literal["steer", "followup", "collect", "interrupt"]
Drop = Literal["summarize", "old", "new"]
MODES: tuple[Mode, ...] = ("steer", "followup", "collect", "interrupt")
ALIASES: Mapping[str, Mode] = {
    "steering": "steer", "queue": "steer", "queued": "steer", "steer-backlog": "steer", "steer+backlog": "steer",
    "follow-up": "followup", "followups": "followup", "follow-ups": "followup", "collected": "collect",
    "coalesce": "collect", "abort": "interrupt", "interrupts": "interrupt",
}  # fmt: skip
TITLE = "[Queued messages while agent was busy]"
LINE = 160  # characters of a dropped message that its summary shows
_SPACE = re.compile(r"\s+")


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """One message that waits. `at`: when it came (Unix seconds); `key`: of its sender, against doubles."""

    text: str
    at: float = 0.0
    sender: str = ""
    key: str = ""


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for a session. `dropped` messages have left `lines` behind where the policy is to summarise them."""

    items: tuple[Queued, ...] = ()
    dropped: int = 0
    lines: tuple[str, ...] = ()

    def add(self, item: Queued, *, cap: int, drop: Drop) -> "Backlog | None":
        """With one more; None when it is the new one that is dropped. `cap` 0 is no limit."""
        over = len(self.items) - cap + 1 if cap > 0 else 0
        if over <= 0:
            return msgspec.structs.replace(self, items=(*self.items, item))
        if drop == "new":
            return None
        gone, kept = self.items[:over], self.items[over:]
        if drop == "old":
            return msgspec.structs.replace(self, items=(*kept, item))
        lines = (*self.lines, *(elided(_SPACE.sub(" ", old.text).strip(), LINE) for old in gone))[-cap:]
        return Backlog(items=(*kept, item), dropped=self.dropped + over, lines=lines)

    def ready(self, *, now: float, debounce_s: float) -> float:
        """Seconds until the quiet moment after the last message; 0 when it has passed."""
        return max(0.0, self.items[-1].at + debounce_s - now) if self.items else 0.0

    def take_all(self) -> str:
        """One prompt for everything that waits."""
        return collect_prompt([(item.sender, item.text) for item in self.items], summary=self.summary())

    def take_one(self) -> tuple[str, "Backlog"]:
        """The prompt of the oldest, what was dropped said before it, and what is left."""
        first, summary = self.items[0], self.summary()
        return (f"{summary}\n\n{first.text}" if summary else first.text), Backlog(items=self.items[1:])

    def summary(self) -> str:
        return overflow_summary(self.dropped, self.lines) if self.dropped else ""


def mode(text: str) -> Mode | None:
    """The mode that a word means, or None."""
    word = text.strip().lower()
    return word if word in MODES else ALIASES.get(word)


def elided(text: str, limit: int = 140) -> str:
    """At most `limit` characters, the last of them `…` when some are left out."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


def overflow_summary(dropped: int, lines: Sequence[str], noun: str = "message") -> str:
    """What is told of messages that were dropped."""
    head = f"[Queue overflow] Dropped {dropped} {noun}{'' if dropped == 1 else 's'} due to cap."
    return "\n".join([head, *(["Summary:", *(f"- {line}" for line in lines)] if lines else [])])


def collect_prompt(items: Sequence[tuple[str, str]], *, summary: str = "", title: str = TITLE) -> str:
    """One prompt for many messages, each (sender, text)."""
    blocks = [title, *([summary] if summary else [])]
    for number, (sender, text) in enumerate(items, 1):
        whom = f" (from {sender})" if sender else ""
        blocks.append(f"---\nQueued #{number}{whom}\n{text}")
    return "\n\n".join(blocks)


def arrival(mode: Mode, *, active: bool, heartbeat: bool = False, followup: bool = False) -> str:
    """What is done with a message: `run-now`, `drop` (a heartbeat that finds a run at work), or `enqueue-followup`."""
    if not active:
        return "run-now"
    if heartbeat:
        return "drop"
    return "enqueue-followup" if followup or mode == "steer" else "run-now"


_STOPS = frozenset(
    {
        "stop", "esc", "abort", "wait", "exit", "interrupt", "halt", "please stop", "stop please", "stop run",
        "stop running", "stop now", "stop it", "cancel", "stop agent", "stop the agent", "stop openclaw",
        "stop action", "stop current action", "do not do that", "dont do that", "stop everything", "stop all",
        "detente", "deten", "para", "alto", "arrête", "arrete", "stopp", "anhalten", "aufhören", "hoer auf", "hör auf",
        "pare", "parar", "ferma", "fermati", "停止", "停", "停下", "暂停", "中止", "やめて", "止めて", "ストップ",
        "중지", "멈춰", "그만", "стоп", "остановись", "останови", "остановить", "прекрати", "توقف", "قف", "रुको",
        "रुक जाओ", "dur",
    }
)  # fmt: skip


def is_stop(text: str) -> bool:
    """Whether a message asks for the run to end: `/stop` alone, or one of a few words in many languages alone."""
    said = unicodedata.normalize("NFC", text).strip().lower().replace("’", "'").replace("'", "")
    if said == "/stop":
        return True
    return _SPACE.sub(" ", said).rstrip(" .!?…,;:。！？，、").strip() in _STOPS
