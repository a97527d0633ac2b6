"""The models as the CLI knows them: window, output limit, prices, and which form its requests take.

Windows and limits are what the CLI reports in `modelUsage` (observed with 2.1.332 and 2.1.19); prices are USD per
million tokens, checked against `total_cost_usd` of real runs. They are the CLI's own table and may differ from what
the provider enforces, which is the point of having them twice.
"""

from dataclasses import dataclass, replace
from typing import Literal

Form = Literal["announced", "inline"]


@dataclass(frozen=True, slots=True)
class Model:
    """`form` announced: reminders travel in `role: system` messages; inline: inside the user's blocks."""

    id: str
    title: str
    window: int = 200_000
    max_output: int = 32_000
    form: Form = "inline"
    effort: str | None = None  # the default of --effort; None: the request carries no output_config
    effort_per_turn: bool = False  # the first system message carries it too
    told_tokens: bool = True  # each prompt and tool result comes with how many tokens are left
    native_compaction: bool = False  # whether the CLI compacts before the provider refuses
    price_input: float = 0.0
    price_output: float = 0.0
    price_read: float = 0.0
    price_write_5m: float = 0.0
    price_write_1h: float = 0.0


def _model(id: str, title: str, input: float, output: float, read: float, **more: object) -> Model:
    prices = {"price_input": input, "price_output": output, "price_read": read}
    writes = {"price_write_5m": input * 1.25, "price_write_1h": input * 2}
    return Model(id=id, title=title, **prices, **writes, **more)  # type: ignore[arg-type]


_WIDE = {"window": 1_000_000, "max_output": 128_000, "form": "announced", "effort": "medium", "native_compaction": True}
_TURN = {**_WIDE, "effort_per_turn": True, "told_tokens": False}
_MODELS = (
    _model("claude-opus-5-5", "Opus 5.5", 4, 20, 0.2, **_TURN),
    _model("claude-sonnet-5-5", "Sonnet 5.5", 2, 10, 0.1, **_TURN),
    _model("claude-haiku-5-5", "Haiku 5.5", 0.1, 0.5, 0.01, **_TURN),
    _model("claude-fable-5-2", "Fable 5.2", 8, 40, 0.2, **_TURN),
    _model("claude-opus-4-8", "Opus 4.8", 5, 25, 0.5, **{**_WIDE, "max_output": 64_000, "effort": "high"}),
    _model("claude-opus-4-5", "Opus 4.5", 5, 25, 0.5, effort="high"),
    _model("claude-sonnet-4-5", "Sonnet 4.5", 3, 15, 0.3),
    _model("claude-haiku-4-5", "Haiku 4.5", 1, 5, 0.1),
)
_BY_ID = {model.id: model for model in _MODELS}


def lookup(name: str) -> Model:
    """The model of an id. A dated id takes the undated one's facts; an unknown one is 200,000 wide and free."""
    if name in _BY_ID:
        return _BY_ID[name]
    head, _, date = name.rpartition("-")
    if head in _BY_ID and len(date) == 8 and date.isdigit():
        return replace(_BY_ID[head], id=name)
    return Model(id=name, title=name)
