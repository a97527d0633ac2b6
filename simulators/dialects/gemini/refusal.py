"""Refusing a request: one place that raises."""

from typing import Any, NoReturn

from simulators.core.turn import Failure, Refused


def refuse(message: str, *, kind: str = "bad_request", **details: Any) -> NoReturn:
    """Raise the refusal of a request."""
    raise Refused(Failure(kind=kind, message=message, details=details))


def refuse_field(path: str, said: str, *, message: str = "GenerateContentRequest") -> NoReturn:
    """Raise the refusal of one field, with its place as the API's validator writes it (`* Message.field: …`)."""
    refuse(f"* {message}.{path}: {said}\n")
