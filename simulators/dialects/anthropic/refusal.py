"""How the rules of this dialect refuse a request."""

from typing import Any, NoReturn

from simulators.core.turn import Failure, Refused


def refuse(message: str, *, kind: str = "bad_request", **details: Any) -> NoReturn:
    """Leave the order of work with the vendor's 400 (`kind` decides status and error type)."""
    raise Refused(Failure(kind=kind, message=message, details=details))


def either(options: tuple[str, ...] | list[str]) -> str:
    """`'a', 'b' or 'c'`, as the API lists what a value may be."""
    quoted = [f"'{o}'" for o in options]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
