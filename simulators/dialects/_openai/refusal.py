"""How the rules of these dialects refuse a request."""

from typing import Any, NoReturn

from simulators.core.turn import Failure, Refused


def refuse(
    message: str, *, param: str | None = None, code: str | None = None, kind: str = "bad_request", **more: Any
) -> NoReturn:
    """Leave the order of work with the vendor's 400 (`kind` decides the status); `param` and `code` of the envelope."""
    raise Refused(Failure(kind=kind, message=message, details={"param": param, "code": code, **more}))
