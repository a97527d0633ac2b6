"""A cassette: what was recorded answers, whatever vendor's it is; see `simulators.core.replaying`."""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from simulators.cassettes import match, vcr
from simulators.cassettes.format import Cassette, CassetteError
from simulators.cassettes.playing import played
from simulators.core.account_document import AccountDocument
from simulators.core.document import DocumentError
from simulators.core.fault import Responder
from simulators.core.replaying import Replayed
from simulators.core.turn import ModelCall, ModelTurn
from simulators.core.wire import Request
from simulators.responders import echo, persona
from simulators.responders._chain import Chain


class Recordings:
    """Implements `Responder` and `simulators.core.replaying.Replayer`.

    Requests are matched as `simulators.cassettes.match` says; with `repeat` the last of equal recordings answers for
    ever. `scale` stretches the recorded waits (0: none).
    """

    name = "cassette"

    def __init__(self, cassette: Cassette, *, repeat: bool = False, scale: float = 1.0) -> None:
        self.cassette = cassette
        self._shelf = match.Shelf(cassette.exchanges)
        self._repeat, self._scale = repeat, scale

    @property
    def replayer(self) -> "Recordings":
        return self

    def replay(self, request: Request) -> Replayed | None:
        """The next recorded answer to this request, or None."""
        number = self._shelf.pick(match.asked(request), repeat=self._repeat)
        return None if number is None else played(self.cassette.exchanges[number], scale=self._scale)

    def nearest_recorded(self, request: Request) -> Mapping[str, Any]:
        """{exchange, difference}: the recording that came closest, from 0, and what differs."""
        return self._shelf.nearest(match.asked(request))

    def answer(self, call: ModelCall, *, n: int, chance: Callable[[str], float]) -> ModelTurn | None:
        """None: a recording answers requests, not calls."""
        return None

    def unused(self) -> list[str]:
        """The exchanges that nobody asked for: `interactions[3]`."""
        return [f"interactions[{number}]" for number in self._shelf.unused()]

    def nearest(self, call: ModelCall) -> Mapping[str, Any] | None:
        return None


def make(document: AccountDocument) -> Responder:
    """The recordings of an account's cassette, and what `otherwise:` says after them.

    A relative path is one beside the document. Raises `DocumentError`.
    """
    file = _file(document)
    scale = document.pacing.recorded
    try:
        info = file.stat()
        cassette = _read(str(file), info.st_mtime_ns, info.st_size)
    except OSError as error:
        raise DocumentError(document.source, "cassette", None, f"{file}: {error.strerror or error}") from None
    except CassetteError as error:
        raise DocumentError(document.source, "cassette", None, str(error)) from None
    recordings = Recordings(cassette, repeat=document.otherwise == "repeat", scale=scale)
    if document.otherwise == "echo":
        return Chain(recordings, echo.make(document))
    if document.otherwise == "persona":
        return Chain(recordings, persona.make(document))
    return recordings


def _file(document: AccountDocument) -> Path:
    name = os.path.expanduser(document.cassette or "")
    beside = Path(document.source).parent / name
    return beside if not os.path.isabs(name) and beside.exists() else Path(name)


@lru_cache(maxsize=8)
def _read(path: str, changed_ns: int, size: int) -> Cassette:
    """Every account of a server reads the same file: once is enough, until it changes."""
    return vcr.read(path)
