"""What the readers share: JSON with the place of a mistake, and exchanges made of decoded bodies."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from simulators.cassettes.format import CassetteError, Exchange
from simulators.core.wire import Headers

_JSON: Headers = (("content-type", "application/json"),)


def document(data: bytes, source: str) -> Any:
    """A whole file of JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CassetteError(f"{source}: not JSON: {error}") from None


def lines(data: bytes, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, object) of a file of JSON lines. A line that was cut at the end of the file is passed over: a session that
    is being written has one."""
    rows = data.splitlines()
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            value = msgspec.json.decode(row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if number == len(rows) and number > 1:
                return
            raise CassetteError(f"{source}:{number}: not JSON: {error}") from None
        if not isinstance(value, dict):
            raise CassetteError(f"{source}:{number}: an object is needed, not {type(value).__name__}")
        yield number, value


def made(
    url: str, request: Mapping[str, Any], response: Mapping[str, Any], *, at: float | None, status: int = 200
) -> Exchange:
    """An exchange of two decoded bodies."""
    asked, said = msgspec.json.encode(request), msgspec.json.encode(response)
    return Exchange(
        method="POST",
        uri=url,
        request_headers=(*_JSON, ("content-length", str(len(asked)))),
        request_body=asked,
        status=status,
        message="OK" if status == 200 else "",
        headers=(*_JSON, ("content-length", str(len(said)))),
        body=said,
        at=at,
    )


def seconds(value: Any) -> float | None:
    """Unix seconds of an ISO time, or of a number of milliseconds; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) / 1000 if value > 1e11 else float(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
        except ValueError:
            return None
    return None


def table(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
