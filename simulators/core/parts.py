"""What the core is handed and does not know: dialects, faults, responders, the vocabulary, the error catalogue."""

from collections.abc import Callable, Mapping

import msgspec

from simulators.core.account_document import AccountDocument
from simulators.core.fault import FaultKind, Responder
from simulators.core.turn import Dialect, Failure


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an engine.

    `dialects` by name, asked in this order who serves a path; `faults` by kind; `make_responder` makes an account's
    responder (a fresh one each time a document is loaded); `count_default` counts a text's o200k tokens; `errors` are
    the entries of the error catalogue by name, for `error: {like: …}`.
    """

    dialects: Mapping[str, Dialect]
    faults: Mapping[str, FaultKind]
    make_responder: Callable[[AccountDocument], Responder]
    count_default: Callable[[str], int]
    errors: Mapping[str, Failure] = {}

    @property
    def profiles(self) -> frozenset[str]:
        """The servers that a document may name: what the dialects have more than one voice for."""
        return frozenset(name for dialect in self.dialects.values() for name in getattr(dialect, "profiles", ()))
