"""Reads a saved journal: the control API's object, a list of exchanges, or one exchange a line."""

from typing import Any

import msgspec

from claw.core.errors import ClawError

NEEDED = ("n", "path")


def read_journal(data: bytes, *, source: str) -> list[dict[str, Any]]:
    """The exchanges in order of `n`. Raises `ClawError` with file, place and what would be right."""
    exchanges = _of_cassette(data, source) if is_cassette(data) else read_records(data, source=source)
    if not exchanges:
        raise ClawError(
            f"{source}: there is no exchange in it; a journal is what GET /__sim__/accounts/KEY/journal gives"
        )
    for place, raw in enumerate(exchanges):
        missing = [name for name in NEEDED if not isinstance(raw, dict) or name not in raw]
        if missing:
            raise ClawError(
                f"{source}: exchanges[{place}]: no `{missing[0]}`; an exchange has n, at, path, request, status, …"
            )
        if not isinstance(raw["n"], int) or isinstance(raw["n"], bool):
            raise ClawError(f"{source}: exchanges[{place}].n: a number from 1, not {raw['n']!r}")
    return exchanges


def is_cassette(data: bytes) -> bool:
    """Whether a file is recorded traffic in vcrpy's form."""
    return data.startswith((b"interactions:", b"version:", b"claw:")) or b"\ninteractions:" in data[:65536]


def _of_cassette(data: bytes, source: str) -> list[dict[str, Any]]:
    from simulators.cassettes import vcr
    from simulators.cassettes.format import CassetteError
    from simulators.shells.recorded_journal import journal_of

    try:
        return journal_of(vcr.parse(data, source=source))
    except CassetteError as error:
        raise ClawError(str(error)) from None


def read_records(data: bytes, *, source: str) -> list[Any]:
    """What the file lists, whatever it is. Raises `ClawError` for text that is no JSON."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [_line(line, source, number) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
    if isinstance(value, dict) and "exchanges" in value:
        value = value["exchanges"]
    elif isinstance(value, dict):
        value = [value]  # JSON lines with one line
    if not isinstance(value, list):
        raise ClawError(f"{source}: exchanges: a list is needed, not {type(value).__name__}")
    return value


def _line(line: bytes, source: str, number: int) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ClawError(f"{source}:{number}: not JSON: {error}") from None
