"""Changes of the traffic that a known-bad can name: one module each, found by listing this folder.

A module has `change(body, n) -> body`: the decoded JSON body of the n-th request (from 1) of a play, changed on its way
from the runtime to the provider. So a scenario can be seen to fail with any runtime, without one that has the fault.
"""

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import msgspec

from simulators.core.wire import Request

Change = Callable[[dict[str, Any], int], dict[str, Any]]


@cache
def names() -> tuple[str, ...]:
    """Every mutation there is, sorted."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_")))


def load(name: str) -> Change:
    """The mutation of this name. Raises `KeyError`."""
    if name not in names():
        raise KeyError(name)
    change: Change = import_module(f"{__name__}.{name}").change
    return change


def apply(change: Change, request: Request, n: int) -> Request:
    """A request with its JSON body changed; anything but a JSON object passes as it is."""
    try:
        body = json.loads(request.body)
    except ValueError:
        return request
    if not isinstance(body, dict):
        return request
    data = msgspec.json.encode(change(body, n))
    headers = tuple((k, str(len(data)) if k == "content-length" else v) for k, v in request.headers)
    return msgspec.structs.replace(request, body=data, headers=headers)
