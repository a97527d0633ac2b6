"""Who decides the answer. One module each, found by its name in this folder; a leading underscore is none.

A module `NAME` has `make(document) -> Responder`. The rules of an account are looked at before it, and where a script
is used up, what `otherwise:` says comes after it.
"""

import importlib
import pkgutil

from simulators.core.account_document import AccountDocument
from simulators.core.document import DocumentError
from simulators.core.fault import Responder
from simulators.responders._chain import Chain
from simulators.responders._rules import Rules


def names() -> list[str]:
    """The responders that there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def make(document: AccountDocument) -> Responder:
    """A fresh responder for an account. Raises `DocumentError` for one that does not exist."""
    base = _load(document.responder, document)
    return Chain(Rules(document.rules), base) if document.rules else base


def _load(name: str, document: AccountDocument) -> Responder:
    if name not in names():
        known = ", ".join(names())
        raise DocumentError(document.source, "responder", None, f"there is no responder `{name}`; there are: {known}")
    responder: Responder = importlib.import_module(f"{__name__}.{name}").make(document)
    return responder
