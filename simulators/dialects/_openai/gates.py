"""What a model can do: read from its id and what the catalogue says of it.

Facts: the provider's reference of parameters, recorded answers (defaults of `reasoning`, dated names), the SDK's
docstrings of `reasoning.effort`. A model of nobody's (`sim-…`) can do everything and refuses nothing.
"""

import re
from functools import lru_cache
from typing import Any

import msgspec

from simulators.core.turn import ModelInfo

_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?![0-9o])")
_O = re.compile(r"o[134](-|$)")
DATED = {
    "gpt-4o": "gpt-4o-2024-08-06",
    "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
    "gpt-4o-audio-preview": "gpt-4o-audio-preview-2025-06-03",
    "gpt-4o-search-preview": "gpt-4o-search-preview-2025-03-11",
    "gpt-4.1": "gpt-4.1-2025-04-14",
    "gpt-4.1-mini": "gpt-4.1-mini-2025-04-14",
    "gpt-4.1-nano": "gpt-4.1-nano-2025-04-14",
    "gpt-4.5-preview": "gpt-4.5-preview-2025-02-27",
    "gpt-5": "gpt-5-2025-08-07",
    "gpt-5-mini": "gpt-5-mini-2025-08-07",
    "gpt-5-nano": "gpt-5-nano-2025-08-07",
    "gpt-5-pro": "gpt-5-pro-2025-10-06",
    "gpt-5.1": "gpt-5.1-2025-11-13",
    "gpt-5.2": "gpt-5.2-2025-12-11",
    "gpt-5.4": "gpt-5.4-2026-03-05",
    "gpt-5.5": "gpt-5.5-2026-04-23",
    "gpt-5.6": "gpt-5.6-sol",
    "o1": "o1-2024-12-17",
    "o1-mini": "o1-mini-2024-09-12",
    "o3": "o3-2025-04-16",
    "o3-mini": "o3-mini-2025-01-31",
    "o4-mini": "o4-mini-2025-04-16",
}


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """One model's abilities. `efforts` empty: it does not reason. `known`: one of the vendor's own."""

    known: bool = False
    efforts: tuple[str, ...] = ()
    default_effort: str | None = None
    breakpoints: bool = False  # the cache regime of GPT-5.6 and later
    keeps_reasoning: bool = False  # reasoning of earlier turns stays in the prompt
    day_long: bool = False  # the cache keeps prompts for 24 hours unasked
    top_p: float = 1.0
    phases: bool = False  # messages say whether they comment or conclude
    audio: bool = False
    search: bool = False

    @property
    def reasons(self) -> bool:
        return bool(self.efforts)


@lru_cache(maxsize=512)
def _by_id(name: str) -> Gates:
    found = _GPT.match(name)
    if found is None:
        if _O.match(name):
            if name.startswith("o1-mini"):
                return Gates(known=True)
            return Gates(known=True, efforts=("low", "medium", "high"), default_effort="medium")
        return Gates(known=name.startswith(("gpt-4o", "computer-use")), audio="audio" in name, search="search" in name)
    version = (int(found[1]), int(found[2] or 0))
    if version < (5, 0) or "chat" in name:
        return Gates(known=True, audio="audio" in name, search="search" in name)
    if version == (5, 0):
        efforts: tuple[str, ...] = ("minimal", "low", "medium", "high")
        default = "medium"
    else:
        efforts = ("none", "low", "medium", "high") + (("xhigh",) if version >= (5, 2) else ())
        efforts += ("max",) if version >= (5, 6) else ()
        default = "none" if version < (5, 5) else "medium"
    if "-pro" in name:
        efforts, default = ("high",), "high"
    return Gates(
        known=True,
        efforts=efforts,
        default_effort=default,
        breakpoints=version >= (5, 6),
        keeps_reasoning=version >= (5, 6),
        day_long=version >= (5, 5),
        phases=version >= (5, 4),
        top_p=0.98 if version >= (5, 4) else 1.0,
    )


def gates(info: ModelInfo) -> Gates:
    """The gates of a model; `features.cache_regime` of the catalogue or an account decides its cache."""
    found = _by_id(info.id)
    regime = info.features.get("cache_regime")
    if isinstance(regime, str) and found.breakpoints != regime.startswith("breakpoints"):
        found = msgspec.structs.replace(found, breakpoints=not found.breakpoints)
    return found


def shown_name(asked: str, info: ModelInfo) -> str:
    """The model as an answer names it: dated, where the alias was asked for."""
    return DATED.get(asked, asked) if asked == info.id else asked


def reasoning_of(gates_: Gates, asked: dict[str, Any] | None) -> dict[str, Any]:
    """The `reasoning` object of an answer."""
    asked = asked or {}
    effort = asked.get("effort") or gates_.default_effort
    found: dict[str, Any] = {"effort": effort, "summary": asked.get("summary") or asked.get("generate_summary")}
    if gates_.reasons:
        context = asked.get("context") or "auto"
        kept = "all_turns" if gates_.keeps_reasoning else "current_turn"
        found = {
            "context": kept if context == "auto" else context,
            "effort": found["effort"],
            "mode": "standard",
            "summary": found["summary"],
        }
    return found
