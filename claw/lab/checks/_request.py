"""What can be asked of one recorded request; shared by `request`, `every_request` and `no_request`."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from claw.lab.checks._params import Figure, Options, Texts, listed
from claw.lab.compare import Value, holds
from claw.lab.evidence import Exchange, short
from claw.lab.requests import instructions, whole_text

KINDS = ("main", "summary", "title", "probe", "all")


class Conditions(Options, frozen=True):
    """`kind` chooses the requests (main, summary, title, probe, all); the rest are conditions.

    `header` maps a name to the text that it must have (null: the header must be absent).
    """

    instructions_contain: Texts | msgspec.UnsetType = msgspec.UNSET
    body_contains: Texts | msgspec.UnsetType = msgspec.UNSET
    header: dict[str, str | None] | msgspec.UnsetType = msgspec.UNSET
    model: Figure = msgspec.UNSET
    max_tokens: Figure = msgspec.UNSET
    status: Figure = msgspec.UNSET
    answered_by: Figure = msgspec.UNSET
    kind: str | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if set(self.given()) <= {"kind"}:
            raise ValueError("nothing is asked of the request; name a condition, such as instructions_contain")
        if not isinstance(self.kind, msgspec.UnsetType) and self.kind not in KINDS:
            raise ValueError(f"`kind` is one of {', '.join(KINDS)}, not `{self.kind}`")

    def values(self) -> list[str]:
        return [name for name in self.given() if name in ("model", "max_tokens", "status", "answered_by")]

    def wanted(self, default: str) -> str | None:
        """The kind of requests to look at; None for all."""
        kind = default if isinstance(self.kind, msgspec.UnsetType) else self.kind
        return None if kind == "all" else kind


def unmet(conditions: Conditions, exchange: Exchange) -> list[str]:
    """The conditions that this request does not meet, in words."""
    return [said for ok, said in outcomes(conditions, exchange) if not ok]


def outcomes(conditions: Conditions, exchange: Exchange) -> Iterator[tuple[bool, str]]:
    """Each condition: whether it is met, and what was seen."""
    body: Mapping[str, Any] = exchange.get("request") or {}
    told = instructions(body)
    for piece in listed(conditions.instructions_contain):
        ok = piece in told
        yield ok, f"its instructions {'have' if ok else 'lack'} `{short(piece, 40)}`"
    for piece in listed(conditions.body_contains):
        ok = piece in whole_text(body)
        yield ok, f"its body {'has' if ok else 'lacks'} `{short(piece, 40)}`"
    if not isinstance(conditions.header, msgspec.UnsetType):
        sent = {str(name).lower(): str(value) for name, value in (exchange.get("headers") or {}).items()}
        for name, wanted in conditions.header.items():
            value = sent.get(name.lower())
            ok = value is None if wanted is None else value is not None and wanted in value
            yield ok, f"header {name} is {'absent' if value is None else short(value, 40)}"
    figures: dict[str, Value] = {
        "model": exchange.get("model"),
        "max_tokens": body.get("max_tokens", body.get("max_output_tokens")),
        "status": exchange.get("status"),
        "answered_by": exchange.get("answered_by"),
    }
    for name in conditions.values():
        yield holds(getattr(conditions, name), figures[name]), f"{name} is {figures[name]}"
