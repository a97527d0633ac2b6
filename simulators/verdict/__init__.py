"""What a journal says about the client that wrote it: one file per check, each with a `look`.

Exchanges are the dicts of a journal (`Exchange.to_dict`, the control API, a saved file). Beside the journal's own keys
`headers` (of the request) and `error` ({kind, retry_after, message} of a refusal) are used where they are given.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

import msgspec

Status = Literal["ok", "bad", "not_checked"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check saw. `exchanges` are journal numbers (`n`), `why` one sentence with the figures and the place."""

    check: str
    status: Status
    exchanges: tuple[int, ...] = ()
    why: str = ""


def checks() -> tuple[str, ...]:
    """Names of the checks, found by listing this folder."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_")))


def judge(exchanges: Sequence[Mapping[str, Any]], *, report: Mapping[str, Any] | None = None) -> list[Finding]:
    """One finding a check, by name. Exchanges of several accounts may be mixed; they are told apart by `key`.

    `report` is what the client itself says of its run, as far as it is known: `exit` (a process's code), `failure`
    (null or {kind, message}), `usage` {context_tokens}, `cost_usd`. Without it `shown_is_not_true` is not checked, and
    a broken stream after which nothing was sent stays undecided.
    """
    from simulators.verdict._reading import Journal

    journal = Journal(exchanges, report)
    found = []
    for name in checks():
        status, numbers, why = import_module(f"{__name__}.{name}").look(journal)
        found.append(Finding(check=name, status=status, exchanges=tuple(sorted(set(numbers))), why=why))
    return found
