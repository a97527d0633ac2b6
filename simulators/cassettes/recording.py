"""Records exchanges into a cassette's file as they end.

The file is replaced whole with each exchange that ends: whatever happens, it is the old one or one with every exchange
that had ended. Secrets are scrubbed before; a credential that shows later is looked for in what came earlier, too.
"""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from simulators.cassettes import match, vcr
from simulators.cassettes.format import Cassette, CassetteError, Exchange
from simulators.cassettes.scrub import Scrubber

Mode = Literal["none", "once", "new_episodes", "all"]
MODES: tuple[Mode, ...] = ("none", "once", "new_episodes", "all")


class Recorder:
    """A cassette that is being recorded. `add` may be called from several threads.

    `keep`: exchanges of the file that are there already stay, new ones follow. `claw` is what the file says of its
    origin. Raises `CassetteError` at once for a place that cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, claw: Mapping[str, Any], keep: bool = False) -> None:
        self.path = Path(path)
        self._claw = dict(claw)
        self._scrubber = Scrubber()
        self._exchanges: list[Exchange] = []
        self._fragments: list[bytes] = []
        self._extra: Mapping[str, Any] = {}
        self._before: list[Any] = []  # what was scrubbed by those who wrote the file before
        self._lock = threading.Lock()
        self._written = 0  # exchanges that are in the file
        if keep and self.path.exists():
            self._take(vcr.read(self.path))
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise CassetteError(f"{path}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise CassetteError(f"{path}: {folder} cannot be written to")

    def _take(self, cassette: Cassette) -> None:
        self._exchanges = list(cassette.exchanges)
        self._fragments = [vcr.fragment(exchange) for exchange in cassette.exchanges]
        self._extra = cassette.extra
        before = cassette.claw.pop("scrubbed", None)
        self._before = before if isinstance(before, list) else []
        self._claw = {**self._claw, **cassette.claw}
        self._written = len(self._exchanges)

    def __len__(self) -> int:
        return len(self._exchanges)

    @property
    def cassette(self) -> Cassette:
        """What is recorded so far, scrubbed."""
        with self._lock:
            exchanges, source = list(self._exchanges), str(self.path)
            return Cassette(exchanges=exchanges, claw=self._head(), extra=self._extra, source=source)

    @property
    def scrubbed(self) -> list[dict[str, Any]]:
        """[{what, where, times}] of this recording."""
        return self._scrubber.report()

    def add(self, exchange: Exchange) -> None:
        """Take an exchange that has ended; when this returns it is in the file. Raises `CassetteError`."""
        with self._lock:
            known = set(self._scrubber.known)
            made = self._scrubber.exchange(exchange, f"interactions[{len(self._exchanges)}]")
            self._exchanges.append(made)
            self._fragments.append(vcr.fragment(made))
            for value in self._scrubber.known - known:
                self._forget(value)
            self._write()

    def finish(self) -> None:
        """Write the file if it was not written yet, so that a recording without calls leaves an empty cassette."""
        with self._lock:
            if self._written != len(self._exchanges) or not self.path.exists():
                self._write()

    def _forget(self, value: str) -> None:
        """Scrub anew what holds a credential that nobody knew for one then."""
        for number, exchange in enumerate(self._exchanges):
            made = self._scrubber.exchange(exchange, f"interactions[{number}]")
            if made != exchange:
                self._exchanges[number] = made
                self._fragments[number] = vcr.fragment(made)

    def _head(self) -> dict[str, Any]:
        listed = [*self._before, *self._scrubber.report()]
        return {**self._claw, **({"scrubbed": listed} if listed else {})}

    def _write(self) -> None:
        vcr.write_bytes(self.path, vcr.assembled(self._head(), self._extra, self._fragments))
        self._written = len(self._exchanges)


class Session:
    """A file under one of vcrpy's record modes: what is replayed from it, and what is recorded into it.

    `none`: only replay. `once`: record if the file is not there, else only replay. `new_episodes`: replay what is
    there, record what is not. `all`: record everything anew. `replays` says whether a request is looked up first.
    """

    def __init__(self, path: str | os.PathLike[str], mode: Mode, *, claw: Mapping[str, Any]) -> None:
        exists = Path(path).exists()
        self.records = mode in ("all", "new_episodes") or (mode == "once" and not exists)
        self.replays = exists and mode != "all"
        if mode == "none" and not exists:
            raise CassetteError(f"{path}: there is no such cassette; record it with the mode `once`")
        self.known = vcr.read(path) if self.replays else Cassette(source=str(path))
        self.shelf = match.Shelf(self.known.exchanges)
        self.recorder = Recorder(path, claw=claw, keep=mode == "new_episodes") if self.records else None
