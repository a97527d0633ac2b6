"""The simulator that belongs to a CLI fake which answers by itself (`answer: alone`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.core.document import Document
from simulators.shells.answers import Provider


def check_provider(document: Document, *, at: Sequence[str] = ("provider",)) -> None:
    """Refuse a bad account document now rather than at the first call. Raises `DocumentError`."""
    from simulators.core.account_document import parse_account
    from simulators.shells.simulator import parts

    known = parts()
    parse_account(document, faults=known.faults, errors=known.errors, profiles=known.profiles, at=at)


def alone_provider(document: Mapping[str, Any] | None, *, clock: Any, seed: int) -> Provider:
    """A simulator that belongs to the fakes, with one account for whatever key they carry."""
    from simulators.shells.simulator import Simulator

    script = None if document is None else dict(document)
    made: Provider = Simulator(seed=seed, clock=clock, script=script)
    return made
