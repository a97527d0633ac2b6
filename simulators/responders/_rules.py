"""Rules: answers for every call that fits their `when:`. An unused rule is no failure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulators.core.account_document import Rule
from simulators.core.turn import ModelCall, ModelTurn

_SHOWN = 80  # characters of what a call had


class Rules:
    """The rules of an account, in the order of the document; the first that fits answers."""

    name = "rules"

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._n = 0  # of the call last asked about

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        """The reply of the first rule that fits."""
        self._n = n
        for rule in self._rules:
            if rule.when.matches(call, n):
                return rule.reply
        return None

    def unused(self) -> list[str]:
        return []

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        """`{rule, does_not_fit, saw}`: the rule with the fewest keys that do not fit, and what the call had there."""
        best: tuple[int, int, list[str]] | None = None
        for index, rule in enumerate(self._rules):
            misses = rule.when.misses(call, self._n)
            if best is None or len(misses) < best[0]:
                best = (len(misses), index, misses)
        if best is None:
            return None
        return {
            "rule": f"rules[{best[1]}]",
            "does_not_fit": ", ".join(best[2]),
            "saw": "; ".join(f"{key}={self._seen(call, key)}" for key in best[2]),
        }

    def _seen(self, call: ModelCall, key: str) -> str:
        values: dict[str, Any] = {
            "call": self._n,
            "tool_result_for": list(call.tool_results),
            "has_tools": bool(call.tools),
            "header": [name for name, _ in call.headers],  # names alone: values hold keys
        }
        text = str(values[key] if key in values else getattr(call, key))
        return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
