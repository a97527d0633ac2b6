"""The files of a workspace that are put into the system prompt, each cut to its cap."""

from collections.abc import Sequence

import msgspec

from claw.ports import Files

# in the order in which they are shown
STABLE_FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "BOOTSTRAP.md", "MEMORY.md")
VOLATILE_FILES = ("HEARTBEAT.md",)  # rewritten often: shown after everything that is to stay cached

FILE_CHARS, TOTAL_CHARS = 12_000, 60_000
LEAST_CHARS = 64  # with less than this left of the total, the remaining files are left out
TOO_LARGE = 2 * 1024 * 1024  # bytes; such a file is no instruction
HEAD_PART = 0.75


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Caps in characters."""

    file: int = FILE_CHARS
    total: int = TOTAL_CHARS


LIMITS = Limits()


class BootstrapFile(msgspec.Struct, frozen=True):
    """What of a file goes into the prompt."""

    name: str
    text: str
    cut: bool = False


def load(
    files: Files, workspace: str, names: Sequence[str] = STABLE_FILES, *, limits: Limits = LIMITS
) -> tuple[BootstrapFile, ...]:
    """The files of `names` that are there and not blank, in that order, within both caps."""
    shown: list[BootstrapFile] = []
    left = limits.total
    for name in names:
        path = f"{workspace}/{name}"
        if left < LEAST_CHARS or not files.exists(path):
            continue
        data = files.read(path)
        if len(data) > TOO_LARGE:
            text = f"[{name} has {len(data)} bytes and is not shown; read the parts of it that you need]"
        else:
            text = data.decode("utf-8", "replace").strip()
        if not text:
            continue
        fitting = trim(text, name, min(limits.file, left))
        shown.append(BootstrapFile(name, fitting, fitting != text))
        left -= len(fitting)
    return tuple(shown)


def trim(text: str, name: str, limit: int) -> str:
    """At most `limit` characters of `text`: three quarters from its head, one from its tail, a note between them."""
    if len(text) <= limit:
        return text
    head, tail = _shares(limit)
    for note in (_long_note, _short_note):
        # The note names the very numbers that its own length decides; two rounds settle their digits.
        for _ in range(2):
            head, tail = _shares(limit - len(note(name, head, tail, len(text))))
        if head >= LEAST_CHARS or note is _short_note:
            return text[: max(0, head)] + note(name, head, tail, len(text)) + text[len(text) - max(0, tail) :]
    return text[:limit]


def _shares(room: int) -> tuple[int, int]:
    return int(room * HEAD_PART), int(room * (1 - HEAD_PART))


def _long_note(name: str, head: int, tail: int, total: int) -> str:
    return f"\n\n[… {name} is cut: {head} + {tail} of {total} characters are shown; read it for the rest …]\n\n"


def _short_note(name: str, head: int, tail: int, total: int) -> str:
    return f"[…truncated {head}+{tail}/{total}]"
