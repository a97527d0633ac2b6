"""Standard input of a program that wants to hear some lines at once, whatever it is doing."""

import os
import signal
import threading
from collections import deque

from simulators.cli.effects import WatchStdin

_CHUNK = 65536


class StdinWatch:
    """Reads lines on a thread. Those that `watched` wants interrupt the main thread while it is `armed` (by SIGINT to
    that thread), the others wait in order."""

    def __init__(self, watched: WatchStdin, fd: int = 0) -> None:
        self._watched, self._fd = watched, fd
        self._lines: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._armed = self._ended = False
        self._heard: bytes | None = None
        self._main = threading.get_ident()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def arm(self) -> bool:
        """From now on a watched line interrupts. True if one is there already."""
        with self._changed:
            early = next((line for line in self._lines if self._watched.wants(line)), None)
            if early is not None:
                self._lines.remove(early)
                self._heard = early
                return True
            self._armed = True
            return False

    def disarm(self) -> None:
        """The main thread does not wait any more."""
        with self._changed:
            self._armed = False

    def heard(self) -> bytes | None:
        """The watched line that came, once."""
        with self._changed:
            line, self._heard = self._heard, None
            return line

    def line(self, timeout_s: float | None = None) -> bytes:
        """The next line, b"" at the end or when none comes in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._ended, timeout_s)
            return self._lines.popleft() if self._lines else b""

    def rest(self) -> bytes:
        """All that is still to come."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended)
            data = b"".join(self._lines)
            self._lines.clear()
            return data

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                taken = os.read(self._fd, _CHUNK)
            except OSError:
                taken = b""
            *whole, rest = (rest + taken).split(b"\n")
            for line in whole:
                self._take(line + b"\n")
            if not taken:
                if rest:
                    self._take(rest)
                with self._changed:
                    self._ended = True
                    self._changed.notify_all()
                return

    def _take(self, line: bytes) -> None:
        with self._changed:
            if self._armed and self._watched.wants(line):
                self._armed, self._heard = False, line
                signal.pthread_kill(self._main, signal.SIGINT)
            else:
                self._lines.append(line)
                self._changed.notify_all()
