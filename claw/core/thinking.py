"""How hard a model is asked to think: which levels a model has, the nearest of them, and what to ask for when one is
refused."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, cast

Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive"]
LEVELS: tuple[Thinking, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
ALIASES: Mapping[str, Thinking] = {
    "on": "low", "think": "minimal", "thinkhard": "low", "think-hard": "low", "thinkharder": "medium",
    "think-harder": "medium", "ultrathink": "high", "ultra": "high", "highest": "high", "mid": "medium",
    "med": "medium", "min": "minimal", "extrahigh": "xhigh", "extra-high": "xhigh", "x-high": "xhigh",
    "auto": "adaptive",
    "none": "off", "disabled": "off",
}  # fmt: skip


def level(text: str) -> Thinking | None:
    """The level that a word means, or None."""
    word = text.strip().lower().replace("_", "-")
    return cast(Thinking, word) if word in LEVELS or word == "adaptive" else ALIASES.get(word)


def clamp(wanted: Thinking, supported: Sequence[Thinking]) -> Thinking:
    """The level itself if the model has it, else the next higher one, else the next lower; `off` without any."""
    if wanted in supported:
        return wanted
    at = LEVELS.index("medium" if wanted == "adaptive" else wanted)
    order = [*LEVELS[at:], *reversed(LEVELS[:at])]
    return next((name for name in order if name in supported), "off")


def supported(*, reasons: bool, mapped: Mapping[str, str | None] | None = None) -> tuple[Thinking, ...]:
    """The levels of a model. `mapped`: the vendor's word for a level, or None for one that it does not have; the two
    highest levels exist only where they are mapped."""
    if not reasons:
        return ("off",)
    table = mapped or {}
    return tuple(
        name for name in LEVELS if table.get(name, "") is not None and (name not in ("xhigh", "max") or name in table)
    )


# OpenAI's `reasoning.effort`: models that begin so, and the words that they take (https://platform.openai.com/docs).
_EFFORTS: tuple[tuple[str, tuple[Thinking, ...]], ...] = (
    (r"gpt-5(?:-mini|-nano)?$", ("minimal", "low", "medium", "high")),
    (r"gpt-5-pro", ("high",)),
    (r"gpt-5-codex", ("low", "medium", "high")),
    (r"gpt-5\.1", ("off", "low", "medium", "high")),
    (r"gpt-(?:5\.[2-9]|[6-9])", ("off", "low", "medium", "high", "xhigh")),
    (r"o\d", ("low", "medium", "high")),
)


def effort(model: str, wanted: Thinking) -> str | None:
    """OpenAI's word for a level; None where nothing is to be said: `adaptive` is the vendor's own default, and of a
    model that cannot be stopped from thinking `off` asks for the least."""
    if wanted == "adaptive":
        return None
    name = model.rpartition("/")[2]
    levels = next((levels for start, levels in _EFFORTS if re.match(start, name)), ("low", "medium", "high"))
    chosen = clamp(wanted, levels)
    return "none" if chosen == "off" else chosen


def offered(message: str) -> tuple[Thinking, ...]:
    """What to ask for instead when a level was refused with this message, first what comes first (OpenClaw's rules);
    empty if it says nothing of it.

    Thinking that cannot be switched off: `minimal`. A list of what is supported: the list. Not supported, without a
    list: `off`.
    """
    text = message.lower()
    if re.search(r"reasoning.{0,60}(?:mandatory|required|cannot be disabled)", text):
        return ("minimal", "low")
    listed = re.search(r"supported values are:?\s*([^\n]*)", text)
    if listed:
        words = re.findall(r"[a-z][a-z-]*", listed[1])
        return tuple(dict.fromkeys(named for word in words if (named := level(word)) is not None))
    if "not supported" in text and re.search(r"thinking|reasoning|effort", text):
        return ("off",)
    return ()


def fallback(message: str, tried: Collection[Thinking]) -> Thinking | None:
    """The first of what a message offers that was not tried yet, or None."""
    return next((named for named in offered(message) if named not in tried), None)
