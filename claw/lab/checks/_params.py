"""Types that several checks take."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from claw.lab.compare import Value, comparison, holds
from claw.lab.evidence import Finding, found, short

Texts = str | list[str]


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a check takes: refuses to be empty, so that a check always checks something."""

    def __post_init__(self) -> None:
        if not self.given():
            raise ValueError(f"nothing is asked; name at least one of {', '.join(self.__struct_fields__)}")
        for name in self.values():
            comparison(getattr(self, name))

    def given(self) -> list[str]:
        """The fields that the scenario set."""
        return [name for name in self.__struct_fields__ if getattr(self, name) is not msgspec.UNSET]

    def values(self) -> list[str]:
        """The set fields that hold a value to compare with (text searches are not among them)."""
        return []


class Figures(Options, frozen=True):
    """A check whose every field is a value to compare with."""

    def values(self) -> list[str]:
        return self.given()


Figure = Value | msgspec.UnsetType


def listed(texts: Texts | msgspec.UnsetType) -> Sequence[str]:
    """One text or several, as several."""
    if isinstance(texts, msgspec.UnsetType):
        return ()
    return [texts] if isinstance(texts, str) else texts


def compared(name: str, expected: Value, actual: Any) -> Finding:
    """One figure against what was written."""
    ok = holds(expected, actual)
    return found(ok, f"{name} {_shown(actual)}" + ("" if ok else f", not {expected}"))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "null" if value is None else short(value)


def compare_all(params: Options, actual: dict[str, Any]) -> list[Finding]:
    """Every field that the scenario set, against the figure of the same name."""
    return [compared(name, getattr(params, name), actual[name]) for name in params.given() if name in actual]


def text_findings(
    where: str, text: str, *, contains: Iterable[str] = (), not_contains: Iterable[str] = ()
) -> list[Finding]:
    """Searches in one text; what was seen is quoted."""
    seen = [
        found(piece in text, f"{where} {'has' if piece in text else 'lacks'} `{short(piece, 40)}`: {short(text)!r}")
        for piece in contains
    ]
    return seen + [
        found(piece not in text, f"{where} {'has' if piece in text else 'is free of'} `{short(piece, 40)}`")
        for piece in not_contains
    ]
